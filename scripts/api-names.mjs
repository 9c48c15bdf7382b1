/** Plugin for TypeDoc: a module is called what it is imported as, not by the path of its sources. */
import { Converter, ReflectionKind } from 'typedoc';
import { publicEntries } from './public-entries.mjs';

export function load(app) {
  const names = new Map(
    publicEntries().map(({ specifier, source }) => [
      source.replace(/^packages\//, '').replace(/(\/index)?\.ts$/, ''),
      specifier,
    ]),
  );
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      module.name = names.get(module.name) ?? module.name;
    }
  });
}
