/** How far back a picture goes: as far as something is known, from one minute to ten. Pure. */
const LEAST_MS = 60_000;
export const MOST_MS = 600_000;

/** @param first when the first thing happened, if anything has. */
export function spanSince(first, now) {
  return Math.min(MOST_MS, Math.max(LEAST_MS, now - (first ?? now)));
}

export function ago(ms) {
  if (ms < 1_000) return 'now';
  const seconds = Math.round(ms / 1_000);
  return seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}
