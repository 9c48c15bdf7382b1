/** The chart: one figure of each server over up to ten minutes, drawn anew at each look. */
import { byId, element, svg } from './dom.js';
import { count, milliseconds } from './figures.js';
import { ago, MOST_MS, spanSince } from './time-span.js';

const SERIES = 8;
/** Samples, one a second. */
const WINDOW = 10;
const dashes = ['', '6 3', '2 3', '8 3 2 3'];
const left = 64;
const right = 8;
const top = 10;
const bottom = 24;

const metrics = {
  mean: { of: means, text: milliseconds },
  p99: { of: (known) => known.map(([at, , p99]) => [at, p99]), text: milliseconds },
  rate: { of: rates, text: (value) => `${count(Number(value.toPrecision(2)))}/s` },
};

let samples = [];

export function restartChart(all) {
  samples = all;
}

export function addSample(sample) {
  samples.push(sample);
  while (samples.length > 0 && samples[0].at < sample.at - MOST_MS) samples.shift();
}

/** @param names in the order of the table: that of the colours. */
export function drawChart(names) {
  const canvas = byId('chart');
  const { width, height } = canvas.getBoundingClientRect();
  if (width === 0) return;
  const chosen = byId('metric').value;
  const { text } = metrics[chosen];
  const now = samples.at(-1)?.at ?? Date.now();
  const span = spanSince(samples[0]?.at, now);
  const lines = names.map((name, index) => ({ name, index, points: pointsOf(name, chosen) }));
  const busy = lines.filter(({ points }) => points.length > 0);
  const highest = niceAbove(Math.max(0, ...busy.flatMap(({ points }) => points.map(([, value]) => value))));
  const x = (at) => left + ((at - now + span) / span) * (width - left - right);
  const y = (value) => height - bottom - (value / highest) * (height - top - bottom);
  const parts = [0, 0.5, 1].flatMap((part) => [
    svg('line', { class: 'axis', x1: left, x2: width - right, y1: y(highest * part), y2: y(highest * part) }),
    svg(
      'text',
      { x: left - 8, y: y(highest * part) + 4, 'text-anchor': 'end' },
      part === 0 ? '0' : text(highest * part),
    ),
  ]);
  for (const [part, anchor] of [
    [1, 'start'],
    [0.5, 'middle'],
    [0, 'end'],
  ])
    parts.push(
      svg('text', { x: x(now - span * part), y: height - 6, 'text-anchor': anchor }, ago(span * part)),
    );
  for (const { index, points } of busy) {
    const path = points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    parts.push(svg('polyline', { ...styleOf(index, 'line'), points: path }));
  }
  canvas.setAttribute('viewBox', `0 0 ${width} ${height}`);
  canvas.replaceChildren(...parts);
  const latest = busy.map(({ name, index, points }) => ({ name, index, value: text(points.at(-1)[1]) }));
  const label = byId('metric').selectedOptions[0].text;
  canvas.setAttribute(
    'aria-label',
    latest.length === 0
      ? 'No calls yet'
      : `Now, ${label}: ${latest.map(({ name, value }) => `${name} ${value}`).join(', ')}`,
  );
  byId('legend').replaceChildren(
    ...(latest.length === 0
      ? [element('li', {}, 'No calls yet.')]
      : latest.map(({ name, index, value }) =>
          element(
            'li',
            {},
            svg(
              'svg',
              { viewBox: '0 0 28 10', 'aria-hidden': 'true' },
              svg('line', { ...styleOf(index, 'line'), x1: 0, x2: 28, y1: 5, y2: 5 }),
            ),
            `${name} ${value}`,
          ),
        )),
  );
}

/** Colours come again after eight servers, with other dashes. */
function styleOf(index, kind) {
  return {
    class: `${kind} series-${index % SERIES}`,
    'stroke-dasharray': dashes[Math.floor(index / SERIES) % dashes.length],
  };
}

/** [at, value] of a server that was called at all. */
function pointsOf(name, metric) {
  const known = samples.flatMap(({ at, servers }) => {
    const found = servers.find(([server]) => server === name);
    return found === undefined || found[1] === null ? [] : [[at, ...found.slice(1)]];
  });
  return metrics[metric].of(known);
}

/** Of the calls of the last ten seconds; while there are none the line goes on as it was. */
function means(known) {
  let last;
  return known.flatMap(([at, mean, , answered], index) => {
    const [, before, , fewer] = known[Math.max(0, index - WINDOW)];
    // Also where a runtime started anew, and counts from nought.
    if (last === undefined || answered < fewer) last = mean;
    else if (answered > fewer) last = Math.max(0, (mean * answered - before * fewer) / (answered - fewer));
    return [[at, last]];
  });
}

/** Over ten seconds, so that single calls do not look like needles. */
function rates(known) {
  return known.flatMap(([at, , , , calls], index) => {
    const [before, , , , fewer] = known[Math.max(0, index - WINDOW)];
    return at === before ? [] : [[at, Math.max(0, ((calls - fewer) / (at - before)) * 1_000)]];
  });
}

/** The next of 1, 2, 5, 10 … above. */
function niceAbove(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}
