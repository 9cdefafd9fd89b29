import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openConsole } from '../../console/api/console-stand.ts';
import { member, pool, scriptedFleet } from '../../console/scripted-fleet.ts';
import { openHttpDoor } from '../../../src/commands/remote/client.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { scriptedDoor } from '../run-through.ts';
import { testRows } from '../../support/rows.ts';
import { API_CLOUD, API_EDGE, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(async () => {
  s = await poolStand();
});
afterEach(() => s.close());

const MINUTE = 60_000;
const status = async (...args: string[]) => {
  const { stdout, ...rest } = await s.run(['lb', 'status', ...args]);
  expect(rest).toEqual({ code: 0, stderr: '' });
  return stdout;
};
/** The text is what the file of this name holds, and fits into 80 columns. */
async function golden(name: string, text: string) {
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  await expect(`${text.trimEnd()}\n`).toMatchFileSnapshot(`golden/${name}.txt`);
}

describe('status', () => {
  test('tells a pool that nobody tended yet', async () => {
    await golden('status-untended', await status());
  });

  test('tells members with state and note', async () => {
    for (const at of [1, 2]) s.add(at);
    const tending = await s.tend();
    await tending.note('edge', { state: 'settled', settled: true });
    for (const to of ['joining', 'active'] as const) {
      for (const at of [1, 2]) await tending.write('edge', { to }, at);
    }
    const note = 'a reboot was asked for by eva';
    await tending.write('edge', { to: 'draining', graceMs: 30_000, sessions: 7, note }, 2);
    await advance(s.clock, 5 * MINUTE);
    await golden('status', await status());
  });

  test('says what is frozen, paused, torn down or tried later, and why', async () => {
    const { note } = await s.tend();
    const frozen = { reason: '2 of 3 active members would be dropped', snapshot: 'a b' };
    await note('edge', {
      ...{ state: 'failed', reason: 'edge refused it: configuration is broken' },
      ...{ retryInMs: 3 * MINUTE, frozen },
    });
    await s.ask('pause-pool');
    await s.ask('teardown-pool');
    await golden('status-held', await status('api'));
  });

  test('has the health that the daemon sees', async () => {
    const fleet = scriptedFleet();
    fleet.pool(pool({ members: [member('a')] }), pool({ pool: 'old', isConfigured: false }));
    const { url } = await openConsole({ fleet });
    const door = openHttpDoor({ url, token: null, version: '0.0.0', advice: '' });
    const told = await s.run(['lb', 'status', 'api'], { door });
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(told.stdout).toMatch(/^ {4}equinix\/a +active +\S+ +up +3$/m);
    expect(told.stdout).not.toContain('old');
    const json = JSON.parse((await s.run(['lb', 'status', '--json'], { door })).stdout);
    expect(json.pools).toMatchObject([{ pool: 'api' }, { pool: 'old', isConfigured: false }]);
  });

  const HTTP = { address: '192.0.2.1', ports: [80, 443] };
  testRows([
    [[HTTP], [{ ...HTTP, ports: [80] }], 'api is found at 192.0.2.1 (80)'],
    [[HTTP], [], 'api is found at no address that all of its balancers have'],
    [[HTTP], null, null],
    [[], [], null],
  ])('vector 26: of %j and %j it tells %s', async (one, other, expected) => {
    const fleet = scriptedFleet();
    fleet.pool(pool({ addresses: one }), pool({ balancer: 'cloud', addresses: other }));
    const { url } = await openConsole({ fleet });
    const door = openHttpDoor({ url, token: null, version: '0.0.0', advice: '' });
    const { stdout } = await s.run(['lb', 'status'], { door });
    expect(/^api is found .*$/m.exec(stdout)?.[0] ?? null).toBe(expected);
  });

  test('a console that does not know all machines yet is asked again, and not believed', async () => {
    const web = await openConsole({ fleet: { ...scriptedFleet(), isWhole: () => false } });
    for (const path of ['pools', 'pools/api']) {
      const answer = await fetch(`${web.url}api/v1/${path}`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    }
  });

  test('of a pool that there is not is a mistake', async () => {
    for (const what of ['status', 'plan']) {
      expect(await s.run(['lb', what, 'none'])).toMatchObject({
        ...{ code: 1, stdout: '', stderr: 'shepherd: no pool is named none; there is api\n' },
      });
    }
  });
});

test('a plan tells what the daemon that tends a pool would do', async () => {
  const plan = {
    ...{ failure: null, held: null, stage: 'frozen', actions: [], moves: [], unready: 2 },
    pending: { create: 3, update: 0, destroy: 0 },
    ...{ shelved: ['x.api.eu'], isComplete: false, dropping: ['m-7'], panic: ['metal/slot-1'] },
    leftOut: [{ machineId: 'm-9', why: 'it has no address' }],
  };
  const creating = {
    ...{
      ...plan,
      stage: 'creating',
      dropping: [],
      panic: [],
      shelved: [],
      leftOut: [],
      unready: 0,
    },
    actions: [{ act: 'create', kind: 'backend', name: 'http.api.eu', id: null, why: null }],
    moves: [
      { member: 'metal/slot-3', from: null, to: 'joining', why: null },
      { member: 'metal/slot-1', from: 'active', to: null, why: 'not before another is active' },
    ],
  };
  const about = { heldBy: null, isSelf: false, seenAtMs: 1 };
  const unread = { ...plan, stage: null, failure: 'cloud does not answer' };
  const pools = [
    { ...API_EDGE, ...about, plan },
    { ...API_CLOUD, ...about, plan: null },
    { pool: 'web', balancer: 'edge', ...about, plan: creating },
    { pool: 'web', balancer: 'cloud', ...about, plan: unread },
  ];
  const text = JSON.stringify({ atMs: 1, pools });
  const door = scriptedDoor(async () => ({ status: 200, headers: {}, text }));
  const { code, stdout } = await s.run(['lb', 'plan'], { door });
  expect(code, 'one balancer cannot be read').toBe(1);
  await golden('plan-of-console', stdout);
});
