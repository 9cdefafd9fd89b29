import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { runBalancerConformance } from '../../src/conformance/balancer/run.ts';
import { BALANCER_STEPS } from '../../src/conformance/balancer/steps.ts';
import type { EngineFaultRule } from '../../emulators/anexia/api.ts';
import { startAnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import { engineDriver } from '../support/engine-driver.ts';

/** The driver test's waits are short here; the emulator keeps its own time. */
const clock: Clock = {
  ...systemClock,
  setTimeout: (task, delayMs) => systemClock.setTimeout(task, delayMs / 50),
};
const STEPS = BALANCER_STEPS.filter(({ id }) =>
  ['nothing', 'creation', 'destruction'].includes(id),
);

let fake: Awaited<ReturnType<typeof startAnexiaEmulator>>;
beforeAll(async () => {
  fake = await startAnexiaEmulator({ listen: { host: '127.0.0.1', port: 0 } });
});
afterAll(() => fake.close());

let runs = 0;
/** @param end receives the number of requests so far, and returns true to end the run. */
async function run(
  faults: readonly EngineFaultRule[],
  end: (requests: number) => boolean = () => false,
) {
  const suffix = `own-${(runs += 1)}.test`;
  fake.clearFaults();
  for (const fault of faults) fake.addFault(fault);
  const balancer = engineDriver(fake, { clock, random: systemRandom });
  const poolOf = (pool: string) => ({ pool, uid: `uid-${pool}`, suffix: `${pool}.test` });
  const stopping = new AbortController();
  const toldLeft: (readonly string[])[] = [];
  const since = fake.requests().at(-1)?.seq ?? 0;
  let isOver = false;
  const running = runBalancerConformance(
    {
      ...{ balancer, clock, readyMs: 60_000, bind: { address: '192.0.2.10', number: 80 } },
      ...{ owner: poolOf(`own-${runs}`), stranger: poolOf(`other-${runs}`) },
    },
    {
      ...{ name: 'edge', driver: 'anexia', steps: STEPS, timeoutMs: 600_000 },
      signal: stopping.signal,
      onLeft: (names) => toldLeft.push(names),
    },
  ).finally(() => (isOver = true));
  while (!isOver && !end(fake.requests(since).length)) await new Promise(setImmediate);
  stopping.abort();
  const report = await running;
  const left = () => fake.objects().filter(({ name }) => name.endsWith(suffix));
  return { report, left, toldLeft, requests: fake.requests(since).length, suffix };
}

const SLOW: EngineFaultRule = { effect: { type: 'latency', ms: 4 } };

test('leaves nothing of the test, marked or not, when ended at any request', async () => {
  const whole = await run([SLOW]);
  expect(whole.report).toMatchObject({ passed: true, leftBehind: [], cleanUpErrors: [] });
  expect(whole.left()).toEqual([]);
  let madeSome = 0;
  for (let at = 2; at < whole.requests; at += 4) {
    const { report, left, toldLeft } = await run([SLOW], (requests) => requests >= at);
    expect(report, `at request ${at}`).toMatchObject({ leftBehind: [], cleanUpErrors: [] });
    expect(left(), `at request ${at}`).toEqual([]);
    if (toldLeft.length > 1) madeSome += 1;
  }
  expect(madeSome, 'there was something to remove').toBeGreaterThan(3);
});

test('repeats removals that fail, or that a child blocks', async () => {
  const destroying = { method: 'DELETE', route: '/api/LBaaS/v1/server.json/{id}' };
  const { report, left } = await run(
    [
      { match: destroying, times: 2, effect: { type: 'status', code: 500 } },
      // Only the clean-up may find them.
      { match: { method: 'POST', kind: 'bind' }, effect: { type: 'status', code: 422 } },
    ],
    () => false,
  );
  expect(report.steps.map(({ outcome }) => outcome)).toEqual(['passed', 'failed', 'not-run']);
  expect(report).toMatchObject({ leftBehind: [], cleanUpErrors: [] });
  expect(left()).toEqual([]);
});

test('names what cannot be removed, and removes everything else', async () => {
  const { report, left, suffix, toldLeft } = await run([
    { match: { method: 'DELETE', kind: 'backend' }, effect: { type: 'status', code: 500 } },
    { match: { method: 'POST', kind: 'bind' }, effect: { type: 'status', code: 422 } },
  ]);
  expect(report.leftBehind).toEqual([`backend probe.${suffix}`]);
  expect(report.cleanUpErrors).toHaveLength(1);
  expect(left().map(({ name }) => name)).toEqual([`probe.${suffix}`]);
  expect(toldLeft.at(-1)).toEqual(report.leftBehind);
});
