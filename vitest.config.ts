import { configDefaults, defineConfig } from 'vitest/config';

const LONG = 'test/**/*.long.test.ts';
const isLong = process.env.BULKHEAD_TESTS === 'long';

// Two cores: at most two files at once. Process tests wait for events; the limit is a net, not a clock.
export default defineConfig({
  test: {
    include: [isLong ? LONG : 'test/**/*.test.ts'],
    exclude: isLong ? configDefaults.exclude : [...configDefaults.exclude, LONG],
    setupFiles: ['test/support/homes.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
