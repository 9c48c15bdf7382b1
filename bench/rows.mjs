/**
 * Rows of figures: the median over rounds, the spread of the leading figure, the ratio to the peer of the same round. A
 * peer that fails has a row too, with the reason in place of figures.
 */
import { median } from './measure.mjs';
import { BENCH } from './places.mjs';

/** One row out of the figures of several rounds; `spread` is lowest and highest of the figure named `lead`. */
export function summarize(identity, rounds, lead) {
  const whole = rounds.filter((round) => round.failed === undefined);
  if (whole.length === 0) return { ...identity, failed: rounds[0]?.failed ?? 'not measured' };
  const row = { ...identity };
  for (const key of Object.keys(whole[0])) row[key] = median(whole.map((round) => round[key]));
  const led = whole.map((round) => round[lead]).filter((value) => value !== undefined);
  row.lead = lead;
  row.spread = [Math.min(...led), Math.max(...led)];
  return row;
}

/** Sets `ratioToSdk1`: the median of the rounds' own ratios, so that a slow moment of the machine hits both sides. */
export function withRatio(row, rounds, sdkRounds) {
  const ratios = rounds.flatMap((round, i) => {
    const ratio = round[row.lead] / sdkRounds[i]?.[row.lead];
    return Number.isFinite(ratio) ? [ratio] : [];
  });
  return ratios.length === 0 ? row : { ...row, ratioToSdk1: median(ratios) };
}

/** Short enough for a table and without this machine's paths; how long it took to fail tells a limit from a refusal. */
function reasonOf(error, tookMs) {
  const reason = error.message.split('\n')[0].replaceAll(BENCH, 'bench/').slice(0, 120);
  return tookMs < 1_000 ? reason : `${reason} (after ${Math.round(tookMs / 1_000)} s)`;
}

/**
 * Runs every host once per round, in turn, and gives one row per host with its ratio to `sdk1` under the same Node. A host
 * that failed is renewed, and not measured again in this case: what fails often takes a minute to do so.
 * @param measure `(host) => figures`, called at most `runs` times per host
 */
export async function compare(identity, hosts, runs, lead, measure) {
  const rounds = new Map(hosts.map((host) => [host, []]));
  for (let run = 0; run < runs; run++) {
    // Every other round starts from the other end: nobody always runs after the same neighbour.
    for (const host of run % 2 === 0 ? hosts : [...hosts].reverse()) {
      const own = rounds.get(host);
      if (own.some(({ failed }) => failed !== undefined)) continue;
      const startedAt = performance.now();
      try {
        own.push(await measure(host));
      } catch (error) {
        own.push({ failed: reasonOf(error, performance.now() - startedAt) });
        await host.renew?.();
      }
    }
  }
  return hosts.map((host) => {
    const row = summarize({ ...host.label, ...identity }, rounds.get(host), lead);
    const sdk = hosts.find(({ label }) => label.name === 'sdk1' && label.node === host.label.node);
    return sdk === undefined || row.failed !== undefined
      ? row
      : withRatio(row, rounds.get(host), rounds.get(sdk));
  });
}
