import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openConsole } from '../../console/api/console-stand.ts';
import { member, pool, scriptedFleet } from '../../console/scripted-fleet.ts';
import { createHttpTransport } from '../../../src/commands/remote/client.ts';
import { scriptedTransport } from '../run-through.ts';
import { testRows } from '../../support/rows.ts';
import { API_CLOUD, API_EDGE, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(async () => {
  s = await poolStand();
});
afterEach(() => s.close());

describe('status', () => {
  test('has the health that the daemon sees', async () => {
    const fleet = scriptedFleet();
    fleet.pool(pool({ members: [member('a')] }), pool({ pool: 'old', isConfigured: false }));
    const { url } = await openConsole({ fleet });
    const transport = createHttpTransport({ url, token: null, version: '0.0.0', advice: '' });
    const told = await s.run(['lb', 'status', 'api'], { transport });
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(told.stdout).toMatch(/^ {4}equinix\/a +active +\S+ +up +3$/m);
    expect(told.stdout).not.toContain('old');
    const json = JSON.parse((await s.run(['lb', 'status', '--json'], { transport })).stdout);
    expect(json.pools).toMatchObject([{ pool: 'api' }, { pool: 'old', isConfigured: false }]);
  });

  const HTTP = { address: '192.0.2.1', ports: [80, 443] };
  testRows([
    [[HTTP], [{ ...HTTP, ports: [80] }], 'addresses of api: 192.0.2.1 (80)'],
    [[HTTP], [], 'addresses of api: no common address of all its balancers'],
    [[HTTP], null, null],
    [[], [], null],
  ])('vector 26: of %j and %j it tells %s', async (one, other, expected) => {
    const fleet = scriptedFleet();
    fleet.pool(pool({ addresses: one }), pool({ balancer: 'cloud', addresses: other }));
    const { url } = await openConsole({ fleet });
    const transport = createHttpTransport({ url, token: null, version: '0.0.0', advice: '' });
    const { stdout } = await s.run(['lb', 'status'], { transport });
    expect(/^addresses of api: .*$/m.exec(stdout)?.[0] ?? null).toBe(expected);
  });

  test('a console that does not know all machines yet is asked again, and not believed', async () => {
    const web = await openConsole({ fleet: { ...scriptedFleet(), isWhole: () => false } });
    for (const path of ['pools', 'pools/api']) {
      const answer = await fetch(`${web.url}api/v1/${path}`);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
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
    ...{ ...plan, stage: 'creating', dropping: [], panic: [] },
    ...{ shelved: [], leftOut: [], unready: 0 },
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
  const transport = scriptedTransport(async () => ({ status: 200, headers: {}, text }));
  const { code, stdout } = await s.run(['lb', 'plan'], { transport });
  expect(code, 'one balancer cannot be read').toBe(1);
  await expect(`${stdout.trimEnd()}\n`).toMatchFileSnapshot('golden/plan-of-console.txt');
});
