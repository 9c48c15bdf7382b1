/** What the servers of a run have booked: read on while they write, and as a whole at the end. */
import { closeSync, openSync, readSync } from 'node:fs';

const PIECE_BYTES = 1024 * 1024;

export class Books {
  #file;
  #buffer = Buffer.alloc(PIECE_BYTES);
  #open = '';
  /** Entries of calls in the order in which servers took them: {pid, host, key, n}. */
  calls = [];
  /** Pids of all servers that were started. */
  servers = new Set();
  /** Calls by the pid of the worker that sent them. */
  byHost = new Map();

  constructor(path) {
    this.#file = openSync(path, 'a+');
  }

  /** Takes what was booked since the last time. */
  read() {
    for (;;) {
      const length = readSync(this.#file, this.#buffer, 0, PIECE_BYTES, null);
      if (length === 0) return;
      const lines = (this.#open + this.#buffer.toString('latin1', 0, length)).split('\n');
      this.#open = lines.pop();
      for (const line of lines) this.#take(JSON.parse(line));
    }
  }

  close() {
    closeSync(this.#file);
  }

  #take(entry) {
    if (entry.started) {
      this.servers.add(entry.pid);
      return;
    }
    this.calls.push(entry);
    this.byHost.set(entry.host, (this.byHost.get(entry.host) ?? 0) + 1);
  }
}
