import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { CHART_IDS } from '../../../src/console/charts/layout.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { explanationOf } from '../../../src/domain/explanation/explanation.ts';
import { explained, moment, silentRow } from '../../domain/explanation/stand.ts';
import { hold, NOW_MS, slotFacts } from '../../support/facts.ts';
import { SCRIPTED_INSIGHT } from '../page/page-scene.ts';
import { daemon, daemonsView, loop, OTHER } from '../daemons-script.ts';
import { AT_MS, machine, member, pool, scriptedFleet, WATCHING } from '../scripted-fleet.ts';
import { guardInsight } from '../scripted-guard.ts';
import { PLAN } from '../scripted-plan.ts';
import { providersView, troubled } from '../scripted-providers.ts';
import { askApi, openConsole } from './console-stand.ts';

const ID = '33333333-3333-4333-8333-333333333333';
const failure = { count: 4, lastAtMs: AT_MS - 2_000.5, cause: 'the provider does not answer' };

/** A fleet with something in every field, and with fractional times. */
function everything() {
  const running = { state: 'Running', substate: 'healthy' } as const;
  const others = ['b', 'd', 'e'].map((id) => machine(id));
  const fleet = scriptedFleet(
    ...[machine('a', { machineId: ID }), ...others, machine('c', running)],
  );
  const frozen = {
    ...({ scope: 'equinix', state: 'frozen', sinceMs: AT_MS - 60_000, reason: '6 of 10' } as const),
    ...{ started: 10, silent: 6, ends: 'It ends by itself.', endsAtMs: AT_MS + 300_000 },
  };
  const uncounted = { ...WATCHING.scopes[0]!, scope: 'metal' };
  fleet.guard({ state: 'frozen', scopes: [...WATCHING.scopes, frozen, uncounted] });
  fleet.unlist([{ provider: 'metal', sinceMs: AT_MS - 60_000, cause: 'no answer' }]);
  fleet.pool(pool({ members: [member('a', { sinceMs: AT_MS - 0.4 })] }), pool({ pool: 'web' }));
  const ended = daemon({
    ...{ sessionId: OTHER, deadlineAtMs: null, endedAtMs: AT_MS - 9.5 },
    ...{ component: 'lb', runtimeInfo: 'ann has pool api forgotten: moved' },
    about: { version: null, schema: null, roles: null, consoleUrl: null, logLevel: null },
  });
  const work = [{ process: 'ShepherdRecovery', machines: 3 }];
  const loops = [
    loop(),
    loop({ name: 'listing rack', lastSuccessAtMs: AT_MS - 15_001, failure }),
    loop({ name: 'listing lab', lastSuccessAtMs: null, failure }),
    loop({ name: 'fresh', lastSuccessAtMs: null }),
    loop({ name: 'slow', periodMs: 60_000, lastSuccessAtMs: AT_MS - 170_000 }),
    loop({ name: 'provisioner rack', job: 'provisioner/rack', lastSuccessAtMs: AT_MS - 90_000 }),
    loop({ name: 'provisioner lab', job: 'provisioner/lab', lastSuccessAtMs: AT_MS - 90_000 }),
  ];
  const sample = { silent: 1, heartbeats: 10, recoveries: 0, counts: { Running: 3, Reserved: 0 } };
  const later = { silent: 0, heartbeats: 9, recoveries: 1, counts: { Running: 2, Recovering: 1 } };
  const holds = [hold('no-recover', NOW_MS + 60_000.5)];
  return openConsole({
    fleet: {
      ...fleet,
      facts: () => slotFacts({ holds: [hold('no-recover', null)] }),
      budget: () => [
        { scope: 'fleet', permits: 1, budget: 2 },
        { scope: 'provider equinix', permits: 1, budget: 1 },
      ],
    },
    insight: {
      ...SCRIPTED_INSIGHT,
      explain: async () => explanationOf(explained({ row: silentRow, holds }), moment),
    },
    providers: providersView(troubled()),
    guard: guardInsight(),
    plan: () => PLAN,
    daemons: daemonsView([daemon({ work }), ended], loops),
    series: {
      stepMs: 10_000,
      samples: () => [
        { ...sample, atMs: AT_MS + 0.4 },
        { ...later, atMs: AT_MS + 10_000 },
      ],
    },
    mayEraseDisks: ['equinix'],
  });
}

test('V13: A1: returns the daemon’s data in the API, with whole times and only promised fields', async () => {
  const console = await everything();
  const machinePart = (part: string) => `machines/equinix/a/${part}`;
  const paths = [
    ...['fleet', 'guard', 'plan', 'series', 'pools', 'pools/web', 'sessions', 'loops', 'whoami'],
    ...['providers', 'providers/equinix', 'providers/equinix/holds', 'providers/equinix/slots'],
    ...['explanation', 'live', 'holds', 'ladder', 'hardware'].map(machinePart),
    'machines/equinix/b/hardware',
  ];
  let told = '';
  for (const path of paths) {
    const { status, body } = await askApi<object>(console, path);
    told += `${path} ${status}\n${JSON.stringify(body, null, 2)}\n\n`;
  }
  await expect(told).toMatchFileSnapshot('golden/answers.txt');
  // Known only to the daemon and its driver: with it, a creation could be claimed.
  expect(told).not.toContain('22222222-0000');
});

test('V17: serves every chart', async () => {
  const console = await openConsole();
  for (const id of CHART_IDS) {
    const { status, body } = await askApi<{ id: string }>(console, `charts/${id}`);
    expect([status, body.id]).toEqual([200, id]);
  }
});

test('sessions: shares one database look-up among many readers, and repeats a failed one', async () => {
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

test('walks through everything once in five seconds, however many readers', async () => {
  let looks = 0;
  const plan = () => {
    looks += 1;
    return PLAN;
  };
  const console = await openConsole({ plan });
  await Promise.all([1, 2, 3].map(() => askApi(console, 'plan')));
  expect(looks).toBe(1);
});
