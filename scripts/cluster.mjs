#!/usr/bin/env node
/**
 * `npm run test:cluster`: 100 000 calls over three workers, of which one is killed and one frozen for 20 s; the submitter is
 * killed too, and Redis killed and restarted, all in mid-run. `--calls N`, `--workers N`; `--seed S` repeats what a run drew;
 * `--redis term` ends Redis with SIGTERM in place of SIGKILL. Redis has `appendfsync everysec`: a killed process loses
 * nothing that it had confirmed, a crashed machine may lose two seconds (docs/scale.md). The last line is
 * `N passed, N failed`.
 */
import { runNode } from './tool.mjs';

const strict = '--unhandled-rejections=strict';
if (!runNode([strict, 'test/cluster/hard/run.mjs', ...process.argv.slice(2)])) process.exitCode = 1;
