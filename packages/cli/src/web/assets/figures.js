/** Figures and states as people read them. Pure. */
const kinds = new Map([
  ['ready', 'ready'],
  ['starting', 'moving'],
  ['connecting', 'moving'],
  ['reconnecting', 'moving'],
  ['draining', 'moving'],
  ['stopping', 'moving'],
  ['killing', 'moving'],
  ['backoff', 'failed'],
  ['quarantined', 'failed'],
  ['lost', 'failed'],
  ['needs-approval', 'failed'],
  ['needs-auth', 'failed'],
]);

/** One of four kinds of state: `ready`, `moving`, `failed`, `resting`. */
export const kindOf = (state) => kinds.get(state) ?? 'resting';

export function milliseconds(value) {
  if (value === undefined || value === null) return '–';
  if (value >= 10_000) return `${(value / 1_000).toFixed(1)} s`;
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ms`;
}

export function mebibytes(bytes) {
  return bytes === undefined ? '–' : `${(bytes / 1_048_576).toFixed(0)} MB`;
}

export function age(ms) {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

export const count = (value) => value.toLocaleString('en');

/** Without what would move the cursor or turn the direction of the text. */
export function plain(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '');
}
