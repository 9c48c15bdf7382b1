#!/usr/bin/env node
/**
 * The agent demo, offline: a scripted model works on a small project with two servers that came with it, one of which
 * never answers. It shows who is asked what: approval of the servers, reads that pass, a local edit and a comment that are
 * asked about, one comment that is refused. Exit code 0 when everything was as it should be, else 1 with each difference.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leftovers } from '../demo/leftovers.mjs';
import { PROMPT, script } from './script.mjs';
import { makeSetting, RUN_VARIABLE } from './setting.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
if (!existsSync(join(root, 'packages/runtime/dist/agent/index.js'))) {
  console.error('packages/runtime is not built. Run: npm run build');
  process.exit(1);
}
const output = resolve(process.argv[2] ?? join(root, 'demo-output/agent'));
const run = randomUUID();
const { project, greeting, tracker } = makeSetting(output, run);
// Decisions are remembered per user; the demo remembers its own, so that it asks each time.
process.env.XDG_STATE_HOME = join(output, 'state');

const { createRuntime, loadConfig } = await import('@bulkhead/runtime');
const { auditHook, createHooks, createToolset, defineTool, openTrust, runAgent, scriptedModel } =
  await import('@bulkhead/runtime/agent');

const asked = [];
const shown = (path) => (relative(root, path).startsWith('..') ? path : relative(root, path));
const short = (value) => {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
};
const nameOf = ({ kind, server, tool }) => (kind === 'local' ? tool : `${server}.${tool}`);

/** Whether a person would allow it: everything but the comment that nobody wanted. */
function answer({ identity, args }) {
  const name = nameOf(identity);
  const allow = !(name === 'issues.add_comment' && args.id === 2);
  asked.push(`${name} ${allow ? 'yes' : 'no'}`);
  console.log(`  ? may ${name} run with ${short(args)}?  ${allow ? 'yes' : 'no'}`);
  return allow ? { allow } : { allow, reason: 'The person said no: nobody asked for that comment.' };
}

// What the user has said once and for all: looking at issues is fine. What a server says of itself is no permission.
const rules = ['list_issues', 'get_issue'].map((tool) => ({ effect: 'allow', server: 'issues', tool }));
const trust = await openTrust({ mode: 'acceptReads', rules, onAsk: answer });
const runtime = await createRuntime({
  config: await loadConfig({ cwd: project }),
  gate: trust.gate,
  onApproval({ server, preview, trusted }) {
    asked.push(`start ${server}`);
    const words = trusted ? ', and may be believed about its tools' : '';
    console.log(
      `? may the project's server "${server}" start${words}?  yes\n    ${preview.replaceAll(root, '').replace(process.execPath, 'node')}`,
    );
    return 'always';
  },
});

const readFile = defineTool({
  name: 'read_file',
  description: 'Reads a file of the project.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  capabilities: ['read'],
  execute: ({ path }) => readFileSync(inside(path), 'utf8'),
});
const editFile = defineTool({
  name: 'edit_file',
  description: 'Replaces a text in a file of the project, once.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, find: { type: 'string' }, replace: { type: 'string' } },
    required: ['path', 'find', 'replace'],
  },
  capabilities: ['write'],
  execute({ path, find, replace }) {
    const text = readFileSync(inside(path), 'utf8');
    if (!text.includes(find)) throw new Error(`${path} does not contain "${find}"`);
    writeFileSync(
      inside(path),
      text.replace(find, () => replace),
    );
    return `Replaced in ${path}.`;
  },
});

function inside(path) {
  const whole = join(project, path);
  if (relative(project, whole).startsWith('..')) throw new Error(`${path} is outside of the project`);
  return whole;
}

const withNotes = () =>
  runtime
    .servers()
    .filter(({ instructions }) => instructions !== undefined)
    .map(({ name }) => name);

const ended = new Map();
function show(event) {
  switch (event.type) {
    case 'instructions':
      console.log(`  (in the prompt, behind the cached part: notes of ${withNotes().join(', ')})`);
      return;
    case 'message':
      if (event.message.role !== 'assistant') return;
      for (const part of event.message.content)
        if (part.type === 'text') console.log(`\nagent: ${part.text}`);
      return;
    case 'tool-call':
      console.log(`  → ${event.name} ${short(event.args)}`);
      return;
    case 'tool-result':
      ended.set(event.callId, event.outcome);
      console.log(`  ← ${event.name}: ${event.outcome} after ${Math.round(event.durationMs)} ms`);
      return;
  }
}

await runtime.ready();
const stopWatching = trust.watch(runtime);
const model = scriptedModel(script);
const hooks = await createHooks({
  functions: [auditHook({ file: join(output, 'audit.jsonl') })],
  cwd: project,
});
console.log(`\nuser: ${PROMPT}`);
const result = await runAgent({
  model,
  toolset: createToolset({ runtime, localTools: [readFile, editFile] }),
  system: 'You look after a small project.',
  prompt: PROMPT,
  runtime,
  gate: trust.gate,
  hooks,
  outputDirectory: join(output, 'answers'),
  onEvent: show,
});
stopWatching();
await hooks.close();
const report = await runtime.close();

// ── was it as it should be? ─────────────────────────────────────────────────────────────────────────────────────────

const differences = [];
const expectSame = (what, got, wanted) => {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    differences.push(`${what}: got ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
};
const comments = JSON.parse(readFileSync(tracker, 'utf8')).map(({ id, comments }) => [id, comments.length]);
expectSame('how the run ended', result.stopReason, 'end');
expectSame('greeting.txt', readFileSync(greeting, 'utf8'), 'Hello, and welcome to the library.\n');
expectSame('comments by issue', comments, [
  [1, 1],
  [2, 0],
  [3, 2],
]);
expectSame('what was asked', asked.sort(), [
  'edit_file yes',
  'hang.wait yes',
  'issues.add_comment no',
  'issues.add_comment yes',
  'start hang',
  'start issues',
]);
expectSame('outcomes', [...ended.values()].sort(), ['ok', 'ok', 'ok', 'ok', 'ok', 'rejected', 'timeout']);
const notes = model.requests[0].dynamic.join('\n');
if (!notes.includes('Issue numbers come from list_issues'))
  differences.push("the server's instructions were not in the prompt");
expectSame('lines of the audit', readFileSync(join(output, 'audit.jsonl'), 'utf8').split('\n').length - 1, 7);
for (const process of await leftovers(RUN_VARIABLE, run)) differences.push(`a process is left: ${process}`);
for (const { name, finalState, pids } of report.servers) {
  if (finalState !== 'stopped' || pids.some(({ gone }) => !gone))
    differences.push(`${name} ended ${finalState}`);
}

if (differences.length > 0) {
  console.error(`\nNot as it should be:\n${differences.map((difference) => `  ${difference}`).join('\n')}`);
  process.exit(1);
}
console.log(
  `\nAsked ${asked.length} times, never about a read. The hanging server cost its own call. ` +
    `No process is left. Project and audit are in ${shown(output)}/.`,
);
