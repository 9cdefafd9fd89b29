import { afterEach, beforeEach, expect, test } from 'vitest';
import { API_CLOUD, API_EDGE, poolStand, words, type PoolStand } from './pool-stand.ts';

const SLOT = 'metal/slot-1';
const drained = { to: 'drained', how: 'no-sessions', note: null, sessions: 0 } as const;

let s: PoolStand;
beforeEach(async () => {
  s = await poolStand();
});
afterEach(() => s.close());
const asked = (name: string, flags: readonly string[]) =>
  ['lb', name, SLOT, '--reason', 'because', ...flags] as const;
const drain = (...flags: string[]) => s.run(asked('drain', ['--wait', '60s', ...flags]));
const undrain = (...flags: string[]) => s.run(asked('undrain', ['--wait', '60s', ...flags]));

/** Machine 1 serves at both balancers. */
async function serving() {
  s.add(1);
  const tending = await s.tend();
  for (const at of ['edge', 'cloud'] as const) {
    await tending.write(at, { to: 'joining' });
    await tending.write(at, { to: 'active' });
  }
  return tending;
}
/** As soon as the hold is there, or gone. */
async function held(is: boolean): Promise<void> {
  const found = async () => (await s.bmdb.scan(s.signal)).holds.length > 0;
  while ((await found()) !== is) await new Promise(setImmediate);
}

test('a drain is over when all balancers let the machine go, and not when the hold is set', async () => {
  const tending = await serving();
  const draining = drain();
  let isOver = false;
  void draining.then(() => (isOver = true));
  await held(true);
  await tending.write('edge', { to: 'draining', graceMs: 30_000, sessions: 3 });
  await tending.write('edge', drained);
  const from = s.clock.now();
  while (!isOver && s.clock.now() < from + 10_000) await new Promise(setImmediate);
  expect(isOver, 'the other balancer still sends it traffic').toBe(false);
  await tending.write('cloud', drained);
  const told = await draining;
  expect(told.code).toBe(0);
  expect(told.stdout).toMatch(/^hold metal\/slot-1: done/);
  expect(told.stdout).toContain(
    'metal/slot-1 in api at edge: drained (no-sessions), 0 connections',
  );
  expect(told.stdout).toContain('metal/slot-1 in api at cloud: drained (no-sessions)');
});

test('one that takes longer than one waits is not over, and each pool is told', async () => {
  const tending = await serving();
  const note = 'ann: because; not before another is active';
  await tending.write('edge', { note });
  await tending.write('cloud', { to: 'draining', graceMs: 300_000, sessions: 1, note: null });
  const told = await drain('--wait', '5s');
  expect(told.code).toBe(3);
  expect(words(told)).toContain(`metal/slot-1 in api at edge: active; ${note}`);
  expect(words(told)).toContain('metal/slot-1 in api at cloud: draining, 1 connection');
  expect(words(told)).toContain('NOT DRAINED YET: the hold stays');
  const json = await drain('--wait', '1s', '-o', 'json');
  expect(JSON.parse(json.stdout)).toMatchObject({
    ...{ verb: 'hold', slot: SLOT, state: 'done', outcome: 'waits' },
    members: [
      { slot: SLOT, ...API_CLOUD, state: 'draining', sessions: 1, progress: 'waits' },
      { slot: SLOT, ...API_EDGE, state: 'active', sessions: null, note, progress: 'waits' },
    ],
  });
});

test('whoever gives up waiting is told how far it is, and that the hold stays', async () => {
  await serving();
  const givingUp = new AbortController();
  const { signal } = givingUp;
  // The hold itself is looked for more often than what comes of it.
  const sleep = async (ms: number) => (ms < 1_000 ? undefined : givingUp.abort());
  const told = await s.run(asked('drain', []), { signal, sleep });
  expect(told.code).toBe(130);
  expect(words(told)).toContain('NOT DRAINED YET: the hold stays');
});

test('a member that is refused ends the waiting, with the reason', async () => {
  const tending = await serving();
  const note = 'refused: balancer edge cannot be reached: no answer';
  await tending.write('cloud', drained);
  await tending.write('edge', { refused: true, note });
  const told = await drain();
  expect(told.code).toBe(1);
  expect(words(told)).toContain(`REFUSED: metal/slot-1 in api at edge: active, refused; ${note}`);
  expect(words(told)).toContain('it may still get traffic, and the hold stays');
});

test('a refusal that was said of an earlier order is not the answer', async () => {
  const tending = await serving();
  await tending.write('cloud', drained);
  await tending.write('edge', { refused: true, note: 'refused: an earlier order' });
  const draining = drain();
  await held(true);
  await tending.write('edge', { refused: false, note: null });
  await tending.write('edge', drained);
  expect((await draining).code).toBe(0);
});

test('of a machine in no pool there is nothing to wait for', async () => {
  s.add(1);
  await s.tend();
  expect(await drain()).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining('metal/slot-1 is in no pool') },
  });
});

test('it is let in again when it is active everywhere but where the pool is to go', async () => {
  const tending = await serving();
  await tending.write('edge', drained);
  await tending.write('cloud', drained);
  await drain();
  const waiting = undrain();
  await held(false);
  await tending.write('cloud', { to: 'joining' });
  await tending.write('cloud', { to: 'active' });
  await tending.note('edge', { state: 'settled' });
  await s.ask('teardown-pool');
  const told = await waiting;
  expect(told.code).toBe(0);
  expect(words(told)).toContain('metal/slot-1 in api at cloud: active');
  expect(words(told)).toContain(
    'api at edge: drained (no-sessions), 0 connections; the pool is torn',
  );
});

test('one that does not come back in time is told with what is the matter', async () => {
  const tending = await serving();
  await tending.write('edge', drained);
  await tending.note('edge', { state: 'settled' });
  await s.ask('pause-pool');
  const told = await undrain('--wait', '5s');
  expect(told.code).toBe(3);
  expect(words(told)).toContain(
    'api at edge: drained (no-sessions), 0 connections; the pool is paused by eva',
  );
  expect(words(told)).toContain('NOT ACTIVE YET');
});
