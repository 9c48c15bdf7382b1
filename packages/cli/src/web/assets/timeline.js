/** What happened: a lane for each server with its states, a mark for each restart, and the events as a list. */
import { byId, element, svg } from './dom.js';
import { kindOf, plain } from './figures.js';
import { ago, spanSince } from './time-span.js';

const KEPT = 256;
const LANE = 26;
const BAR = 14;
const MARK = 4;
/** As many states of each server as a lane of ten minutes may need. */
const STATES = 1_000;

let events = [];
/** By server: [at, state], the oldest first. */
let states = new Map();

export function restartTimeline(all) {
  events = [];
  states = new Map();
  byId('events').replaceChildren();
  for (const event of all) addEvent(event);
}

export function addEvent(event) {
  events.push(event);
  if (events.length > KEPT) events.shift();
  const { server, state } = event.data;
  if (event.event === 'state' && server !== '') {
    const known = states.get(server) ?? [];
    known.push([Date.parse(event.at), state]);
    if (known.length > STATES) known.shift();
    states.set(server, known);
  }
  const list = byId('events');
  const isAtTop = list.scrollTop < 4;
  if (isShown(event)) list.prepend(itemOf(event));
  while (list.children.length > KEPT) list.lastElementChild.remove();
  if (isAtTop) list.scrollTop = 0;
}

/** The list anew, after another server was chosen. */
export function listEvents() {
  byId('events').replaceChildren(...events.filter(isShown).reverse().map(itemOf));
}

export function drawLanes(servers) {
  const canvas = byId('lanes');
  const { width } = canvas.getBoundingClientRect();
  if (width === 0) return;
  const left = Math.min(160, width * 0.3);
  const now = Date.now();
  const firsts = [...states.values()].map((known) => known[0][0]);
  const span = spanSince(firsts.length === 0 ? now : Math.min(...firsts), now);
  const x = (at) => left + (Math.max(0, at - now + span) / span) * (width - left - MARK);
  const parts = servers.flatMap(({ name, state }, index) => {
    const top = index * LANE + (LANE - BAR) / 2;
    const known = states.get(name) ?? [];
    const lane = [
      svg('text', { class: 'name', x: 0, y: top + BAR - 2 }, shortened(name, left)),
      svg('rect', { class: 'lane', x: left, y: top, width: width - left - MARK, height: BAR, rx: 3 }),
    ];
    for (const [at, end, one] of spans(known, state, now, span)) {
      if (end < now - span) continue;
      const wide = Math.max(1, x(end) - x(at));
      lane.push(svg('rect', { class: kindOf(one), x: x(at), y: top, width: wide, height: BAR }));
    }
    for (const at of restartsOf(known)) {
      if (at < now - span) continue;
      const [tip, base] = [top - 1, top - 7];
      const points = `${x(at)},${tip} ${x(at) - MARK},${base} ${x(at) + MARK},${base}`;
      lane.push(svg('polygon', { class: 'restart', points }));
    }
    return lane;
  });
  const height = Math.max(1, servers.length) * LANE + 18;
  parts.push(
    svg('text', { x: left, y: height - 3 }, ago(span)),
    svg('text', { x: width - MARK, y: height - 3, 'text-anchor': 'end' }, 'now; ▼ restart'),
  );
  canvas.setAttribute('viewBox', `0 0 ${width} ${height}`);
  canvas.setAttribute('height', height);
  canvas.replaceChildren(...parts);
  const told = servers.map(({ name, state, restarts }) => `${name} ${state}, ${restarts} restarts`);
  canvas.setAttribute('aria-label', `States since ${ago(span)}. Now: ${told.join('; ')}`);
}

/** From each state to the next; the last one goes on. A server without events has been as it is. */
function spans(known, state, now, span) {
  if (known.length === 0) return [[now - span, now, state]];
  return known.map(([at, one], index) => [at, known[index + 1]?.[0] ?? now, one]);
}

/** When it was started again, by us or by a person. */
function restartsOf(known) {
  return known.flatMap(([at, state], index) =>
    state === 'reconnecting' || (state === 'starting' && index > 0) ? [at] : [],
  );
}

function isShown({ data }) {
  const wanted = byId('event-server').value;
  return wanted === '' || data.server === wanted;
}

function itemOf({ at, event, data }) {
  const time = element('time', { datetime: at }, new Date(at).toLocaleTimeString('en-GB'));
  const who = element('span', { class: 'who' }, data.server || 'runtime');
  return element('li', {}, time, who, whatOf(event, data));
}

function whatOf(event, { server: _, ...data }) {
  if (event !== 'state') return element('span', { class: 'what' }, sentenceOf(event, data));
  const why = data.reason === undefined || data.state === 'ready' ? '' : ` ${plain(data.reason.message)}`;
  const state = element('span', { class: `state ${kindOf(data.state)}` }, data.state);
  return element('span', { class: 'what' }, state, why);
}

function sentenceOf(event, data) {
  switch (event) {
    case 'tools': {
      const changes = ['added', 'removed', 'changed'].filter((kind) => data[kind]?.length > 0);
      return `tools: ${data.count}; ${changes.map((kind) => `${data[kind].length} ${kind}`).join(', ')}`;
    }
    case 'log':
      return short(
        `log ${data.level}: ${typeof data.data === 'string' ? data.data : JSON.stringify(data.data)}`,
      );
    case 'saturated':
      return 'is full: more calls wait than it may hold';
    case 'drain':
      return 'has room again';
    case 'supervisor-lost':
      return short(`the supervisor was lost: ${data.error?.message}`);
    case 'warning':
      return short(`warning: ${data.message}`);
    default:
      return short(`${event} ${JSON.stringify(data)}`);
  }
}

function short(text) {
  const shown = plain(text);
  return shown.length > 300 ? `${shown.slice(0, 300)}…` : shown;
}

/** About seven pixels a character; the whole name stands in the table. */
function shortened(name, room) {
  const most = Math.max(4, Math.floor(room / 7.5) - 1);
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}
