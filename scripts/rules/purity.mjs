/**
 * Policy that is pure: it and all it imports reach neither Node nor a library, so that a test needs no process and no
 * clock. Rules for dependency-cruiser; `test/packages/layers.test.ts` applies them. Types may come from anywhere.
 */
import { builtinModules } from 'node:module';

/** Policy whose time and randomness are arguments; `.ts` files of the packages. */
const PURE = [
  'workers/src/(board|content|id-table|json-span|outcomes|result-text)',
  'workers/src/supervisor/(gate|restart|transitions|watchdog)',
  'workers/src/server/(answer-scan|envelope|framing|noise|rate|wire-ids)',
  'runtime/src/(breaker|latency|mailbox|naming)',
  'runtime/src/batch/(line-set|rate|record|retry|schedule|tally|template)',
];
const from = { path: `^packages/(${PURE.join('|')})[.]ts$` };
const node = `^(node:)?(${builtinModules.join('|')})$`;

export default {
  forbidden: [
    {
      name: 'policy-reaches-node',
      comment:
        'Take time, randomness and bytes as arguments, or move the effect into a file beside the policy.',
      severity: 'error',
      from,
      to: { path: node, reachable: true },
    },
    {
      name: 'policy-needs-a-library',
      comment: 'Pure policy imports its neighbours and the contract of messages, nothing else.',
      severity: 'error',
      from,
      // What @bulkhead/workers exports is looked at in its own sources.
      to: { pathNot: ['^packages/', '^@bulkhead/workers', node] },
    },
  ],
  options: {
    tsPreCompilationDeps: false,
    doNotFollow: { path: 'node_modules|/dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
