import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PATIENCE, TEST_LIMIT_MS } from './test/support/patience.ts';
import { filesByProject } from './test/support/projects.ts';

const files = filesByProject();

/** Files that take half a minute, mostly of waiting: started last, they would run on alone. */
const SLOW = [
  'actors/balancing/haproxy-vectors',
  'actors/balancing/killed-haproxy',
  'adapters/bmdb/pg/contract-',
  'adapters/bmdb/pg/locked-rows',
  'adapters/bmdb/embedded/',
  'adapters/balancer/haproxy/',
  'conformance/broken-drivers',
  'console/page/accessible',
  'e2e/',
  'machine/',
  'packages/',
  'faults/sim-providers',
  'bench/bench',
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const slow = (file: TestSpecification) =>
      SLOW.some((name) => file.moduleId.includes(`/test/${name}`));
    return [...sorted.filter(slow), ...sorted.filter((file) => !slow(file))];
  }
}

export default defineConfig({
  test: {
    // What the emulator of Equinix Metal and the console say is judged wherever a test talks to them.
    globalSetup: [
      'test/support/seeds.ts',
      'test/support/compile-cache.ts',
      'test/support/built-page.ts',
      'test/support/reaped.ts',
      'test/support/shared-postgres.ts',
    ],
    setupFiles: [
      'test/support/each-file.ts',
      'test/published/setup.ts',
      'test/published/console/setup.ts',
    ],
    pool: 'forks',
    // Files keep no state in modules, and put back what they change of their process: they share workers, and
    // what they import is loaded once.
    isolate: false,
    restoreMocks: true,
    sequence: { sequencer: SlowFirst },
    // Some tests wait for databases and machines: more workers than cores. Each loads all modules once.
    maxWorkers: Math.max(4, 2 * availableParallelism()),
    expect: { poll: PATIENCE },
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    teardownTimeout: 20_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'virtual',
          include: [...files.virtual],
          setupFiles: ['test/support/no-world.ts'],
        },
      },
      { extends: true, test: { name: 'real', include: [...files.real] } },
      { extends: true, test: { name: 'night', include: [...files.night], isolate: true } },
      { extends: true, test: { name: 'long', include: [...files.long], isolate: true } },
    ],
  },
});
