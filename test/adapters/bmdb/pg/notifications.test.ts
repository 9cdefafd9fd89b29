import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { KEY, MINUTE, PROVIDER, startedAt } from '../../../contracts/bmdb-rows.ts';
import { claimStand, refusedWith, openOn } from './claim-stand.ts';
import { PATIENCE } from '../../../support/patience.ts';

const s = claimStand();

/** Counts how often an action wakes a listener. */
async function listen() {
  const heard: string[] = [];
  const client = new pg.Client({ connectionString: s.server.url });
  s.clients.add(client);
  await client.connect();
  client.on('notification', (each) => heard.push(each.payload || 'wake'));
  await client.query('LISTEN shepherd_wake');
  /** An earlier commit is heard earlier. */
  let markers = 0;
  const heardAll = async () => {
    const marker = `marker ${(markers += 1)}`;
    await s.server.sql.query(`SELECT pg_notify('shepherd_wake', $1)`, [marker]);
    await vi.waitUntil(() => heard.includes(marker), PATIENCE);
  };
  return async (act: () => Promise<unknown>): Promise<number> => {
    await heardAll();
    heard.length = 0;
    await act();
    await heardAll();
    return heard.length - 1;
  };
}

it('notifies listeners of machine changes, not of heartbeats, renewals or refusals', async () => {
  const { session } = s;
  const machineId = await s.add(startedAt(Date.now()));
  const beat = { machineId, publicKey: KEY, bootId: null };
  const wakesOf = await listen();
  for (const act of [
    () => session.poke(),
    () => s.bmdb.heartbeats.recordHeartbeats([beat]),
    () => s.bmdb.heartbeats.recordHeartbeats([beat]),
    () => session.releaseWork(machineId),
    () => session.updateProvided(machineId, { status: 'Running' }),
    () => refusedWith(session.claim('ShepherdRecovery', machineId)),
  ]) {
    expect(await wakesOf(act), String(act)).toBe(0);
  }
  expect(await wakesOf(() => session.updateProvided(machineId, { status: 'Stopped' }))).toBe(1);
});

it('notifies listeners of changed jobs and holds only', async () => {
  const JOB = 'provisioner/metal';
  const wakesOf = await listen();
  const lease = () => s.session.lease(JOB);
  expect(await wakesOf(lease)).toBe(1);
  expect(await wakesOf(lease)).toBe(0);
  expect(await wakesOf(() => s.rival.lease(JOB))).toBe(0);
  const held = (await lease())!;
  expect(await wakesOf(() => held.release())).toBe(1);
  expect(await wakesOf(() => held.release())).toBe(0);

  const dead = await openOn(s.other);
  await dead.lease(JOB);
  await s.server.sql.query(
    `UPDATE sessions SET session_deadline = now() - interval '1 ms' WHERE session_id = $1`,
    [dead.sessionId],
  );
  expect(await wakesOf(lease)).toBe(1);

  const { providerHolds } = s.bmdb;
  const hold = { provider: PROVIDER, kind: 'throttle', key: 'list', level: 1 } as const;
  const lift = () => providerHolds.lift(PROVIDER, 'throttle');
  expect(await wakesOf(() => providerHolds.impose({ ...hold, cause: 'x', forMs: MINUTE }))).toBe(1);
  expect(await wakesOf(lift)).toBe(1);
  expect(await wakesOf(lift)).toBe(0);
});
