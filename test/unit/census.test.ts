import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { alive, census, expectClean, useCensus, watchRejections } from '../support/census.js';
import { eventually } from '../support/eventually.js';
import { descendants, processRow } from '../support/processes.js';
import { RawHost } from '../support/raw-host.js';
import { pidFrom } from '../support/record.js';
import { scripted } from '../support/script.js';
import { useTempDir } from '../support/temp-dir.js';

const SLEEP = ['-e', 'setInterval(() => undefined, 60_000)'];
const graceMs = 200;

const watched = useCensus();
const temp = useTempDir();

describe('a census', () => {
  test('is clean when nothing was started', async () => {
    await expectClean(census());
  });

  test('is clean once a process has ended and was reaped', async () => {
    const before = census();
    const child = spawn(process.execPath, ['-e', '0']);
    await once(child, 'close');
    await expectClean(before);
  });

  test('names a child that is left, with its command line', async () => {
    const before = census();
    const child = spawn(process.execPath, SLEEP, { stdio: 'ignore' });
    await expect(expectClean(before, { graceMs })).rejects.toThrow(
      new RegExp(`child ${child.pid} \\(.\\) .*setInterval`),
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  test('names the child of a child', async () => {
    const before = census();
    const host = new RawHost(scripted({ grandchild: { pidFile: temp('pid') } }));
    const grandchild = await pidFrom(temp('pid'));
    expect(descendants().map((row) => row.pid)).toContain(grandchild);
    await expect(expectClean(before, { graceMs })).rejects.toThrow(`child ${grandchild} `);
    process.kill(grandchild, 'SIGKILL');
    await host.dispose();
    await expectClean(before);
  });

  test('names a watched process although it was re-parented', async () => {
    const before = census();
    const host = new RawHost(scripted({ grandchild: { pidFile: temp('pid'), detached: true } }));
    const grandchild = await pidFrom(temp('pid'));
    await host.dispose();
    expect(descendants().map((row) => row.pid)).not.toContain(grandchild);
    await expect(expectClean(before, { graceMs, pids: [grandchild] })).rejects.toThrow(
      new RegExp(`process ${grandchild} \\(.\\) .*renameSync`, 's'),
    );
    process.kill(grandchild, 'SIGKILL');
    watched.watch(grandchild);
  });

  test.runIf(process.platform === 'linux')('names a zombie, and does not call it alive', async () => {
    const before = census();
    // The shell starts a sleeper that ends, then becomes a program that never waits for it.
    const script = `sleep 0.01 & echo $! > ${temp('pid')}; exec "$0" -e 'setInterval(() => undefined, 60_000)'`;
    const parent = spawn('sh', ['-c', script, process.execPath], { stdio: 'ignore' });
    const pid = await pidFrom(temp('pid'));
    await eventually(
      () => processRow(pid)?.state === 'Z',
      () => `the zombie ${pid}`,
    );
    expect(alive(pid)).toBe(false);
    await expect(expectClean(before, { graceMs })).rejects.toThrow(`zombie ${pid} (Z)`);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });

  test('names a thread that is left', async () => {
    const before = census();
    const worker = new Worker('setInterval(() => undefined, 60_000)', { eval: true });
    await once(worker, 'online');
    await expect(expectClean(before, { graceMs })).rejects.toThrow(`thread ${worker.threadId}`);
    await worker.terminate();
    await expectClean(before);
  });

  test('names a listening socket, a timer and a listener of process', async () => {
    // The runner's own short timers would hide one of ours.
    const before = await eventually(
      () => [census()].find((taken) => !taken.resources.has('Timeout')),
      () => 'a moment without timers',
    );
    const server = createServer().listen(temp('socket'));
    await once(server, 'listening');
    const timer = setInterval(() => undefined, 60_000);
    const onWarning = () => undefined;
    process.on('warning', onWarning);
    const left = await expectClean(before, { graceMs }).catch((error: Error) => error.message);
    process.off('warning', onWarning);
    clearInterval(timer);
    server.close();
    expect(left).toMatch(/resource Pipe\w* \(/);
    expect(left).toMatch(/resource Timeout \(/);
    expect(left).toMatch(/listener of process: warning \(/);
    await expectClean(before);
  });

  test('tells of a rejection that nobody handled', async () => {
    const before = census();
    // The runner's own listeners would fail the run for what is provoked here.
    const runner = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    const rejections = watchRejections();
    void Promise.reject(new Error('dropped on purpose'));
    await eventually(
      () => rejections.errors.length === 1,
      () => 'the rejection',
    );
    rejections.stop();
    for (const listener of runner) process.on('unhandledRejection', listener);
    await expect(expectClean(before, { rejections })).rejects.toThrow('dropped on purpose');
  });
});

test('a process that has ended is not alive', async () => {
  const child = spawn(process.execPath, SLEEP, { stdio: 'ignore' });
  const pid = child.pid ?? -1;
  expect(alive(pid)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(alive(pid)).toBe(false);
});
