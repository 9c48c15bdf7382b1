/**
 * A program on a terminal of its own, through `script` of the system: what it writes comes back byte for byte, keys go
 * in, and the size can change under it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { eventually } from './eventually.js';

export interface Size {
  columns: number;
  rows: number;
}

export interface Terminal {
  /** Everything that the program wrote, control sequences included. */
  written(): string;
  /** Waits until `text` was written after what `written()` gave at `from` (a length). */
  shows(text: string, from?: number): Promise<void>;
  press(keys: string): void;
  resize(size: Size): void;
  kill(signal: NodeJS.Signals): void;
  /** Exit status as a shell tells it: 128 and the signal for one that a signal ended. */
  ended: Promise<number | null>;
}

/** @param command program and arguments; its environment is `env` over that of this process. */
export async function onTerminal(
  command: readonly string[],
  options: { cwd: string; env?: Record<string, string>; size?: Size },
): Promise<Terminal> {
  const { cwd, env = {}, size = { columns: 100, rows: 24 } } = options;
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const line = `stty cols ${size.columns} rows ${size.rows}; echo "[$$ $(tty)]"; exec ${quoted}`;
  const args =
    process.platform === 'darwin'
      ? ['-q', '/dev/null', 'sh', '-c', line]
      : ['--quiet', '--return', '--flush', '--command', line, '/dev/null'];
  const child: ChildProcess = spawn('script', args, {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    written += text;
  });
  child.stdin?.on('error', () => {});
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      child.stdin?.destroy();
      resolve(code);
    });
  });
  const shows = async (text: string, from = 0): Promise<void> => {
    await eventually(
      () => written.slice(from).includes(text),
      () => `the terminal to show "${text}"; it showed: ${written.slice(-2_000)}`,
      15_000,
    );
  };
  await Promise.race([shows(']'), ended]);
  const [, pid = '', device = ''] = /\[(\d+) (\S+)\]/.exec(written) ?? [];
  return {
    written: () => written,
    shows,
    press: (keys) => child.stdin?.write(keys),
    resize({ columns, rows }) {
      const flag = process.platform === 'darwin' ? '-f' : '-F';
      execFileSync('stty', [flag, device, 'cols', String(columns), 'rows', String(rows)]);
    },
    kill: (signal) => void process.kill(Number(pid), signal),
    ended,
  };
}
