import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { advance } from '../../doubles/simulated-clock.ts';
import { testRows } from '../../support/rows.ts';
import { poolStand, words, type PoolStand, type Tending } from './pool-stand.ts';

let s: PoolStand;
beforeEach(async () => {
  s = await poolStand();
});
afterEach(() => s.close());
const SETTLED = { state: 'settled', settled: true } as const;
const GONE = { state: 'gone', settled: true } as const;
const verb = (name: string, ...flags: string[]) =>
  s.run(['lb', name, 'api', '--reason', 'because', ...flags]);
const rowsOf = async () => (await s.bmdb.scan(s.signal)).pools;
/** Both balancers are tended, and nothing is the matter. */
async function tended() {
  const tending = await s.tend();
  for (const at of ['edge', 'cloud'] as const) await tending.note(at, SETTLED);
  return tending;
}

test('a pool is paused at all of its balancers, or at one, and resumed', async () => {
  await tended();
  const one = await verb('pause', '--balancer', 'edge');
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toMatch(/^pause-pool api at edge: done: it is paused at edge$/m);
  expect((await rowsOf()).map(({ balancer, paused }) => [balancer, paused?.by])).toEqual([
    ['cloud', undefined],
    ['edge', 'token:ann'],
  ]);
  expect(JSON.parse((await verb('pause', '-o', 'json')).stdout)).toMatchObject({
    ...{ verb: 'pause-pool', pool: 'api', balancer: null, state: 'done' },
    outcome: 'it is paused at cloud',
  });
  expect((await verb('resume')).stdout).toContain('it is tended again');
  expect((await rowsOf()).every(({ paused }) => paused === null)).toBe(true);
});

test('what the panic guard froze is accepted', async () => {
  const { note } = await tended();
  await note('edge', { frozen: { reason: '2 of 3 would go', snapshot: 'a b' } });
  expect((await verb('thaw')).stdout).toContain('what its panic guard saw is accepted');
  expect((await rowsOf()).find(({ balancer }) => balancer === 'edge')?.accepted?.by).toBe(
    'token:ann',
  );
});

testRows([
  [
    'a pool that there is not',
    1,
    ['web'],
    'No pool is named web; there is api at cloud, api at edge',
  ],
  ['a balancer that it is not at', 1, ['api', '--balancer', 'f5'], 'api at f5; there is api at cl'],
  ['a reason that is none', 2, ['api', '--reason', ' '], 'reason: it must have at least 1'],
] as const)('%s is a mistake, and nothing is done', async (_, code, args, expected) => {
  await s.close();
  s = await poolStand();
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
    expect(told).toMatchObject({ code: 0, stderr: '' });
    expect(words(told)).toContain('all of the pool is removed from its balancers');
    expect(told.stdout).toMatch(/nothing was done; confirm with --yes\n$/);
    expect((await rowsOf()).every(({ tornDown }) => tornDown === null)).toBe(true);
  });

  test('is waited for until all of it is gone', async () => {
    const { note, write } = await tended();
    s.add(1);
    await write('edge', { to: 'joining' });
    const waiting = verb('teardown', '--yes');
    const isAsked = async () => (await rowsOf()).some(({ tornDown }) => tornDown !== null);
    while (!(await isAsked())) await new Promise(setImmediate);
    await write('edge', { to: 'drained', how: 'forced' });
    await note('edge', GONE);
    await note('cloud', GONE);
    const told = await waiting;
    expect(told.code).toBe(0);
    expect(told.stdout).toContain('all of it is gone');
  });

  const goneEarlier = async ({ note }: Tending) => {
    await note('cloud', GONE);
    await advance(s.clock, 1_000);
    await s.ask('teardown-pool');
    // It was as desired once more, with its last member let go, and all of its binds still there.
    await note('edge', SETTLED);
  };
  const failing = async ({ note, write }: Tending) => {
    s.add(1);
    await write('edge', { to: 'joining' });
    await s.ask('teardown-pool');
    await note('edge', { state: 'failed', reason: 'no answer', settled: true });
  };
  testRows<readonly [string, (tending: Tending) => Promise<void>, 'edge' | 'cloud', string]>([
    ['whose members are gone', goneEarlier, 'edge', 'NOT GONE YET at edge:'],
    ['that was gone before it was asked', goneEarlier, 'cloud', 'NOT GONE YET at cloud:'],
    ['that is paused', () => s.ask('pause-pool'), 'edge', 'it is paused by eva: resume it'],
    [
      ...(['that fails', failing, 'edge'] as const),
      'NOT GONE YET at edge: failed, 1 members left; no answer; it goes on by itself',
    ],
  ])('of a pool %s is not over, and says why', async (_, arrange, balancer, said) => {
    await s.close();
    s = await poolStand();
    await arrange(await tended());
    const told = await verb('teardown', '--yes', '--wait', '5s', '--balancer', balancer);
    expect(told.code).toBe(3);
    expect(words(told)).toContain(said);
  });

  test('of a balancer where nobody tended it yet is not over, and says so', async () => {
    const { note } = await s.tend();
    await note('edge', { state: 'settled' });
    await s.ask('teardown-pool');
    await note('edge', GONE);
    const told = await verb('teardown', '--yes', '--wait', '5s');
    expect(told.code).toBe(3);
    expect(words(told)).toContain('NOT TORN DOWN at cloud: no daemon has tended it there yet');
    expect(told.stdout).not.toContain('at edge');
  });
});

test('a machine is drained by a hold no-serve, and let in again', async () => {
  await tended();
  s.add(1);
  const drain = ['lb', 'drain', 'metal/slot-1', '--reason', 'because', '--force', '--for', '2h'];
  expect((await s.run(drain)).stdout).toMatch(/^hold metal\/slot-1: done/);
  const { holds, nowMs } = await s.bmdb.scan(s.signal);
  expect(holds).toMatchObject([
    { kind: 'no-serve', slotId: 'slot-1', setBy: 'token:ann', force: true },
  ]);
  expect(holds[0]!.untilMs! - nowMs).toBeGreaterThan(7_100_000);
  await s.run(['lb', 'undrain', 'metal/slot-1', '--reason', 'because']);
  expect((await s.bmdb.scan(s.signal)).holds).toEqual([]);
});
