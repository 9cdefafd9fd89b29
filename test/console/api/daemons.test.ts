import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { daemon, daemonsView, loop, OTHER, SELF } from '../daemons-script.ts';
import { AT_MS } from '../scripted-fleet.ts';
import { askApi, openConsole } from './console-stand.ts';

interface Told {
  readonly sessions: readonly Record<string, unknown>[];
  readonly loops: readonly Record<string, unknown>[];
}

test('sessions: who is alive and who ended, in whole milliseconds; which of them answers', async () => {
  const work = [{ process: 'ShepherdRecovery', machines: 3 }];
  const ended = daemon({
    ...{ sessionId: OTHER, deadlineAtMs: null, endedAtMs: AT_MS - 9.5 },
    ...{ component: 'lb', runtimeInfo: 'ann has pool api forgotten: moved' },
    about: { version: null, schema: null, roles: null, consoleUrl: null, logLevel: null },
  });
  const shown = await openConsole({ daemons: daemonsView([daemon({ work }), ended]) });
  const { status, body } = await askApi<Told>(shown, 'sessions');
  expect(status).toBe(200);
  expect(body.sessions).toEqual([
    {
      ...{ sessionId: SELF, isSelf: true, component: 'shepherd', host: 'rack1' },
      ...{ runtimeInfo: 'host rack1', version: '9.9.9', schema: '20251101000890_daemons' },
      ...{ startedAtMs: AT_MS - 3_600_000, deadlineAtMs: AT_MS + 50_000, endedAtMs: null },
      ...{ roles: ['loops', 'console'], consoleUrl: 'http://127.0.0.1:4243/', logLevel: 'info' },
      work,
    },
    expect.objectContaining({
      ...{ sessionId: OTHER, isSelf: false, host: null, deadlineAtMs: null, version: null },
      ...{ runtimeInfo: 'ann has pool api forgotten: moved', endedAtMs: AT_MS - 9 },
    }),
  ]);
});

test('sessions: many readers are one look at the database; a look that failed is tried again', async () => {
  let looks = 0;
  let aheadMs = 0;
  let isAway = false;
  const view = daemonsView([daemon()]);
  const shown = await openConsole({
    clock: { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs },
    daemons: {
      ...view,
      sessions: async (signal) => {
        looks += 1;
        if (isAway) throw new Unreachable('the database is away');
        return view.sessions(signal);
      },
    },
  });
  await Promise.all(Array.from({ length: 20 }, () => askApi(shown, 'sessions')));
  expect(looks).toBe(1);
  aheadMs += 3_000;
  isAway = true;
  const { status, body } = await askApi<{ code: string }>(shown, 'sessions');
  expect([status, body.code, looks]).toEqual([503, 'unavailable', 2]);
  isAway = false;
  expect([(await askApi(shown, 'sessions')).status, looks]).toEqual([200, 3]);
});

test('loops: late are those that should have succeeded here, and did not', async () => {
  const failure = { count: 4, lastAtMs: AT_MS - 2_000.5, cause: 'the provider does not answer' };
  const loops = [
    loop(),
    loop({ name: 'listing rack', lastSuccessAtMs: AT_MS - 15_001, failure }),
    loop({ name: 'listing lab', lastSuccessAtMs: null, failure }),
    loop({ name: 'fresh', lastSuccessAtMs: null }),
    loop({ name: 'slow', periodMs: 60_000, lastSuccessAtMs: AT_MS - 170_000 }),
    loop({ name: 'provisioner rack', job: 'provisioner/rack', lastSuccessAtMs: AT_MS - 90_000 }),
    loop({ name: 'provisioner lab', job: 'provisioner/lab', lastSuccessAtMs: AT_MS - 90_000 }),
  ];
  const { body } = await askApi<Told>(
    await openConsole({ daemons: daemonsView([], loops) }),
    'loops',
  );
  expect(body.loops.map(({ name, isLate, doneBy }) => [name, isLate, doneBy])).toEqual([
    ['rows', false, null],
    ['listing rack', true, null],
    ['listing lab', true, null],
    ['fresh', false, null],
    ['slow', false, null],
    ['provisioner rack', false, OTHER],
    ['provisioner lab', true, null],
  ]);
  expect(body.loops[1]).toMatchObject({ failure: { ...failure, lastAtMs: AT_MS - 2_000 } });
});
