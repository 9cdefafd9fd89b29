import { afterEach, expect, test } from 'vitest';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { testSeed } from '../support/seeds.ts';
import { wreakHavoc } from './chaos.ts';
import { figuresOf } from './figures.ts';
import { judge } from './oracle.ts';
import { ALL_WELL, calm, gather, samplesOf, setStage, trace } from './stage.ts';

const DAEMONS = 4;
const MACHINES = 500;
const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 60);
const SEED = testSeed();

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('never shares, loses or locks a machine while four daemons are killed and cut off', async () => {
  const begunAtMs = performance.now();
  const stage = await setStage({
    random: createSeededRandom(SEED),
    daemons: DAEMONS,
    machines: MACHINES,
    cleanups,
  });
  const { world, workers, proxies, postgres, random } = stage;
  for (let place = 0; place < DAEMONS; place += 1) workers.start(place);

  trace('havoc');
  const options = { random, durationMs: SECONDS * 1_000, workers, world, proxies, postgres };
  const faults = await wreakHavoc(options);
  trace('calm');
  const { calmMs, left } = await calm(stage);
  trace('stop');
  await workers.stop();
  trace('judge');

  const evidence = await gather(stage);
  const figures = figuresOf(stage, evidence);
  const tookMs = Math.round(performance.now() - begunAtMs);
  console.log(JSON.stringify({ ...figures, faults, calmMs, tookMs }));
  expect(workers.surprises).toEqual([]);
  expect(figures.crashes).toEqual([]);
  const violations = judge(evidence);
  trace('judged');
  expect(samplesOf(violations), `${violations.length} violations`).toEqual({});
  expect(left, 'all is well again in time').toEqual(ALL_WELL);
  for (const [what, count] of Object.entries({ ...faults, ...figures.fired, ...figures.must })) {
    expect(count, `${what} must have happened`).toBeGreaterThan(0);
  }
}, 2_400_000);
