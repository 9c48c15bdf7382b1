/** What the buttons do: ask, after a question where calls would be lost, and say what became of it. */
import { byId, setText } from './dom.js';

const csrf = document.querySelector('meta[name=csrf]').content;
const done = { start: 'is starting', stop: 'is stopped', restart: 'is being restarted' };

/** Resolves when it is done or refused; never rejects. */
export async function command(server, verb, callsUnderWay) {
  if (verb !== 'start' && callsUnderWay > 0 && !(await confirmed(server, verb, callsUnderWay))) return;
  say(`${server}: ${verb}…`);
  try {
    const answer = await fetch(`/servers/${encodeURIComponent(server)}/${verb}`, {
      method: 'POST',
      headers: { 'bulkhead-csrf': csrf },
    });
    const body = await answer.json();
    if (answer.ok)
      say(`${server} ${verb === 'restart' && body.state === 'ready' ? 'was restarted' : done[verb]}.`);
    else say(`${server}: ${body.error?.message ?? answer.statusText}`);
  } catch {
    say(`${server}: the page could not be reached. Is bulkhead web still running?`);
  }
}

function say(text) {
  setText(byId('said'), text);
}

function confirmed(server, verb, calls) {
  const dialog = byId('confirm');
  const many = calls === 1 ? 'A call is' : `${calls} calls are`;
  setText(byId('confirm-title'), `${verb === 'stop' ? 'Stop' : 'Restart'} ${server}?`);
  setText(byId('confirm-text'), `${many} under way and will fail.`);
  setText(byId('confirm-yes'), verb === 'stop' ? 'Stop it' : 'Restart it');
  dialog.returnValue = 'cancel';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
