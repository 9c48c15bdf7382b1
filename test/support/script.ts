/**
 * The typed form of a script for `test/fixtures/scripted-server.mjs`: a stdio MCP server that misbehaves on purpose.
 * `scripted({})` is an honest server; every field bends one thing. Durations in ms, sizes in bytes.
 */
import { fileURLToPath } from 'node:url';

const SERVER_PATH = fileURLToPath(new URL('../fixtures/scripted-server.mjs', import.meta.url));
/** The kernel takes at most 128 KiB for one argument. */
const INLINE_MAX_BYTES = 120_000;

/**
 * A stdio entry as a config's `mcpServers` takes it; other fields may be added by spreading. A type and not an
 * interface: only so it fits where a record of unknown values is asked for.
 */
export type ServerEntry = {
  command: string;
  args: string[];
  env?: Record<string, string>;
  cwd?: string;
};

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * Bytes to write. A string goes out exactly as it is (add the newline yourself); `{json}` is a message in the server's
 * own form. Both take `$id`, `$token` (the progress token) and `$n` (how often the rule has matched, from 1).
 */
export type Bytes = string | { json: Json } | { hex: string } | { fill: string; bytes: number };

export interface Exit {
  code?: number;
  signal?: NodeJS.Signals;
  /** Written before leaving, a traceback for instance. */
  stderr?: string;
  delayMs?: number;
}

/** How every message looks on the wire. */
export interface WireForm {
  /** Default `\n`; `\r\n` for text mode; `''` to forget it. */
  eol?: string;
  /** A UTF-8 byte order mark before the message. */
  bom?: boolean;
  /** Writes of at most this size, a turn of the loop (or `pieceDelayMs`) apart. */
  pieceBytes?: number;
  pieceDelayMs?: number;
  /** Replies wrapped in an array. */
  batch?: boolean;
  /** Replies carry their id as a string. */
  stringIds?: boolean;
  /** Each reply this often. Default 1. */
  copies?: number;
  /** Header framing in place of lines. */
  contentLength?: boolean;
  /** Lines before every message. */
  noise?: string[];
}

/** Other behaviour for single messages. The first rule that fits holds; nothing fits: honest behaviour. */
export interface Rule {
  /** `*` is any request or notification. */
  method: string;
  /** Only `tools/call` of this tool. */
  tool?: string;
  /** Only when these members of `params` are equal; `null` asks for absence. */
  where?: Record<string, Json>;
  /** Only the k-th message that fits, counted from 1. */
  nth?: number;
  /** Only the first so many. */
  times?: number;
  /** Wait before everything below. */
  delayMs?: number;
  before?: Bytes[];
  /** Absent: the honest reply. `null`: none. `bytes`: exactly these. */
  reply?:
    | null
    | { result: Json }
    | { error: { code: number; message: string; data?: Json } }
    | { bytes: Bytes[] };
  after?: Bytes[];
  /** Written again and again, starting one interval after the message came. */
  repeat?: { everyMs: number; write: Bytes[]; times?: number };
  /** Leaves once everything is written. */
  exit?: Exit;
  /** Over the script's own `wire`, for what this rule writes. */
  wire?: WireForm;
}

export interface Flood {
  /** Default `start`; else the method whose arrival sets it off. */
  on?: string;
  stream: 'stdout' | 'stderr';
  /** Default: for ever. */
  bytes?: number;
  /** 0 (default): no line end at all. */
  lineBytes?: number;
  /** Default `\n`; `\r` for progress bars. */
  separator?: string;
  /** One character. Default `x`. */
  fill?: string;
}

export interface Script {
  /** JSONL file: each message as received, and events. Read it with `readRecord()`. */
  record?: string;
  /** Holds the pid of the running process. Read it with `pidFrom()`. */
  pidFile?: string;
  /** Launch k runs with `scripts[k-1]` laid over this script, field by field. `file` counts the launches. */
  launches?: { file: string; scripts: Omit<Script, 'launches'>[] };

  /** Default: the requested version. */
  protocolVersion?: string;
  /** Initialize fails with -32602 (and `data.supported`) unless it asks for one of these. */
  requireVersions?: string[];
  /** Requests before `notifications/initialized` fail with -32600, or see one tool only. */
  requireInitialized?: 'error' | 'fewer-tools';
  /** What a request before initialize meets. Default: the ordinary answer. */
  beforeInitialize?: 'ignore' | 'exit';
  serverInfo?: { name: string; version: string; title?: string };
  capabilities?: Record<string, Json>;
  instructions?: string;
  /** In place of the built-in tools. A tool without built-in behaviour gives its arguments back as JSON. */
  tools?: Json[];
  /** So many more, named `tool_1` … */
  toolCount?: number;
  /** Tools per page. Default: one page. */
  pageSize?: number;

  /** Reads nothing for so long. */
  startDelayMs?: number;
  /** Leaves before reading anything. */
  exitAtStart?: Exit;
  /** Leaves at the n-th request (initialize counts), answered first unless `answered` is false. */
  exitAfter?: Exit & { requests: number; answered?: boolean };
  ignoreSigterm?: boolean;
  /** Stays when its stdin ends. */
  ignoreEof?: boolean;
  /** An interval holds the process until its stdin ends. */
  keepAliveMs?: number;
  /** Writes its pid to a file and sleeps; the server never ends it. */
  grandchild?: {
    pidFile: string;
    /** Holds the server's stdout open. */
    holdStdout?: boolean;
    ignoreSigterm?: boolean;
    /** In a group of its own, out of reach of a signal to the server's group. */
    detached?: boolean;
  };

  floods?: Flood[];
  /** Pings the host from `notifications/initialized` on; exits with 9 once more than so many pongs are missing. */
  pings?: { everyMs: number; exitAfterMissed?: number };
  wire?: WireForm;
  rules?: Rule[];
}

/** @throws {RangeError} when the script does not fit into one argument (use `fill` for long texts). */
export function scripted(script: Script): ServerEntry {
  const json = JSON.stringify(script);
  if (Buffer.byteLength(json) > INLINE_MAX_BYTES) {
    throw new RangeError(
      `The script has ${Buffer.byteLength(json)} bytes, more than the ${INLINE_MAX_BYTES} that fit into an argument; ` +
        'write it to a file and start the server with the path.',
    );
  }
  return { command: process.execPath, args: [SERVER_PATH, json] };
}
