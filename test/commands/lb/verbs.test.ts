import { beforeEach, describe, expect, test } from 'vitest';
import { idOf } from '../machine-stand.ts';
import { API_CLOUD, API_EDGE, poolStand, type PoolStand } from './pool-stand.ts';

let s: PoolStand;
beforeEach(() => {
  s = poolStand();
});
const verb = (name: string, ...flags: string[]) =>
  s.run(['lb', name, 'api', '--reason', 'because', ...flags]);
const words = ({ stdout }: { readonly stdout: string }) => stdout.replaceAll(/\s+/g, ' ');
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
  const one = await verb('pause', '--balancer', 'edge');
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toMatch(/^pause-pool api at edge: done: it is paused at edge$/m);
  expect((await rowsOf()).map(({ balancer, paused }) => [balancer, paused?.by])).toEqual([
    ['cloud', undefined],
    ['edge', 'ann'],
  ]);
  expect(JSON.parse((await verb('pause', '-o', 'json')).stdout)).toMatchObject({
    ...{ verb: 'pause-pool', pool: 'api', balancer: null, state: 'done' },
    outcome: 'it is paused at cloud',
  });
  expect((await verb('resume')).stdout).toContain('it is tended again');
  expect((await rowsOf()).every(({ paused }) => paused === null)).toBe(true);
});

test('what the panic guard froze is accepted', async () => {
  const { session, leases } = await tended();
  const frozen = { reason: '2 of 3 would go', snapshot: 'a b' };
  await session.balancing.note(leases.edge, API_EDGE, { frozen });
  expect((await verb('thaw')).stdout).toContain('what its panic guard saw is accepted');
  expect((await rowsOf()).find(({ balancer }) => balancer === 'edge')?.accepted?.by).toBe('ann');
});

test.each([
  ['a pool that there is not', 1, ['web'], 'no pool is named web; there is api'],
  ['a balancer that it is not at', 2, ['api', '--balancer', 'f5'], 'at f5, but at cloud, edge'],
  ['a reason that is none', 2, ['api', '--reason', ' '], 'say why'],
] as const)('%s is a mistake, and nothing is done', async (_, code, args, expected) => {
  await tended();
  const told = await s.run(['lb', 'pause', '--reason', 'because', ...args]);
  expect(told).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(expected) });
  expect((await rowsOf()).every(({ paused }) => paused === null)).toBe(true);
});

test('without a daemon it is filed, and said so', async () => {
  const told = await verb('pause', '--wait', '1s');
  expect(told.code).toBe(3);
  expect(told.stdout).toMatch(/^pause-pool api: filed: valid until /m);
  expect(told.stdout).toMatch(/no daemon/);
});

describe('a tear-down', () => {
  test('needs consent: without it, it is told what would go', async () => {
    await tended();
    const told = await verb('teardown');
    expect(told).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: [
        'all of pool api would be removed; nobody finds it any more at:',
        '    cloud, with 0 members',
        '    edge, with 0 members',
        'nothing was done; confirm with --yes',
        '',
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
    const waiting = verb('teardown', '--yes');
    const isAsked = async () => (await rowsOf()).some(({ tornDown }) => tornDown !== null);
    while (!(await isAsked())) await new Promise(setImmediate);
    await session.balancing.write(leases.edge, API_EDGE, change('drained'));
    const gone = { state: 'gone', settled: true } as const;
    await session.balancing.note(leases.edge, API_EDGE, gone);
    await session.balancing.note(leases.cloud, API_CLOUD, gone);
    const told = await waiting;
    expect(told.code).toBe(0);
    expect(told.stdout).toContain('all of it is gone');
  });

  test('is not over when its members are, nor when it was gone before it was asked', async () => {
    const { session, leases } = await tended();
    await session.balancing.note(leases.cloud, API_CLOUD, { state: 'gone', settled: true });
    s.clock.increment(1_000);
    await s.ask('teardown-pool');
    // It was as desired once more, with its last member let go, and all of its binds still there.
    await session.balancing.note(leases.edge, API_EDGE, { state: 'settled', settled: true });
    for (const balancer of ['edge', 'cloud']) {
      const told = await verb('teardown', '--yes', '--wait', '5s', '--balancer', balancer);
      expect(told.code).toBe(3);
      expect(words(told)).toContain(`NOT GONE YET at ${balancer}:`);
    }
  });

  test('of a pool that is paused is not over, and says so', async () => {
    await tended();
    await s.ask('pause-pool');
    const told = await verb('teardown', '--yes', '--balancer', 'edge', '--wait', '2s');
    expect(told.code).toBe(3);
    expect(words(told)).toContain('it is paused by eva: resume it');
  });

  test('of a balancer where nobody tended it yet is not over, and says so', async () => {
    const { session, leases } = await s.tend();
    await session.balancing.note(leases.edge, API_EDGE, { state: 'settled' });
    await s.ask('teardown-pool');
    await session.balancing.note(leases.edge, API_EDGE, { state: 'gone', settled: true });
    const told = await verb('teardown', '--yes', '--wait', '5s');
    expect(told.code).toBe(3);
    expect(words(told)).toContain('NOT TORN DOWN at cloud: no daemon has tended it there yet');
    expect(told.stdout).not.toContain('at edge');
  });

  test('that takes longer than one waits is said to be not over, and what is left', async () => {
    const { session, leases } = await tended();
    s.add(1);
    await session.balancing.write(leases.edge, API_EDGE, [{ machineId: idOf(1), to: 'joining' }]);
    await s.ask('teardown-pool');
    const failed = { state: 'failed', reason: 'no answer', settled: true } as const;
    await session.balancing.note(leases.edge, API_EDGE, failed);
    await session.balancing.note(leases.cloud, API_CLOUD, { state: 'gone', settled: true });
    const told = await verb('teardown', '--yes', '--balancer', 'edge', '--wait', '5s');
    expect(told.code).toBe(3);
    expect(words(told)).toContain(
      'NOT GONE YET at edge: failed, 1 members left; no answer; it goes on by itself',
    );
  });
});

test('a machine is drained by a hold no-serve, and let in again', async () => {
  await tended();
  s.add(1);
  const drain = ['lb', 'drain', 'metal/slot-1', '--reason', 'because', '--force', '--for', '2h'];
  expect((await s.run(drain)).stdout).toMatch(/^hold metal\/slot-1: done/);
  const { holds, nowMs } = await s.bmdb.scan(s.means.signal);
  expect(holds).toMatchObject([{ kind: 'no-serve', slotId: 'slot-1', setBy: 'ann', force: true }]);
  expect(holds[0]!.untilMs! - nowMs).toBeGreaterThan(7_100_000);
  await s.run(['lb', 'undrain', 'metal/slot-1', '--reason', 'because']);
  expect((await s.bmdb.scan(s.means.signal)).holds).toEqual([]);
});
