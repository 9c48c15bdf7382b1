/**
 * The barest host there is: starts a stdio server and exchanges lines with it. For tests of the fixtures themselves and
 * for expectations about raw bytes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { eventually } from './eventually.js';
import type { ServerEntry } from './script.js';

export interface RawMessage {
  jsonrpc: '2.0';
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}

export class RawHost {
  readonly pid: number;
  /** Everything that came on stdout, chunk by chunk. */
  readonly chunks: Buffer[] = [];
  stderr = '';
  /** Resolves at `exit`; `close` would wait for a grandchild that holds the pipe. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };
  #nextId = 1;

  constructor(entry: ServerEntry) {
    const env = { ...process.env, ...entry.env };
    this.#child = spawn(entry.command, entry.args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: entry.cwd, env });
    this.pid = this.#child.pid ?? -1;
    this.exited = once(this.#child, 'exit').then(([code, signal]) => ({ code, signal }));
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdout.on('data', (chunk: Buffer) => this.chunks.push(chunk));
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
  }

  get output(): string {
    return Buffer.concat(this.chunks).toString();
  }

  /** Lines that are complete. */
  get lines(): string[] {
    return this.output.split('\n').slice(0, -1);
  }

  /** Lines that are JSON-RPC messages. */
  get messages(): RawMessage[] {
    return this.lines.flatMap((line) => parseMessage(line) ?? []);
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  notify(method: string, params: Record<string, unknown> = {}): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  /** Sends a request and gives its id. */
  send(method: string, params: Record<string, unknown> = {}): number {
    const id = this.#nextId++;
    this.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  }

  async request(method: string, params: Record<string, unknown> = {}): Promise<RawMessage> {
    const id = this.send(method, params);
    return await this.until((message) => message.id === id && message.method === undefined);
  }

  call(tool: string, args: Record<string, unknown> = {}): Promise<RawMessage> {
    return this.request('tools/call', { name: tool, arguments: args });
  }

  until(found: (message: RawMessage) => boolean): Promise<RawMessage> {
    return eventually(
      () => this.messages.find(found),
      () => `a message; stdout was: ${this.output.slice(-2_000)}\nstderr was: ${this.stderr.slice(-2_000)}`,
    );
  }

  async handshake(protocolVersion = '2025-06-18'): Promise<RawMessage> {
    const clientInfo = { name: 'raw-host', version: '1.0.0' };
    const reply = await this.request('initialize', { protocolVersion, capabilities: {}, clientInfo });
    this.notify('notifications/initialized');
    return reply;
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** SIGKILL, and gone when it resolves; the pipes are closed on this side. */
  async dispose(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.exited;
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
  }
}

function parseMessage(line: string): RawMessage | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(line) as RawMessage;
    return value.jsonrpc === '2.0' ? value : undefined;
  } catch {
    return undefined;
  }
}
