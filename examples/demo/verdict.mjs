/** Compares what the batch wrote with what was asked. Every difference is one sentence. */
import { readFileSync } from 'node:fs';

/** @returns {string[]} differences; empty when all is as it should be */
export function compare(calls, resultsPath) {
  const differences = [];
  const byId = new Map();
  for (const line of readFileSync(resultsPath, 'utf8').split('\n')) {
    if (line === '') continue;
    const result = JSON.parse(line);
    if (byId.has(result.id)) differences.push(`${result.id} has more than one line.`);
    byId.set(result.id, result);
  }
  for (const [index, call] of calls.entries()) {
    const result = byId.get(call.id);
    byId.delete(call.id);
    if (result === undefined) differences.push(`${call.id} (${call.tool}) has no line.`);
    else differences.push(...differencesOf(call, index + 1, result));
  }
  for (const id of byId.keys()) differences.push(`${id} has a line, but nobody called it.`);
  return differences;
}

function differencesOf(call, line, result) {
  const wanted = call.expect === undefined ? 'timeout' : 'ok';
  const label = `${call.id} (${call.tool})`;
  if (result.outcome !== wanted) {
    const said = result.error ? `: ${result.error.code}, ${result.error.message}` : '';
    return [`${label} ended as ${result.outcome}, not as ${wanted}${said}.`];
  }
  if (result.line !== line) return [`${label} says line ${result.line}, but stands in line ${line}.`];
  if (result.server !== call.server || result.tool !== call.tool) {
    return [`${label} was answered as ${result.server}/${result.tool}.`];
  }
  if (call.expect === undefined || words(result.result).includes(call.expect)) return [];
  return [`${label} has an answer without "${call.expect}": ${JSON.stringify(result.result).slice(0, 200)}`];
}

/** All texts and names of an answer, unescaped. */
function words(value) {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return '';
  return Object.entries(value)
    .map(([key, item]) => `${key} ${words(item)}`)
    .join('\n');
}

/** Changes that the memory server must have kept: it rewrites one file, and lost updates would not show in answers. */
export function compareGraph(calls, graphPath) {
  const graph = readFileSync(graphPath, 'utf8');
  return calls
    .filter(({ server, expect }) => server === 'memory' && expect !== undefined && !graph.includes(expect))
    .map(({ id, expect }) => `${id} was answered, but "${expect}" is not in the graph.`);
}
