import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { PATIENCE, TEST_LIMIT_MS } from './test/support/patience.ts';

const ALL = 'test/**/*.test.ts';
/**
 * Rooms that keep no state in modules and change nothing of their process, or put it back: their
 * files share workers, and what they import is loaded once.
 */
const PURE = [
  'test/{actors,commands,config,conformance,daemon,domain,machines,model,settings,wire}/**/*.test.ts',
  'test/adapters/{balancer,bmdb,inspector,log,metrics,provider,webhooks}/**/*.test.ts',
  'test/console/{access,api,index,stream}/**/*.test.ts',
  'test/console/*.test.ts',
  'test/simulator/{fakefish,fakelatitude,fakengine,fakequinix,fakerobot,hosts}/**/*.test.ts',
  'test/adapters/{agents,http,kit,ssh}/**/*.test.ts',
];
/** Fleets that are watched or struck for a while, and the benches: `npm run test:faults`. */
const LONG = [
  'test/{bench,faults}/**/*.test.ts',
  'test/actors/crash-isolation.test.ts',
  'test/adapters/bmdb/differential.test.ts',
  'test/e2e/{crash,machine-commands,recovery,scenarios,sim-killed}.test.ts',
];

/** Files that take half a minute, mostly of waiting: started last, they would run on alone. */
const SLOW = [
  'actors/balancing/haproxy-vectors',
  'adapters/bmdb/pg/contract-',
  'adapters/bmdb/pg/locked-rows',
  'adapters/bmdb/embedded/',
  'adapters/balancer/haproxy/',
  'clients/packngo',
  'conformance/broken-drivers',
  'console/page/accessible',
  'e2e/',
  'faults/killed-creating',
  'faults/sim-providers',
  'faults/three-daemons',
  'faults/balanced/killed',
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
      'test/support/compile-cache.ts',
      'test/support/built-page.ts',
      'test/support/reaped.ts',
      'test/published/tally.ts',
      'test/support/shared-postgres.ts',
    ],
    setupFiles: ['test/published/setup.ts', 'test/published/console/setup.ts'],
    pool: 'forks',
    sequence: { sequencer: SlowFirst },
    // Most tests wait for databases and machines more than they compute: more workers than cores.
    maxWorkers: Math.max(4, 3 * availableParallelism()),
    expect: { poll: PATIENCE },
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: TEST_LIMIT_MS,
    teardownTimeout: 20_000,
    projects: [
      { extends: true, test: { name: 'tests', include: [ALL], exclude: [...PURE, ...LONG] } },
      {
        extends: true,
        test: { name: 'pure', include: PURE, exclude: LONG, isolate: false, restoreMocks: true },
      },
      { extends: true, test: { name: 'faults', include: LONG } },
    ],
  },
});
