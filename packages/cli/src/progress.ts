/** How far a batch is, on stderr: a bar that redraws itself on a terminal, a line now and then elsewhere. */
import type { BatchProgress } from '@bulkhead/runtime';
import type { Output } from './output.js';

export const progressKinds = ['auto', 'bar', 'plain', 'ndjson', 'none'] as const;
export type ProgressKind = (typeof progressKinds)[number];

export interface Progress {
  show(progress: BatchProgress): void;
  end(): void;
}

/** Time between two plain lines. */
const PLAIN_EVERY_MS = 5_000;
/** Time between two lines for a program. */
const NDJSON_EVERY_MS = 1_000;

/**
 * `totalBytes` is the size of the input where it is known: only then is a share of it shown. `sharesTerminal` says that
 * the results go to the terminal too, where they would tear a bar apart.
 */
export async function createProgress(
  kind: ProgressKind,
  output: Output,
  { totalBytes, sharesTerminal }: { totalBytes: number | undefined; sharesTerminal: boolean },
): Promise<Progress> {
  const fit = output.stderr.isTTY === true && !sharesTerminal ? 'bar' : 'plain';
  const chosen = kind === 'auto' ? fit : kind;
  switch (chosen) {
    case 'none':
      return { show: () => {}, end: () => {} };
    case 'plain':
      return plainLines(output, totalBytes);
    case 'ndjson':
      return jsonLines(output, totalBytes);
    case 'bar':
      return bar(output, totalBytes);
  }
}

function plainLines(output: Output, totalBytes: number | undefined): Progress {
  let last = performance.now();
  return {
    show: (progress) => {
      if (performance.now() - last < PLAIN_EVERY_MS) return;
      last = performance.now();
      output.note(`${share(progress, totalBytes)}${sentence(progress)}`);
    },
    end: () => {},
  };
}

/** `{"progress": …}`, the last one at the end. */
function jsonLines(output: Output, totalBytes: number | undefined): Progress {
  let last = performance.now();
  let untold: BatchProgress | undefined;
  const tell = (): void => {
    if (untold !== undefined) output.report(JSON.stringify({ progress: { ...untold, totalBytes } }));
    untold = undefined;
  };
  return {
    show: (progress) => {
      untold = progress;
      if (performance.now() - last < NDJSON_EVERY_MS) return;
      last = performance.now();
      tell();
    },
    end: tell,
  };
}

async function bar(output: Output, totalBytes: number | undefined): Promise<Progress> {
  const { SingleBar } = (await import('cli-progress')).default;
  const drawn = new SingleBar({
    stream: output.stderr as NodeJS.WriteStream,
    format: totalBytes === undefined ? '{sentence}' : '{bar} {percentage}% | {sentence}',
    barCompleteChar: '#',
    barIncompleteChar: '-',
    barsize: 24,
    etaBuffer: 100,
    clearOnComplete: true,
    // Signals belong to the command, and a cursor hidden by a killed program stays hidden.
    gracefulExit: false,
    hideCursor: false,
    noTTYOutput: true,
  });
  drawn.start(totalBytes ?? 1, 0, { sentence: 'starting' });
  return {
    show: (progress) =>
      drawn.update(totalBytes === undefined ? 0 : Math.min(progress.doneBytes, totalBytes), {
        sentence: sentence(progress),
      }),
    end: () => drawn.stop(),
  };
}

function share({ doneBytes }: BatchProgress, totalBytes: number | undefined): string {
  return totalBytes === undefined || totalBytes === 0
    ? ''
    : `${Math.min(100, Math.floor((doneBytes / totalBytes) * 100))}%: `;
}

function sentence({ done, failed, inFlight, waiting }: BatchProgress): string {
  return `${done} done, ${failed} not ok, ${inFlight} in flight, ${waiting} waiting`;
}
