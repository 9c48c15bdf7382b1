const shim = new URL('./fs-with-glob.mjs', import.meta.url).href;

/** The suite's own imports of `fs` get the shim; everybody else's stay. */
export function resolve(specifier, context, next) {
  const wants = specifier === 'fs' || specifier === 'node:fs';
  if (wants && /conformance[^/]*\/dist\//.test(context.parentURL ?? '')) {
    return { url: shim, shortCircuit: true, format: 'module' };
  }
  return next(specifier, context);
}
