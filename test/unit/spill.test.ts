import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { LineWriter } from '../../packages/runtime/src/batch/write.js';
import { HeldBytes, type Lent } from '../../packages/runtime/src/held-bytes.js';
import { SpillPlace } from '../../packages/runtime/src/spill.js';
import { SpilledFile } from '../../packages/runtime/src/spilled-file.js';
import { shape } from '../../packages/workers/src/pool/tasks.js';
import { Spill } from '../../packages/workers/src/server/spill.js';
import { useCensus } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { useTempDir } from '../support/temp-dir.js';

useCensus();
const directory = useTempDir();
const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));

describe('writing a result to a file', () => {
  test('only its own size and more is wanted, and with 0 nothing', () => {
    const spill = new Spill(directory('s'), 100);
    expect([spill.wants(99), spill.wants(100)]).toEqual([false, true]);
    expect(new Spill(directory('s'), 0).wants(1e9)).toBe(false);
  });

  test('file and directory are for this user alone', async () => {
    const spilled = await new Spill(directory('a', 'b'), 1).write(bytesOf('{"n":1}'));
    const { path, bytes } = spilled as { path: string; bytes: number };
    expect([readFileSync(path, 'utf8'), bytes]).toEqual(['{"n":1}', 7]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
  });

  test('a directory that cannot be made is told with the way out, and nothing is thrown', async () => {
    writeFileSync(directory('file'), '');
    const said = await new Spill(directory('file', 'below'), 1).write(bytesOf('{}'));
    expect(said).toMatch(/2 bytes are held in memory.*ENOTDIR.*spillDir.*spillBytes to 0/);
  });
});

describe('the directory of a runtime', () => {
  const made = (parent: string, rename: (name: string) => string) => {
    const name = rename(basename(new SpillPlace(parent).directory));
    mkdirSync(join(parent, name));
    writeFileSync(join(parent, name, 'x.json'), '{}');
    return name;
  };

  test('that a dead process left is removed at the next start; others stay', async () => {
    const parent = directory();
    const dead = spawnSync('true').pid;
    const left = made(parent, (name) => name.replace(`-${process.pid}-`, `-${dead}-`));
    const alive = made(parent, (name) => name);
    const elsewhere = made(parent, (name) =>
      name.replace(`-${process.pid}-`, `-${dead}-`).replace(/spill-[0-9a-f]{8}/, 'spill-00000000'),
    );
    const reused = made(parent, (name) => name.replace(/-[0-9a-f]{8}-(?=[0-9a-f]{8}$)/, '-00000000-'));
    const foreign = made(parent, () => 'bulkhead-spill-mine');
    await new SpillPlace(parent).sweep();
    expect(readdirSync(parent).sort()).toEqual([alive, elsewhere, foreign].sort());
    expect([left, reused].some((name) => existsSync(join(parent, name)))).toBe(false);
  });

  test('a link in its place is removed, and what it points to is not', async () => {
    const parent = directory();
    mkdirSync(directory('precious'));
    writeFileSync(directory('precious', 'file'), '');
    const name = basename(new SpillPlace(parent).directory);
    symlinkSync(
      directory('precious'),
      join(parent, name.replace(`-${process.pid}-`, `-${spawnSync('true').pid}-`)),
    );
    await new SpillPlace(parent).sweep();
    expect(readdirSync(parent)).toEqual(['precious']);
    expect(existsSync(directory('precious', 'file'))).toBe(true);
  });

  test('a parent that is not there is no error, neither for the sweep nor for the end', async () => {
    const place = new SpillPlace(directory('none'));
    await place.sweep();
    place.remove();
  });
});

/** A thread that holds what it is lent for a while, or for ever. */
function borrower(lent: Lent, holdMs: number): Worker {
  const code = `
    const { workerData } = require('node:worker_threads');
    const { source: { bytes, home, returned }, holdMs } = workerData;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, holdMs);
    home.postMessage(bytes, [bytes.buffer]);
    Atomics.store(returned, 0, 1);
    Atomics.notify(returned, 0);`;
  const workerData = { source: lent.source, holdMs };
  return new Worker(code, { eval: true, workerData, transferList: lent.transfer as never[] });
}

describe('bytes that are lent to another thread', () => {
  test('come back, and can be lent again', async () => {
    const held = new HeldBytes(bytesOf('héllo'));
    for (let round = 0; round < 2; round++) {
      const lent = await held.lend();
      const worker = borrower(lent, 0);
      await new Promise<void>((resolve) => lent.whenHere(resolve));
      lent.end();
      expect(held.text()).toBe('héllo');
      await once(worker, 'exit');
    }
  });

  test('are waited for by somebody who reads them meanwhile', async () => {
    const held = new HeldBytes(bytesOf('héllo'));
    const lent = await held.lend();
    const worker = borrower(lent, 100);
    expect((lent.source as { bytes: Uint8Array }).bytes.byteLength).toBe(0);
    expect(held.text()).toBe('héllo');
    lent.end();
    await once(worker, 'exit');
  });

  test('that are lost with their thread are told as lost', async () => {
    const held = new HeldBytes(bytesOf('héllo'));
    const lent = await held.lend();
    await borrower(lent, 60_000).terminate();
    lent.end();
    expect(() => held.text()).toThrow(/went down with the pool/);
    await expect(held.lend()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('that never left are there when the loan ends, and a second loan waits for the first', async () => {
    const held = new HeldBytes(bytesOf('héllo'));
    const first = await held.lend();
    let second: Lent | undefined;
    const lending = held.lend().then((lent) => (second = lent));
    await new Promise((resolve) => setImmediate(resolve));
    expect(second).toBeUndefined();
    first.end();
    (await lending).end();
    expect(held.text()).toBe('héllo');
  });
});

describe('a result in a file', () => {
  test('loses it when nobody holds the result any more', async () => {
    const path = directory('r.json');
    writeFileSync(path, '{}');
    new SpilledFile({ path, bytes: 2 }).text();
    const { setFlagsFromString } = await import('node:v8');
    setFlagsFromString('--expose-gc');
    const { runInNewContext } = await import('node:vm');
    const gc = runInNewContext('gc') as () => void;
    await eventually(
      () => {
        gc();
        return !existsSync(path);
      },
      () => 'the file to be removed',
    );
  });

  test('that is gone is told with the way out, by each way of reading', async () => {
    const file = new SpilledFile({ path: directory('none.json'), bytes: 2 });
    expect(() => file.text()).toThrow(/before runtime\.close\(\)/);
    await expect(file.read()).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('shaping', () => {
  const json = (text: string) => JSON.stringify({ content: [{ type: 'text', text }] });

  test('a result with too many values to be parsed safely is cut as JSON', async () => {
    const raw = `{"content":[],"structuredContent":{"a":[${'0,'.repeat(2_100_000)}0]}}`;
    const shaped = await shape({
      source: { kind: 'json', json: raw },
      maxBytes: 2_000,
      directory: directory(),
    });
    expect(shaped.text.startsWith('{"content":[]')).toBe(true);
    expect(shaped.text.endsWith('0]}}')).toBe(true);
    expect(readFileSync(shaped.file as string, 'utf8')).toBe(raw);
  });

  test('a file above 64 MiB is cut without being read, between two characters, and keeps a name', async () => {
    const raw = json('é€🎉'.repeat(8_000_000));
    const path = directory('r.json');
    writeFileSync(path, raw);
    const bytes = statSync(path).size;
    for (const maxBytes of [2_000, 2_001, 2_002, 2_003]) {
      const out = mkdtempSync(directory('out-'));
      const shaped = await shape({ source: { kind: 'file', path, bytes }, maxBytes, directory: out });
      expect(Buffer.byteLength(shaped.text)).toBeLessThanOrEqual(maxBytes);
      expect(shaped.text).not.toContain('\ufffd');
      expect(shaped).toMatchObject({ bytes, truncated: true });
      expect(shaped.text).toContain(shaped.file);
      expect(statSync(shaped.file as string).ino).toBe(statSync(path).ino);
      const cut = Number(/(\d+) of \d+ bytes left out/.exec(shaped.text)?.[1]);
      const kept = shaped.text.replace(/\n\[….*…\]\n/, '');
      expect(Buffer.byteLength(kept) + cut).toBe(bytes);
    }
  });
});

describe('lines of a batch', () => {
  test('with a result in a file come in their place, on one line each, and the file goes', async () => {
    const path = directory('r.json');
    writeFileSync(path, `{"big":\r\n"${'x'.repeat(300_000)}",\n"n": 1915883588174806058}`);
    const output = new PassThrough({ highWaterMark: 1_000 });
    const written = textOf(output);
    const writer = new LineWriter(output, {
      ordered: true,
      bufferBytes: 1_000,
      onRoom: () => {},
      onFailure: (error) => expect.unreachable(error.message),
    });
    const file = { path, bytes: statSync(path).size };
    writer.put(2, '{"line":3}');
    writer.put(1, { before: '{"line":2,"result":', file, after: ',"end":true}' });
    writer.put(0, '{"line":1}');
    await writer.flushed();
    output.end();
    const lines = (await written).split('\n');
    expect(lines.length).toBe(4);
    expect(lines.slice(0, 3).map((line) => JSON.parse(line).line)).toEqual([1, 2, 3]);
    expect(lines[1]).toContain('"n": 1915883588174806058},"end":true}');
    expect(writer.written).toBe(3);
    expect(existsSync(path)).toBe(false);
  });

  test('that cannot be finished end the batch instead of leaving half a line', async () => {
    const output = new PassThrough();
    const written = textOf(output);
    const failed = new Promise<Error>((resolve) => {
      const options = { ordered: false, bufferBytes: 1_000, onRoom: () => {}, onFailure: resolve };
      const writer = new LineWriter(output, options);
      writer.put(0, '{"line":1}');
      writer.put(1, { before: '{"result":', file: { path: directory('none'), bytes: 1 }, after: '}' });
    });
    expect((await failed).message).toContain('ENOENT');
    output.end();
    expect(await written).toBe('{"line":1}\n');
  });

  test('stop when the output is gone', async () => {
    const path = directory('r.json');
    writeFileSync(path, 'x'.repeat(500_000));
    const output = new PassThrough({ highWaterMark: 10 });
    const failed = new Promise<Error>((resolve) => {
      const options = { ordered: false, bufferBytes: 1_000, onRoom: () => {}, onFailure: resolve };
      const writer = new LineWriter(output, options);
      writer.put(0, { before: '{', file: { path, bytes: 500_000 }, after: '}' });
    });
    await once(output, 'readable');
    output.destroy();
    expect((await failed).message).toBe('the output was closed');
  });
});
