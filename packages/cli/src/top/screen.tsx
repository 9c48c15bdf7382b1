/**
 * The terminal while `top` has it: an alternate screen that is left on every way out, with keys read one by one. What
 * stands on it is a {@link Frame}, drawn by ink.
 */
import { Writable } from 'node:stream';
import { Box, type Instance, render, Text, useInput } from 'ink';
import type { Key } from './keys.js';
import type { Frame, FrameRow, Size, Tone } from './layout.js';

const ENTER = '\u001b[?1049h\u001b[2J\u001b[H';
const LEAVE = '\u001b[?1049l\u001b[?25h';
const CLEAR = '\u001b[2J\u001b[H';

export interface Terminal {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  /** Off with NO_COLOR. */
  colour: boolean;
}

export interface ScreenEvents {
  onKey: (key: Key) => void;
  /** Another size: show the frame again. */
  onResize: () => void;
}

export class Screen {
  readonly #terminal: Terminal;
  readonly #events: ScreenEvents;
  #ink: Instance | undefined;
  #open = true;

  /** Takes the terminal; `close()` gives it back, and so does the end of the process. */
  constructor(terminal: Terminal, events: ScreenEvents) {
    this.#terminal = terminal;
    this.#events = events;
    const { stdout } = terminal;
    process.once('exit', this.#leave);
    stdout.on('resize', this.#resized);
    stdout.write(ENTER);
  }

  get size(): Size {
    // 0 where the terminal does not say.
    const { columns, rows } = this.#terminal.stdout;
    return { columns: Math.max(20, columns || 80), rows: Math.max(6, rows || 24) };
  }

  show(frame: Frame): void {
    if (!this.#open) return;
    const { colour } = this.#terminal;
    const view = <View frame={frame} colour={colour} onKey={this.#events.onKey} />;
    if (this.#ink === undefined) this.#ink = this.#mount(view);
    else this.#ink.rerender(view);
  }

  close(): void {
    if (!this.#open) return;
    this.#terminal.stdout.off('resize', this.#resized);
    process.off('exit', this.#leave);
    this.#ink?.unmount();
    this.#leave();
  }

  #mount(view: Parameters<typeof render>[0]): Instance {
    return render(view, {
      stdin: this.#terminal.stdin,
      stdout: sheet(this.#terminal.stdout),
      exitOnCtrlC: false,
      patchConsole: false,
    });
  }

  readonly #resized = (): void => {
    // What a terminal makes of old lines in a new width is anyone's guess: begin again on an empty screen.
    this.#ink?.unmount();
    this.#ink = undefined;
    this.#terminal.stdout.write(CLEAR);
    this.#events.onResize();
  };

  readonly #leave = (): void => {
    if (!this.#open) return;
    this.#open = false;
    this.#terminal.stdout.write(LEAVE);
  };
}

/**
 * The stream that ink draws on: without end, or ink would clear the terminal with all that scrolled by for a frame as
 * high as it, and without `resize`, which is dealt with here.
 */
function sheet(stdout: NodeJS.WriteStream): NodeJS.WriteStream {
  const stream = new Writable({
    decodeStrings: false,
    // At once and in order with what is written beside it.
    write(text: string, _encoding, done) {
      stdout.write(text);
      done();
    },
  });
  const size = { isTTY: true, columns: stdout.columns, rows: Number.MAX_SAFE_INTEGER };
  return Object.assign(stream, size) as unknown as NodeJS.WriteStream;
}

function View(props: { frame: Frame; colour: boolean; onKey: (key: Key) => void }) {
  const { frame, colour, onKey } = props;
  useInput((input, key) => {
    const named = nameOf(key);
    if (key.ctrl) {
      if (input === 'c') onKey('ctrl-c');
    } else if (named !== undefined) onKey(named);
    // Keys that were pressed quickly come together.
    else for (const character of input) onKey(character);
  });
  return (
    <Box flexDirection="column">
      <Line text={frame.title} bold />
      <Line text={frame.head} dim />
      {frame.rows.map((row, index) => (
        <Row key={index} row={row} colour={colour} />
      ))}
      {frame.pane.map((text, index) => (
        <Line key={index} text={text} />
      ))}
      <Line text={frame.foot} dim />
    </Box>
  );
}

/** An empty line takes its place too. */
function Line({ text, bold = false, dim = false }: { text: string; bold?: boolean; dim?: boolean }) {
  return (
    <Text wrap="truncate" bold={bold} dimColor={dim}>
      {text === '' ? ' ' : text}
    </Text>
  );
}

const colours: Record<Tone, string> = { good: 'green', busy: 'yellow', bad: 'red', quiet: 'gray' };

function Row({ row, colour }: { row: FrameRow; colour: boolean }) {
  const { before, state, after, tone, selected } = row;
  return (
    <Text wrap="truncate" inverse={selected}>
      {before}
      <Text {...(colour ? { color: colours[tone] } : {})}>{state}</Text>
      {after}
    </Text>
  );
}

function nameOf(key: Parameters<Parameters<typeof useInput>[0]>[1]): Key | undefined {
  if (key.upArrow) return 'up';
  if (key.downArrow) return 'down';
  if (key.pageUp) return 'pageup';
  if (key.pageDown) return 'pagedown';
  if (key.home) return 'home';
  if (key.end) return 'end';
  if (key.escape) return 'escape';
  return undefined;
}
