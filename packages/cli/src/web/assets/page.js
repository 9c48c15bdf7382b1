/** The page: takes what the stream tells and gives it to the parts. */
import { addSample, drawChart, restartChart } from './chart.js';
import { byId, element, offer, setText } from './dom.js';
import { age, plain } from './figures.js';
import { followLog } from './log.js';
import { showServers } from './servers.js';
import { addEvent, drawLanes, listEvents, restartTimeline } from './timeline.js';

let servers = [];
let frame = 0;

const live = new EventSource('/live');
live.addEventListener(
  'whole',
  told(({ events, samples }) => {
    restartChart(samples);
    restartTimeline(events);
    draw();
  }),
);
live.addEventListener(
  'look',
  told(({ report, sample }) => {
    connected(true, 'Live');
    ({ servers } = report);
    const { name, pid, uptimeMs } = report.health;
    setText(byId('resident'), `${name} · process ${pid} · up ${age(uptimeMs)}`);
    document.title = `${servers.filter(({ state }) => state === 'ready').length}/${servers.length} ready · Bulkhead`;
    showProblems(report);
    showServers(servers, openLog);
    const names = servers.map((server) => server.name);
    offer(byId('event-server'), names);
    offer(byId('log-server'), names);
    addSample(sample);
    draw();
  }),
);
live.addEventListener(
  'happened',
  told((event) => {
    addEvent(event);
    draw();
  }),
);
live.addEventListener(
  'gone',
  told(({ message }) => connected(false, plain(message))),
);
live.addEventListener('error', () => {
  const isOver = live.readyState === EventSource.CLOSED;
  connected(
    false,
    isOver ? 'This page’s session has ended. Run bulkhead web again.' : 'Connection lost, trying again…',
  );
});

byId('log').setAttribute('role', 'region');
byId('log').setAttribute('aria-label', 'Lines of the log');
// What scrolls must be reached by the keyboard.
for (const region of document.querySelectorAll('.scroll')) region.tabIndex = 0;
byId('metric').addEventListener('change', draw);
byId('event-server').addEventListener('change', listEvents);
byId('log-server').addEventListener('change', ({ target }) => followLog(target.value));
new ResizeObserver(draw).observe(byId('chart'));

function told(take) {
  return ({ data }) => take(JSON.parse(data));
}

/** Once a frame, however much happens; never while nobody can see it. */
function draw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => {
    drawChart(servers.map(({ name }) => name));
    drawLanes(servers);
  });
}

function connected(is, text) {
  byId('connection').classList.toggle('lost', !is);
  setText(byId('connection'), text);
}

function openLog(name) {
  byId('log-server').value = name;
  followLog(name);
  byId('log-title').scrollIntoView();
  byId('log-title').focus({ preventScroll: true });
}

function showProblems({ problems, reloadFailure }) {
  const all =
    reloadFailure === undefined
      ? problems
      : [`The changed configuration is not taken: ${reloadFailure}`, ...problems];
  const list = byId('problems');
  if (list.dataset.shown === JSON.stringify(all)) return;
  list.dataset.shown = JSON.stringify(all);
  list.hidden = all.length === 0;
  list.replaceChildren(...all.map((text) => element('li', {}, plain(text))));
}
