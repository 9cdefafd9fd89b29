import { afterEach, beforeEach, expect, test } from 'vitest';
import { forgetPool, type ForgetOptions } from '../../../src/commands/lb/forget.ts';
import { NotFound, UsageError } from '../../../src/domain/errors.ts';
import { idOf } from '../machine-stand.ts';
import { written } from '../run-through.ts';
import { API_CLOUD, API_EDGE, poolStand, type PoolStand } from './pool-stand.ts';

const WEB_EDGE = { pool: 'web', balancer: 'edge' };

let s: PoolStand;
beforeEach(async () => {
  s = await poolStand();
});
afterEach(() => s.close());
async function forget(change: Partial<ForgetOptions> = {}) {
  const options = { pool: 'web', by: 'ann', reason: 'it is gone', yes: false, ...change };
  const told = await forgetPool(options, { bmdb: s.bmdb, config: s.config });
  return { ...told, text: await written(told) };
}
const recorded = async () => {
  const { machines, pools } = await s.bmdb.scan(s.signal);
  const names = pools.map(({ pool }) => pool);
  return [...names, ...machines.flatMap(({ members }) => members.map(({ pool }) => pool))];
};
/** A machine that serves in a pool of which this configuration knows nothing, and in one that it has. */
async function left() {
  s.add(1);
  const tending = await s.tend();
  const { session, leases } = tending;
  for (const pool of [WEB_EDGE, API_EDGE]) {
    await session.balancing.note(leases.edge, pool, { state: 'settled' });
    await session.balancing.write(leases.edge, pool, [{ machineId: idOf(1), to: 'joining' }]);
  }
  return tending;
}

test('what is recorded of a pool that nobody has is forgotten, and no balancer is asked', async () => {
  const { session } = await left();
  await session.close();
  const told = await forget({ yes: true });
  expect(told.exitCode).toBe(0);
  expect(told.text).toContain('    at edge, with 1 members that may serve: forgotten');
  expect(told.text).toContain('What is at the balancer is not touched');
  expect(await recorded()).toEqual(['api', 'api']);
  // The job is free again, and nobody is left who might be taken for a daemon.
  const next = await s.daemon();
  expect(await next.lease('pool/edge/web')).not.toBeNull();
  await expect(forget({ yes: true })).rejects.toThrow('no pool is named web; there is api');
});

test('without consent it is told what would be forgotten', async () => {
  await left();
  const told = await forget();
  expect(told.exitCode).toBe(0);
  expect(told.text).toMatch(/^all that is recorded of pool web would be forgotten:$/m);
  expect(told.text).toMatch(/nothing was done; confirm with --yes$/);
  expect(told.document).toEqual({
    verb: 'forget-pool',
    pool: 'web',
    balancer: null,
    dryRun: true,
    at: [{ balancer: 'edge', serving: 1, refusal: null }],
  });
  expect(await recorded()).toEqual(['api', 'web', 'api', 'web']);
});

test('a daemon that tends other pools at the balancer is no obstacle, and the history tells', async () => {
  const { session } = await left();
  await session.lease('pool/edge/api');
  expect((await forget({ yes: true })).exitCode).toBe(0);
  expect(await recorded()).toEqual(['api', 'api']);
  const query = { machineId: idOf(1), limit: 9 };
  expect(await s.bmdb.inspection.events(query, s.signal)).toMatchObject([
    {
      actor: 'ann',
      reason: 'forget-pool: it is no recorded member of pool web at edge any more: it is gone',
    },
  ]);
});

test('while a daemon tends the pool there nothing is forgotten', async () => {
  const { session } = await left();
  await session.lease('pool/edge/web');
  const told = await forget({ yes: true });
  expect(told.exitCode).toBe(1);
  expect(told.text.replaceAll(/\s+/g, ' ')).toContain(
    'at edge: NOT FORGOTTEN: a daemon tends it there now',
  );
  expect(await recorded()).toEqual(['api', 'web', 'api', 'web']);
});

test.each([
  ['a pool that is configured', UsageError, { pool: 'api' }, 'is configured at cloud, edge'],
  ['a pool that there is not', NotFound, { pool: 'none' }, 'no pool is named none; there is api'],
  ['a balancer that it is not at', UsageError, { balancer: 'f5' }, 'not at f5, but at edge'],
  ['nobody who asks', UsageError, { by: ' ' }, 'say who asks and why'],
] as const)('%s is a mistake, and nothing is done', async (_, kind, change, expected) => {
  const { session } = await left();
  await session.close();
  await expect(forget({ yes: true, ...change })).rejects.toThrow(kind);
  await expect(forget({ yes: true, ...change })).rejects.toThrow(expected);
  expect(await recorded()).toEqual(['api', 'web', 'api', 'web']);
});

test('it is shown as not configured here, and who tends it elsewhere keeps it', async () => {
  const { session } = await left();
  const status = async (...flags: string[]) => (await s.run(['lb', 'status', ...flags])).stdout;
  const text = await status();
  expect(text).toMatch(/^web at edge \(not configured here\): settled$/m);
  expect(text.replaceAll(/\s+/g, ' ')).toContain('orders for its members wait: configure it again');
  await session.lease('pool/edge/web');
  const tended = await status('web');
  expect(tended).toContain('a daemon with another configuration tends it');
  expect(tended).not.toContain('forget');
  expect(JSON.parse(await status('--json')).pools).toMatchObject([
    ...[API_EDGE, API_CLOUD].map(() => ({ pool: 'api', isConfigured: true })),
    { pool: 'web', isConfigured: false },
  ]);
});

test('an order that waits for a pool that nobody tends says so', async () => {
  const { session } = await left();
  await session.lease('pool/edge/api');
  const reboot = ['machine', 'reboot', 'metal/slot-1', '--reason', 'because', '--wait', '1s'];
  const { code, stdout } = await s.run(reboot);
  const words = stdout.replaceAll(/\s+/g, ' ');
  expect(code).toBe(3);
  expect(words).toContain('pool web at edge never settled, and no daemon tends it: "shepherd lb');
  expect(words).not.toContain('pool api at edge');
});
