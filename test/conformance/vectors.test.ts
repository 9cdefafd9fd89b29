import { expect, test } from 'vitest';
import { badIn, outcomes, resultOf, runTest, STUB, stubWith } from './stand.ts';
import { createSimulatedClock, runOut } from '../doubles/simulated-clock.ts';

/** The starred vectors, as the suite sees them; it does the same with a live provider. */
const passes = async (only: readonly string[], section: object = {}) => {
  const { exitCode, report } = await runTest({ ...STUB, ...section }, { only });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  return report;
};

test('provider vector 2: a created machine is in the next listing, its tags complete', async () => {
  const report = await passes(['listed', 'tags']);
  expect(resultOf(report, 'create').message).toMatch(/^[0-9a-f-]{36} on [0-9a-f-]{36}$/);
});

test('provider vector 16: a new instance of the driver sees the tags that were set', async () => {
  const report = await passes(['tag-changes']);
  expect(resultOf(report, 'tag-changes').message).toBe('1 tags of others intact');
});

test('provider vector 18: the right secret lets commands run, a wrong one none', async () => {
  const right = await passes(['command']);
  expect(outcomes(right)).toMatchObject({ 'host-key': 'passed', boot: 'passed' });
  const faults = [{ fault: 'secret-wrong' }];
  const { report } = await runTest({ ...STUB, faults }, { command: 'true' });
  expect(resultOf(report, 'host-key')).toMatchObject({
    outcome: 'failed',
    message: 'no proof: bad instance secret',
  });
  expect(outcomes(report)).toMatchObject({ boot: 'not-run', command: 'not-run' });
});

test('provider vector 20: a reboot that is ignored is forced', async () => {
  const graceful = await passes(['reboot']);
  expect(resultOf(graceful, 'reboot').message).toMatch(/^graceful, /);
  const forced = await passes(['reboot'], { faults: [{ fault: 'reboot-ignored', calls: [1] }] });
  expect(resultOf(forced, 'reboot').message).toMatch(/^force, /);
});

test('provider vector 21: a reinstallation is refused, or keeps the id and changes the key', async () => {
  await passes(['reinstall']);
  let installations = 0;
  const { report } = await runTest(
    { ...STUB, without: ['hostKey', 'reinstall'] },
    { only: ['reinstall'] },
    {
      drivers: stubWith((provider) => ({
        reinstallMachine: (...args) => {
          installations += 1;
          return provider.reinstallMachine(...args);
        },
      })),
    },
  );
  expect(resultOf(report, 'reinstall').message).toBe('not supported, and refuses so: reinstall');
  expect(installations, 'asked for once, of a machine that does not exist').toBe(1);
});

test('provider vector 22: a destruction is asked for again while the machine is listed', async () => {
  await passes(['destroy-again']);
  const faults = [{ fault: 'destroy-listed', operation: 'destroy', calls: [1, 2], amount: 40 }];
  const clock = createSimulatedClock();
  const running = runTest(
    { ...STUB, ssh: false, faults },
    { only: ['destroy-again'], timeoutMs: 3_600_000 },
    { clock, patience: { syncMs: 1_000, destroyMs: 600_000, callMs: 60_000, cleanUpMs: 60_000 } },
  );
  const { report } = await runOut(clock, running);
  expect(badIn(report)).toEqual([]);
  // 40 listings take some 40 s: again after 10 s, and after 30 s.
  expect(resultOf(report, 'destroy').message).toBe('asked 2 times more');
});

test('provider vector 25: a stop ends a creation in time, and refuses what comes later', async () => {
  const report = await passes(['stop', 'reusable']);
  expect(resultOf(report, 'stop').message).toBe('a creation was under way');
  const drivers = stubWith((provider) => ({
    createMachine: async (request, o) => {
      if (calls === 0) {
        calls += 1;
        return provider.createMachine(request, o);
      }
      await request.onAttempt({ attempts: 1, ambiguous: false });
      return new Promise(() => undefined);
    },
  }));
  let calls = 0;
  const stuck = await runTest(STUB, { only: ['stop', 'reusable'] }, { drivers });
  expect(resultOf(stuck.report, 'stop')).toMatchObject({
    outcome: 'failed',
    message: 'a creation did not end within 500ms',
  });
});
