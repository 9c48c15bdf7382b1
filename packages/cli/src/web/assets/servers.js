/** The table of servers. Rows are changed in place, so that a button keeps its focus while figures change. */
import { command } from './commands.js';
import { byId, element, setText } from './dom.js';
import { count, kindOf, mebibytes, milliseconds, plain } from './figures.js';

const LATENCY = 'p50 / p99';
const figures = [
  ['In flight', ({ stats }) => count(stats.inFlight)],
  ['Queued', ({ stats }) => count(stats.queued)],
  ['Calls', ({ stats }) => count(stats.calls)],
  ['Not ok', ({ stats }) => count(notOk(stats.outcomes))],
  [LATENCY, ({ stats: { latency } }) => (latency === undefined ? '–' : spread(latency))],
  ['Restarts', ({ restarts }) => count(restarts)],
  ['Tools', ({ tools }) => count(tools)],
  ['Memory', ({ rssBytes }) => mebibytes(rssBytes)],
];
const resting = new Set(['stopped', 'disabled', 'quarantined', 'lost']);
const unstartable = new Set(['disabled', 'needs-approval', 'needs-auth']);
const rows = new Map();

// Tables that are laid out otherwise, as this one on narrow screens, lose what they are unless it is written out.
for (const [selector, role] of [
  ['#servers', 'table'],
  ['#servers thead, #servers tbody', 'rowgroup'],
  ['#servers tr', 'row'],
  ['#servers th', 'columnheader'],
])
  for (const node of document.querySelectorAll(selector)) node.setAttribute('role', role);

/** @param onLog is told whose log a person wants to see. */
export function showServers(servers, onLog) {
  const body = byId('servers').tBodies[0];
  const names = new Set(servers.map(({ name }) => name));
  for (const [name, { row }] of rows) {
    if (names.has(name)) continue;
    row.remove();
    rows.delete(name);
  }
  for (const [index, server] of servers.entries()) {
    const shown = rows.get(server.name) ?? makeRow(server.name, onLog);
    rows.set(server.name, shown);
    if (body.rows[index] !== shown.row) body.insertBefore(shown.row, body.rows[index] ?? null);
    update(shown, server);
  }
  setText(byId('summary'), summary(servers));
}

function makeRow(name, onLog) {
  const state = element('span', { class: 'state' });
  const reason = element('span', { class: 'reason' });
  const cells = figures.map(([label]) =>
    element('td', {
      role: 'cell',
      class: label === LATENCY ? 'figure latency' : 'figure',
      'data-label': label,
    }),
  );
  const shown = { state, reason, cells, server: undefined };
  const restart = button('Restart', name, () => act(shown, restart, 'restart'));
  const toggle = button('Stop', name, () => act(shown, toggle, toggle.dataset.verb));
  const log = button('Log', name, () => onLog(name));
  const head = element('th', { role: 'rowheader', scope: 'row' }, name);
  const standing = element('td', { role: 'cell', class: 'standing' }, state, reason);
  const actions = element('div', { class: 'actions' }, restart, toggle, log);
  const last = element('td', { role: 'cell', class: 'last' }, actions);
  shown.row = element('tr', { role: 'row' }, head, standing, ...cells, last);
  return Object.assign(shown, { restart, toggle });
}

function update(shown, server) {
  shown.server = server;
  const { state, reason, name } = server;
  setText(shown.state, state);
  shown.state.className = `state ${kindOf(state)}`;
  setText(shown.reason, state === 'ready' ? '' : plain(reason?.message ?? ''));
  for (const [index, [, of]] of figures.entries()) setText(shown.cells[index], of(server));
  const isDown = resting.has(state);
  const { toggle, restart } = shown;
  toggle.dataset.verb = isDown ? 'start' : 'stop';
  setText(toggle, isDown ? 'Start' : 'Stop');
  toggle.setAttribute('aria-label', `${isDown ? 'Start' : 'Stop'} ${name}`);
  for (const one of [toggle, restart]) enable(one, !unstartable.has(state) && one.dataset.busy !== 'yes');
}

async function act({ server }, pressed, verb) {
  if (pressed.getAttribute('aria-disabled') === 'true') return;
  pressed.dataset.busy = 'yes';
  enable(pressed, false);
  const { inFlight, queued } = server.stats;
  await command(server.name, verb, inFlight + queued);
  delete pressed.dataset.busy;
  enable(pressed, true);
}

/** Not by `disabled`, which would take the focus away from who has just pressed it. */
function enable(one, may) {
  one.setAttribute('aria-disabled', String(!may));
}

function button(text, name, onPress) {
  const made = element('button', { type: 'button', 'aria-label': `${text} ${name}` }, text);
  made.addEventListener('click', onPress);
  return made;
}

function summary(servers) {
  if (servers.length === 0) return 'There are no servers.';
  const kinds = servers.map(({ state }) => kindOf(state));
  const many = (kind) => kinds.filter((one) => one === kind).length;
  const parts = [`${many('ready')} of ${servers.length} ready`];
  if (many('moving') > 0) parts.push(`${many('moving')} on its way`);
  if (many('failed') > 0) parts.push(`${many('failed')} failed or waiting for you`);
  if (many('resting') > 0) parts.push(`${many('resting')} stopped`);
  return parts.join(' · ');
}

function notOk(outcomes) {
  return Object.entries(outcomes).reduce((sum, [outcome, many]) => sum + (outcome === 'ok' ? 0 : many), 0);
}

function spread({ p50, p99 }) {
  return `${milliseconds(p50).replace(' ms', '')} / ${milliseconds(p99)}`;
}
