/** The generated part of docs/benchmarks.md: machine, versions, and a chart and a table of each scene. */
import { table } from './table.mjs';

export const BEGIN = '<!-- bench:begin -->';
export const END = '<!-- bench:end -->';

/**
 * @param report what a run wrote as JSON
 * @param abouts what each scene is about, by name
 * @param charts paths of the charts from the page, by scene
 */
export function generated({ machine, versions, runs, sampleMs, scenes }, abouts, charts) {
  const { node, ...others } = versions;
  const peers = Object.entries(others).map(([name, version]) => `| \`${name}\` | ${version} |`);
  const measured = Object.entries(scenes).map(([scene, rows]) => {
    const chart = charts.get(scene);
    const image = chart === undefined ? [] : [`![${abouts.get(scene)}](${chart})`, ''];
    return [`### ${scene}`, '', `${capital(abouts.get(scene))}.`, '', ...image, table(rows)].join('\n');
  });
  return [
    `Measured ${machine.startedAt.slice(0, 10)} on ${machine.cores} cores of ${machine.cpu}, ${machine.memoryGb} GB,`,
    `${machine.platform}, Node ${node}; load average ${machine.loadAtStart.toFixed(1)} at the start;`,
    `${runs} ${runs === 1 ? 'round' : 'rounds'} of ${sampleMs} ms.`,
    '',
    '| peer | version |',
    '|---|---|',
    ...peers,
    '',
    measured.join('\n\n'),
  ].join('\n');
}

/** @throws {Error} when the page does not have both marks */
export function replaceGenerated(page, part) {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`bench: expected ${BEGIN} and ${END} in docs/benchmarks.md`);
  return `${page.slice(0, begin + BEGIN.length)}\n\n${part}\n\n${page.slice(end)}`;
}

function capital(sentence) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
