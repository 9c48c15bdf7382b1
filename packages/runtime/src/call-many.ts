/** Many calls from an iterable: the next one is pulled only when one has ended, outcomes come as they complete. */
import type { BulkheadError } from '@bulkhead/workers';
import type { CallOptions, ManyCall, ManyOutcome, RawArguments, ServerView, ToolResult } from './api.js';

interface Caller {
  callTool(
    fullName: string,
    args?: Record<string, unknown> | RawArguments,
    options?: CallOptions,
  ): Promise<ToolResult>;
  server(name: string): ServerView;
}

/** @throws {TypeError} when `concurrency` is no whole number of at least 1; whatever the iterable itself throws. */
export async function* callMany(
  runtime: Caller,
  calls: Iterable<ManyCall> | AsyncIterable<ManyCall>,
  concurrency: number,
): AsyncGenerator<ManyOutcome> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`Expected "concurrency" to be a whole number of at least 1, got ${concurrency}.`);
  }
  const source = Symbol.asyncIterator in calls ? calls[Symbol.asyncIterator]() : calls[Symbol.iterator]();
  const leaving = new AbortController();
  let running = 0;
  let ended: ManyOutcome[] = [];
  let wake = (): void => {};
  const end = (outcome: ManyOutcome): void => {
    running--;
    ended.push(outcome);
    wake();
  };
  const woken = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  let index = 0;
  let more = true;
  try {
    while (more || running > 0 || ended.length > 0) {
      // What has ended is given before more is pulled: a slow consumer holds the source back.
      while (ended.length > 0) {
        const given = ended;
        ended = [];
        yield* given;
      }
      while (more && running < concurrency && ended.length === 0) {
        const next = await source.next();
        if (next.done) {
          more = false;
          break;
        }
        const call = next.value;
        const place = index++;
        running++;
        start(runtime, call, leaving.signal).then(
          (result) => end({ index: place, call, result }),
          (error: BulkheadError) => end({ index: place, call, error }),
        );
      }
      if (running > 0 && ended.length === 0) await woken();
    }
  } finally {
    leaving.abort();
    await source.return?.();
    while (running > 0) await woken();
  }
}

async function start(runtime: Caller, call: ManyCall, leaving: AbortSignal): Promise<ToolResult> {
  const own = call.options?.signal;
  const signal = own === undefined ? leaving : AbortSignal.any([leaving, own]);
  const options = { ...call.options, signal };
  if ('fullName' in call) return runtime.callTool(call.fullName, call.args, options);
  return runtime.server(call.server).callTool(call.tool, call.args, options);
}
