import { expect, it } from 'vitest';
import { codeOf } from '../../../../src/domain/errors.ts';
import { bmdbContract } from '../../../contracts/bmdb.ts';
import { KEY, machineRow, MINUTE, PROVIDER, startedAt } from '../../../contracts/bmdb-rows.ts';
import { memHarness } from './mem-harness.ts';

bmdbContract('in memory', memHarness);

it('notifies once for all changes of an operation and not without news', async () => {
  const h = await memHarness();
  const session = await h.bmdb.openSession({
    component: 'shepherd',
    runtimeInfo: 'host test',
    intervalMs: 60_000,
  });
  const { nowMs } = await h.bmdb.scan(new AbortController().signal);
  const row = machineRow(nowMs, startedAt(nowMs - 40 * MINUTE));
  await h.insert(row);
  await Promise.resolve();
  let wakes = 0;
  h.bmdb.wakes$.subscribe(() => (wakes += 1));
  const wakesOf = async (act: () => Promise<unknown>) => {
    const before = wakes;
    await act();
    await Promise.resolve();
    return wakes - before;
  };
  const id = row.machineId;
  const beat = { machineId: id, publicKey: KEY, bootId: null };
  const silent = {
    poke: () => session.poke(),
    heartbeat: () => h.bmdb.heartbeats.recordHeartbeats([beat]),
    refusal: () => session.claim('ShepherdAgentStart', id).catch(codeOf),
    nothingNew: () => session.updateProvided(id, { location: 'ny' }),
    nothingHeld: () => session.releaseWork(id),
    sweep: () => h.bmdb.sweep(),
    look: () => h.bmdb.guard.assess({ ingestUp: true }),
  };
  for (const [name, act] of Object.entries(silent))
    expect([name, await wakesOf(act)]).toEqual([name, 0]);
  const work = await session.claim('UnitTest1', id);
  await Promise.resolve();
  const quarantine = { kind: 'conflict', reason: 'x' } as const;
  const backoff = { initialMs: 1_000, exponent: 1, maximumMs: 0 };
  expect(await wakesOf(() => work.fail(backoff, 'x', { quarantine }))).toBe(1);
  expect(await wakesOf(() => session.updateProvided(id, { location: 'la' }))).toBe(1);
  expect(await wakesOf(() => session.lease('provisioner/metal'))).toBe(1);
  const hold = { provider: PROVIDER, kind: 'throttle', key: 'list', level: 1 } as const;
  const impose = () => h.bmdb.providerHolds.impose({ ...hold, cause: 'x', forMs: MINUTE });
  expect(await wakesOf(impose)).toBe(1);
  expect(await wakesOf(() => h.bmdb.providerHolds.lift(PROVIDER, 'throttle'))).toBe(1);
  expect(await wakesOf(() => session.close())).toBe(1);
  await h.close();
});
