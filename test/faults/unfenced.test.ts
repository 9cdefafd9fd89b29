import { setTimeout } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { testSeed } from '../support/seeds.ts';
import { figuresOf } from './figures.ts';
import { judge } from './oracle.ts';
import { HURRY } from './pace.ts';
import { ALL_WELL, calm, gather, samplesOf, setStage, trace } from './stage.ts';
import type { FaultStage } from './stage.ts';

/**
 * What holds when nothing else does: one daemon fences nothing itself, and all COMMITs are late. So
 * only the database's checks and the budget keep machines apart.
 */
const DAEMONS = 3;
const UNFENCED = 0;
const MACHINES = 48;
/** How often all agents end at once. */
const WAVES = 2;
/** Shorter than any wait for a lock. */
const COMMIT_DELAY_MS = 300;
const SEED = testSeed();

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test('writes nothing from a daemon that continues after its session has ended, with late COMMITs', async () => {
  const begunAtMs = performance.now();
  const random = createSeededRandom(SEED);
  const stage = await setStage({
    random,
    daemons: DAEMONS,
    machines: MACHINES,
    unfenced: UNFENCED,
    cleanups,
  });
  const { proxies, workers, world } = stage;
  for (const proxy of proxies) proxy.delayCommits(COMMIT_DELAY_MS);
  for (const place of proxies.keys()) workers.start(place);

  const first = await calm(stage);
  const waves = [];
  for (let wave = 0; wave < WAVES; wave += 1) {
    trace('wave');
    world.silenceAll();
    await untilLost(stage);
    waves.push(await calm(stage));
  }
  await workers.stop();

  const evidence = await gather(stage);
  const figures = figuresOf(stage, evidence);
  const tookMs = Math.round(performance.now() - begunAtMs);
  const calmMs = [first, ...waves].map((each) => each.calmMs);
  console.log(JSON.stringify({ ...figures, calmMs, tookMs }));
  expect(workers.surprises).toEqual([]);
  expect(figures.crashes).toEqual([]);
  const violations = judge(evidence);
  expect(samplesOf(violations), `${violations.length} violations`).toEqual({});
  for (const { left } of [first, ...waves]) expect(left).toEqual(ALL_WELL);
  const { 'session-expired': refused } = figures.claims;
  const { commitDelayed } = figures.fired;
  for (const [what, count] of Object.entries({ ...figures.must, refused, commitDelayed })) {
    expect(count, `${what} must have happened`).toBeGreaterThan(0);
  }
}, 2_400_000);

/** Waits until all started machines are lost. */
const untilLost = (_: FaultStage) => setTimeout(HURRY.loss.heartbeatMs + HURRY.loss.periodMs);
