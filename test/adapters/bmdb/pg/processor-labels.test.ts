import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { createMemMetrics } from '../../../doubles/mem-metrics.ts';
import type { MemMetrics } from '../../../doubles/mem-metrics.ts';
import {
  KEY,
  ladderOn,
  MINUTE,
  PROVIDER,
  providedOf,
  startedAt,
} from '../../../contracts/bmdb-rows.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import { claimStand, openOn, SIGNAL, STARTED } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

const s = claimStand(4_000);

let metrics: MemMetrics;
let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  metrics = createMemMetrics();
  bmdb = openPgBmdb({ url: s.server.url, metrics });
  session = await openOn(bmdb);
});
afterEach(() => bmdb.close());

/** All transactions of the call run for this processor. None is repeated, none fails. */
async function countsFor<T>(label: string, call: () => Promise<T>): Promise<T> {
  const before = metrics.calls.length;
  const result = await call();
  const made = metrics.calls
    .slice(before)
    .filter(({ name }) => name.startsWith('bmdb_transaction'));
  const told = new Set(made.map(({ name, labels }) => `${name} ${labels['processor']}`));
  expect([...told]).toEqual([`bmdb_transaction_executed ${label}`]);
  return result;
}

test('counts agent starts under the initializer', async () => {
  const label = 'shepherd-initializer';
  const id = await s.add();
  const claim = () => countsFor(label, () => session.claim('ShepherdAgentStart', id));
  const first = await claim();
  await countsFor(label, () => first.note({ kind: 'agentStartAttempt' }));
  await countsFor(label, () => first.fail(STEADY, 'refused'));
  await s.sql(`UPDATE work_backoff SET until = now() - interval '1 s'`);
  const second = await claim();
  await countsFor(label, () => second.finish(STARTED));
});

test.each([
  ['ShepherdRecovery', 'rebooting'],
  ['ShepherdReinstall', 'reinstalling'],
] as const)('counts %s under the recoverer', async (process, rung) => {
  const label = 'shepherd-recoverer';
  const recovery = rung === 'reinstalling' ? ladderOn(rung, { attempts: 0 }) : null;
  const id = await s.add({ ...startedAt(Date.now() - 40 * MINUTE), recovery });
  const work = await countsFor(label, () => session.claim(process, id));
  await countsFor(label, () => work.note({ kind: 'recoveryAsked', rung, bootId: null }));
  await countsFor(label, () => work.cancel());
});

test('counts creation intents under the provisioner', async () => {
  const label = 'shepherd-provisioner';
  const { intents } = session;
  const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
  const { witness } = await countsFor(label, () => intents.open(slot));
  await countsFor(label, () => intents.resume(witness));
  await countsFor(label, () => intents.progress(witness, { attempts: 1 }));
  await countsFor(label, () => intents.adopt(witness, providedOf('1')));
});

test('counts provider reports under the updater, heartbeats under bmsrv and the rest under the daemon', async () => {
  const id = await s.add(startedAt(Date.now()));
  await countsFor('shepherd-updater', () => session.updateProvided(id, { status: 'Stopped' }));
  const beat = { machineId: id, publicKey: KEY, bootId: 'boot-9' };
  // Twice: the first call creates the row, the second is the usual case.
  for (const _ of [1, 2]) {
    await countsFor('bmsrv', () => bmdb.heartbeats.recordHeartbeats([beat]));
  }
  await countsFor('shepherd', () => session.poke());
  await countsFor('shepherd', () => bmdb.scan(SIGNAL));
  await countsFor('shepherd', () => bmdb.sweep());
  await countsFor('shepherd', () => session.close());
});
