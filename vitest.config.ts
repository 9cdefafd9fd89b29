import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // What the emulator of Equinix Metal says is judged wherever a test talks to it.
    globalSetup: ['test/published/tally.ts', 'test/support/shared-postgres.ts'],
    setupFiles: ['test/published/setup.ts'],
    pool: 'forks',
    // Most tests wait for databases and machines more than they compute.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 25_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
  },
});
