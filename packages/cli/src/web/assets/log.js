/** The end of one server's log, and what is added to it while the page is open. */
import { byId } from './dom.js';
import { plain } from './figures.js';

/** Whoever wants more of it has `bulkhead logs`. */
const KEPT_CHARACTERS = 200_000;
const AGAIN_MS = 2_000;

let end = new AbortController();

/** @param server '' shows none. */
export async function followLog(server) {
  end.abort();
  end = new AbortController();
  const { signal } = end;
  const log = byId('log');
  log.textContent = server === '' ? 'What a server writes to stderr.' : '';
  while (server !== '' && !signal.aborted) {
    try {
      await read(server, log, signal);
    } catch {
      // Told at the top of the page.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function read(server, log, signal) {
  const answer = await fetch(`/logs/${encodeURIComponent(server)}`, { signal });
  if (!answer.ok || answer.body === null) return;
  // From the start: after a break the last lines come again.
  log.textContent = '';
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) return;
    const text = log.textContent + plain(value);
    log.textContent = text.slice(-KEPT_CHARACTERS);
    if (byId('log-follow').checked) log.scrollTop = log.scrollHeight;
  }
}
