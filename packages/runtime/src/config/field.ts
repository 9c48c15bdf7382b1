/** Expansion of one field of an entry: what `expand()` lists becomes findings that name the field. Pure. */
import type { Finding } from './entry.js';
import { expand, type Lookup } from './expand.js';

/** Expands one text of the entry; what goes wrong becomes findings at `path`. */
export type ExpandField = (text: string, path: Finding['path']) => string;

/** The expander of one entry; it writes into `findings`. */
export function fieldExpander(lookup: Lookup, findings: Finding[]): ExpandField {
  return (text, path) => {
    const found = expand(text, lookup);
    const remote = path[0] === 'headers' || path[0] === 'url' || path[0] === 'auth';
    for (const variable of new Set(found.missing)) {
      const hint = `set ${variable}, or give a default: \${${variable}:-…}`;
      findings.push({
        severity: 'error',
        path,
        message: `the variable ${variable} is not set`,
        hint,
        variable,
      });
    }
    for (const odd of new Set(found.unknown)) {
      // In arguments it may be meant for a shell; in a header it would go out as a broken credential.
      const severity = remote || odd.startsWith('${input:') ? 'error' : 'warning';
      const kept = severity === 'error' ? '' : ' and stays as it is';
      const [, asked] = /^\$\{input:([^}]+)\}$/.exec(odd) ?? [];
      const hint =
        asked === undefined
          ? `references are \${NAME} and \${NAME:-default}`
          : `only an editor asks for inputs: write \${${variableFor(asked)}} and set that variable`;
      findings.push({ severity, path, message: `"${odd}" is no reference to a variable${kept}`, hint });
    }
    for (const variable of remote ? new Set(found.empty) : []) {
      const hint = `set ${variable}, or write \${${variable}:-} if that is meant`;
      findings.push({ severity: 'warning', path, message: `the variable ${variable} is empty`, hint });
    }
    return found.text;
  };
}

/** A name for what an editor would ask for under `id`. */
function variableFor(id: string): string {
  return id
    .replaceAll(/\W+/g, '_')
    .replace(/^(?=\d)/, '_')
    .toUpperCase();
}
