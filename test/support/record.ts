/** What a scripted server wrote down: its record of messages and events, and pid files. */
import { readFileSync } from 'node:fs';
import { eventually } from './eventually.js';

export interface ReceivedMessage {
  jsonrpc: '2.0';
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: unknown;
}

export type RecordedEvent =
  | { event: 'launch'; pid: number }
  | { event: 'garbage'; text: string }
  | { event: 'eof' }
  | { event: 'signal'; signal: NodeJS.Signals }
  | { event: 'missed-pong' }
  | { event: 'exit'; code: number };

export interface ServerRecord {
  messages: ReceivedMessage[];
  events: RecordedEvent[];
  /** Methods of requests and notifications, in order of arrival. */
  methods: string[];
}

/** An absent file is an empty record. A last line without its newline is still being written and left out. */
export function readRecord(path: string): ServerRecord {
  const messages: ReceivedMessage[] = [];
  const events: RecordedEvent[] = [];
  for (const line of readIfThere(path).split('\n').slice(0, -1)) {
    const entry = JSON.parse(line) as ReceivedMessage | RecordedEvent;
    if ('event' in entry) events.push(entry);
    else messages.push(entry);
  }
  const methods = messages.flatMap((message) => message.method ?? []);
  return { messages, events, methods };
}

/** Waits until `found` holds for the record. */
export function recorded(
  path: string,
  found: (record: ServerRecord) => boolean,
  deadlineMs = 10_000,
): Promise<ServerRecord> {
  return eventually(
    () => {
      const record = readRecord(path);
      return found(record) ? record : undefined;
    },
    () => `the record ${path} to hold what the test waits for; it holds: ${readIfThere(path) || 'nothing'}`,
    deadlineMs,
  );
}

/** Waits for a pid file and gives the pid. */
export function pidFrom(path: string, deadlineMs = 10_000): Promise<number> {
  return eventually(
    () => {
      const pid = Number.parseInt(readIfThere(path), 10);
      return Number.isNaN(pid) ? undefined : pid;
    },
    () => `a pid in ${path}`,
    deadlineMs,
  );
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
