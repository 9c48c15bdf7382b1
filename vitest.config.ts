import { defineConfig } from 'vitest/config';

// Two cores: at most two files at once. Process tests wait for events; the limit is a net, not a clock.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/homes.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
