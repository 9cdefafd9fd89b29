import { beforeEach, describe, expect, test } from 'vitest';
import { runPoolVerb, type PoolVerbOptions } from '../../../src/commands/lb/verbs.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import { idOf } from '../machine-stand.ts';
import { API_CLOUD, API_EDGE, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(() => {
  s = poolStand();
});
const verb = (change: Partial<PoolVerbOptions> = {}) => {
  const options = { verb: 'pause-pool', pool: 'api', by: 'ann', reason: 'because' } as const;
  return s.driven(runPoolVerb({ ...options, json: false, yes: false, ...change }, s.means));
};
const rowsOf = async () => (await s.bmdb.scan(s.means.signal)).pools;
/** Both balancers are tended, and nothing is the matter. */
async function tended() {
  const { session, leases } = await s.tend();
  await session.balancing.note(leases.edge, API_EDGE, { state: 'settled', settled: true });
  await session.balancing.note(leases.cloud, API_CLOUD, { state: 'settled', settled: true });
  return { session, leases };
}

test('a pool is paused at all of its balancers, or at one, and resumed', async () => {
  await tended();
  const one = await verb({ balancer: 'edge' });
  expect(one).toMatchObject({ exitCode: 0 });
  expect(one.text).toMatch(/^pause-pool api at edge: done: nothing is changed at edge$/m);
  expect((await rowsOf()).map(({ balancer, paused }) => [balancer, paused?.by])).toEqual([
    ['cloud', undefined],
    ['edge', 'ann'],
  ]);
  const all = JSON.parse((await verb({ json: true })).text);
  expect(all).toMatchObject({ verb: 'pause-pool', pool: 'api', balancer: null, dryRun: false });
  expect(all.requests).toMatchObject([{ state: 'done', outcome: 'nothing is changed at cloud' }]);
  expect((await verb({ verb: 'resume-pool' })).text).toContain('it is tended again');
  expect((await rowsOf()).every(({ paused }) => paused === null)).toBe(true);
});

test('what the panic guard froze is accepted', async () => {
  const { session, leases } = await tended();
  const frozen = { reason: '2 of 3 would go', snapshot: 'a b' };
  await session.balancing.note(leases.edge, API_EDGE, { frozen });
  expect((await verb({ verb: 'thaw-pool' })).text).toContain(
    'what its panic guard saw is accepted',
  );
  expect((await rowsOf()).find(({ balancer }) => balancer === 'edge')?.accepted?.by).toBe('ann');
});

test.each<[string, Partial<PoolVerbOptions>, string]>([
  ['a pool that there is not', { pool: 'web' }, 'no pool is named web; there is api'],
  ['a balancer that it is not at', { balancer: 'f5' }, 'pool api is not at f5, but at cloud, edge'],
  ['nobody who asks', { by: ' ' }, 'say who asks and why'],
])('%s is a mistake, and nothing is done', async (_, change, expected) => {
  await tended();
  await expect(verb(change)).rejects.toThrow(UsageError);
  await expect(verb(change)).rejects.toThrow(expected);
  expect((await rowsOf()).every(({ paused }) => paused === null)).toBe(true);
});

test('without a daemon it is filed, and said so', async () => {
  const told = await verb();
  expect(told.exitCode).toBe(3);
  expect(told.text).toMatch(/^pause-pool api: filed: valid until /m);
  expect(told.text).toMatch(/no daemon/);
});

describe('a tear-down', () => {
  test('needs consent: without it, it is told what would go', async () => {
    await tended();
    const told = await verb({ verb: 'teardown-pool' });
    expect(told).toEqual({
      exitCode: 0,
      text: [
        'all of pool api would be removed; nobody finds it any more at:',
        '    cloud, with 0 members',
        '    edge, with 0 members',
        'nothing was done; confirm with --yes',
      ].join('\n'),
    });
    expect((await rowsOf()).every(({ tornDown }) => tornDown === null)).toBe(true);
  });

  test('is waited for until all of it is gone', async () => {
    const { session, leases } = await tended();
    const id = s.add(1);
    const change = (to: 'joining' | 'drained') => [
      { machineId: id, to, ...(to === 'drained' && { how: 'forced' as const }) },
    ];
    await session.balancing.write(leases.edge, API_EDGE, change('joining'));
    const waiting = verb({ verb: 'teardown-pool', yes: true });
    const isAsked = async () => (await rowsOf()).some(({ tornDown }) => tornDown !== null);
    while (!(await isAsked())) await new Promise(setImmediate);
    await session.balancing.write(leases.edge, API_EDGE, change('drained'));
    await session.balancing.note(leases.edge, API_EDGE, { settled: true });
    await session.balancing.note(leases.cloud, API_CLOUD, { settled: true });
    const told = await waiting;
    expect(told.exitCode).toBe(0);
    expect(told.text).toContain('all of it is gone');
  });

  test('that takes longer than one waits is said to be not over, and what is left', async () => {
    const { session, leases } = await tended();
    s.add(1);
    await session.balancing.write(leases.edge, API_EDGE, [{ machineId: idOf(1), to: 'joining' }]);
    await s.ask('teardown-pool');
    const failed = { state: 'failed', reason: 'no answer', settled: true } as const;
    await session.balancing.note(leases.edge, API_EDGE, failed);
    await session.balancing.note(leases.cloud, API_CLOUD, { settled: true });
    const told = await verb({ verb: 'teardown-pool', yes: true, balancer: 'edge', waitMs: 5_000 });
    expect(told.exitCode).toBe(3);
    expect(told.text).toContain('NOT GONE YET at edge: failed, 1 members left; no answer');
  });
});

test('a machine is drained by a hold no-serve, and let in again', async () => {
  await tended();
  s.add(1);
  const drain = { verb: 'hold', kind: 'no-serve', untilMs: null, force: true } as const;
  expect((await s.verb(drain, 'metal/slot-1')).text).toMatch(/^hold metal\/slot-1: done/);
  const { holds } = await s.bmdb.scan(s.means.signal);
  expect(holds).toMatchObject([{ kind: 'no-serve', slotId: 'slot-1', setBy: 'ann', force: true }]);
  await s.verb({ verb: 'unhold', kind: 'no-serve' }, 'metal/slot-1');
  expect((await s.bmdb.scan(s.means.signal)).holds).toEqual([]);
});
