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
import { addMachine, claimStand, openOn, SIGNAL, STARTED } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';
import type { Rung } from '../../../../src/domain/recovery/rung-names.ts';

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

/** For whom the call made transactions; none was repeated, none failed. */
async function countedFor<T>(call: () => Promise<T>): Promise<{ result: T; labels: string[] }> {
  const before = metrics.calls.length;
  const result = await call();
  const transactions = metrics.calls.slice(before).filter(({ method }) => method === 'transaction');
  const outcomes = new Set(transactions.map(({ args }) => args[0]));
  expect([...outcomes]).toEqual(['executed']);
  return { result, labels: [...new Set(transactions.map(({ args }) => String(args[1])))] };
}

test('starting agents is the initializer: claim, note, finish and failure', async () => {
  const id = await addMachine(s);
  const claim = () => countedFor(() => session.claim('ShepherdAgentStart', id));
  const backoff = { initialMs: 1_000, exponent: 1, maximumMs: 0 };
  const { result: first, labels } = await claim();
  const note = await countedFor(() => first.note({ kind: 'agentStartAttempt' }));
  const failed = await countedFor(() => first.fail(backoff, 'refused'));
  await s.server.sql.query(`UPDATE work_backoff SET until = now() - interval '1 s'`);
  const { result: second } = await claim();
  const finished = await countedFor(() => second.finish(STARTED));
  const all = [labels, note.labels, failed.labels, finished.labels];
  expect(all).toEqual(all.map(() => ['shepherd-initializer']));
});

test.each(['ShepherdRecovery', 'ShepherdReinstall'] as const)(
  '%s is the recoverer: claim, note and cancel',
  async (process) => {
    const reinstall = process === 'ShepherdReinstall';
    const rung: Rung = reinstall ? 'reinstalling' : 'rebooting';
    const recovery = ladderOn(rung, { attempts: 0 });
    const lost = startedAt(Date.now() - 40 * MINUTE);
    const id = await addMachine(s, reinstall ? { ...lost, recovery } : lost);
    const claim = await countedFor(() => session.claim(process, id));
    const note = await countedFor(() =>
      claim.result.note({ kind: 'recoveryAsked', rung, bootId: null }),
    );
    const cancel = await countedFor(() => claim.result.cancel());
    const all = [claim.labels, note.labels, cancel.labels];
    expect(all).toEqual(all.map(() => ['shepherd-recoverer']));
  },
);

test('intents are the provisioner: each step', async () => {
  const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
  const opened = await countedFor(() => session.intents.open(slot));
  const { witness } = opened.result;
  const resumed = await countedFor(() => session.intents.resume(witness));
  const noted = await countedFor(() => session.intents.progress(witness, { attempts: 1 }));
  const adopted = await countedFor(() => session.intents.adopt(witness, providedOf('1')));
  const all = [opened.labels, resumed.labels, noted.labels, adopted.labels];
  expect(all).toEqual(all.map(() => ['shepherd-provisioner']));
});

test('what the provider says is the updater, heartbeats are bmsrv, the rest is the daemon', async () => {
  const id = await addMachine(s, startedAt(Date.now()));
  const updated = await countedFor(() => session.updateProvided(id, { status: 'Stopped' }));
  expect(updated.labels).toEqual(['shepherd-updater']);
  const beat = { machineId: id, publicKey: KEY, bootId: 'boot-9' };
  // Twice: the first makes the row, the second is the everyday.
  for (const _ of [1, 2]) {
    const beats = await countedFor(() => bmdb.heartbeats.recordHeartbeats([beat]));
    expect(beats.labels).toEqual(['bmsrv']);
  }
  for (const call of [
    () => session.poke(),
    () => bmdb.scan(SIGNAL).then(() => undefined),
    () => bmdb.sweep().then(() => undefined),
    () => session.close(),
  ]) {
    expect((await countedFor(call)).labels).toEqual(['shepherd']);
  }
});
