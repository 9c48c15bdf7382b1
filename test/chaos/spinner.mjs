/**
 * However short the run, the watchdog has something to do: this one is honest at first, both its callers begin with the
 * trap, and nobody lays a hand on it before the watchdog has come.
 */
export const SPINNER = 'bad-0';
