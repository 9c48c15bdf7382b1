/**
 * Who may import whom: `cli → cluster → runtime → workers`, each through what the other exports. Types count like
 * values. Rules for dependency-cruiser; `test/packages/layers.test.ts` applies them.
 */

/** From the bottom to the top; each may import those before it. */
const LAYERS = ['workers', 'runtime', 'cluster', 'cli'];

const upwards = LAYERS.slice(0, -1).map((layer, height) => ({
  name: `${layer}-imports-upwards`,
  comment: `${layer} lies below ${LAYERS.slice(height + 1).join(', ')} and must not know them.`,
  severity: 'error',
  from: { path: `^packages/${layer}/` },
  to: { path: `(^packages|^@bulkhead)/(${LAYERS.slice(height + 1).join('|')})(/|$)` },
}));

export default {
  forbidden: [
    ...upwards,
    {
      name: 'past-the-exports',
      comment:
        'A package is imported by its name. A path into its sources would be a second copy of its modules.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/' },
      to: { path: '^packages/([^/]+)/src/', pathNot: '^packages/$1/' },
    },
    {
      name: 'circle',
      comment: 'Modules that import each other begin in an order that nobody chose. Types may go round.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'not-to-be-found',
      comment: 'The module does not exist or is no dependency of the package that imports it.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // `import type` is followed as well: a layer must not know another one's types either.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules|/dist/' },
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
