/** Making and changing elements. Names and texts come from servers: they are only ever set as text. */
const SVG = 'http://www.w3.org/2000/svg';

export const byId = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...content) {
  return filled(document.createElement(name), attributes, content);
}

export function svg(name, attributes = {}, ...content) {
  return filled(document.createElementNS(SVG, name), attributes, content);
}

/** What stays the same is not written: a screen reader would say it again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Offers `names` in a select behind its first option, and keeps what was chosen. */
export function offer(select, names) {
  const there = [...select.options].slice(1).map(({ value }) => value);
  if (there.length === names.length && there.every((name, index) => name === names[index])) return;
  const chosen = select.value;
  const [first] = select.options;
  select.replaceChildren(first, ...names.map((name) => element('option', { value: name }, name)));
  select.value = names.includes(chosen) ? chosen : '';
}

function filled(node, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...content);
  return node;
}
