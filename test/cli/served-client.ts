/** A client of `bulkhead serve` on stdio: lines out, lines in, nothing between, so that tests see the exact texts. */
import { eventually } from '../support/eventually.js';
import { parseLines, type Running, type RunOptions, start } from './cli.js';

export interface Message {
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

export class ServedClient {
  readonly running: Running;
  #id = 0;

  constructor(args: readonly string[], options: RunOptions = {}) {
    this.running = start(['serve', ...args], { ...options, stdin: { open: true } });
  }

  /** Shakes hands. */
  async initialize(capabilities: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const clientInfo = { name: 'test', version: '1.0.0' };
    const result = await this.ask('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
    this.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return result;
  }

  /** The result. @throws what the answer says when it is an error. */
  async ask(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const { result, error } = await this.answer(this.send(method, params));
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    return result ?? {};
  }

  send(method: string, params: Record<string, unknown> = {}): number {
    const id = ++this.#id;
    this.write({ jsonrpc: '2.0', id, method, params });
    return id;
  }

  /** An object as JSON, a text as it is. */
  write(message: object | string): void {
    this.running.child.stdin?.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  answer(id: number | string): Promise<Message> {
    return this.message((message) => message.id === id && message.method === undefined, `an answer to ${id}`);
  }

  notification(method: string): Promise<Message> {
    return this.message((message) => message.method === method, method);
  }

  message(fits: (message: Message) => boolean, what: string): Promise<Message> {
    return eventually(
      () => this.messages().find(fits),
      () => `${what}; stdout: ${this.running.stdout()} stderr: ${this.running.stderr()}`,
    );
  }

  /** Whole lines only. */
  messages(): Message[] {
    const text = this.running.stdout();
    return parseLines<Message>(text.slice(0, text.lastIndexOf('\n') + 1));
  }

  /** Ends the input, as a host does that goes away. */
  async leave(): ReturnType<typeof start>['ended'] {
    this.running.child.stdin?.end();
    return this.running.ended;
  }
}
