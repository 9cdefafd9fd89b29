import { describe, expect, it } from 'vitest';
import type { RequestedThing } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import { requestFor, targetOf } from '../../../contracts/requests-of.ts';
import {
  addMachine,
  claimStand,
  SIGNAL,
  sorted,
  transactionOn,
  untilBlocked,
} from './claim-stand.ts';

const s = claimStand();

const read = async (id: MachineId) => (await s.other.readMachine(id, SIGNAL)).row!;
const targetFor = async (id: MachineId) => targetOf(await read(id));
const reboot = async (id: MachineId): Promise<RequestedThing> => ({
  verb: 'reboot',
  target: await targetFor(id),
  force: false,
});
const park = async (id: MachineId): Promise<RequestedThing> => ({
  verb: 'quarantine',
  target: await targetFor(id),
  untilMs: null,
});
const open = async () => (await s.other.scan(SIGNAL)).requests.map(({ key }) => key);
async function linesOf(id: MachineId): Promise<string[]> {
  const lines = await s.other.inspection.events({ machineId: id, limit: 99 }, SIGNAL);
  return lines.map(({ kind }) => kind);
}

describe('many at once', () => {
  const COUNT = 20;

  it('of one key are one', async () => {
    const id = await addMachine(s);
    const request = requestFor(await reboot(id), { key: 'one' });
    const daemons = [s.bmdb, s.other];
    const filing = Array.from({ length: COUNT }, (_, at) =>
      daemons[at % 2]!.requests.file({ ...request }),
    );
    const { done, codes } = await sorted(filing);
    expect(codes).toEqual([]);
    expect(new Set(done.map(({ createdAtMs }) => createdAtMs)).size).toBe(1);
    expect(await open()).toEqual(['one']);
  });

  it('orders of one machine are one, whose it is the others are told', async () => {
    const id = await addMachine(s);
    const what = await reboot(id);
    const filing = Array.from({ length: COUNT }, (_, at) =>
      (at % 2 ? s.bmdb : s.other).requests.file(requestFor(what, { by: `person ${at}` })),
    );
    const { done, codes } = await sorted(filing);
    expect(done).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['nothing-to-do']));
  });

  it('V39: batches of one key are one', async () => {
    const ids = await Promise.all(Array.from({ length: 5 }, () => addMachine(s)));
    const requests = await Promise.all(
      ids.map(async (id, at) => requestFor(await reboot(id), { key: `k/${at}` })),
    );
    const filing = Array.from({ length: COUNT }, (_, at) =>
      (at % 2 ? s.bmdb : s.other).requests.fileBatch({
        ...{ key: 'k', digest: 'one' },
        requests: at % 3 ? requests : requests.toReversed(),
      }),
    );
    const { done, codes } = await sorted(filing);
    expect(codes).toEqual([]);
    expect(new Set(done.map((batch) => JSON.stringify(batch))).size).toBe(1);
    expect((await open()).toSorted()).toEqual(requests.map(({ key }) => key));
  });

  it('of batches that share a machine one is filed as a whole, the others not at all', async () => {
    const shared = await addMachine(s);
    const own = await Promise.all(Array.from({ length: 8 }, () => addMachine(s)));
    const filing = own.map(async (id, at) => {
      const key = `batch ${at}`;
      const requests = [
        requestFor(await reboot(id), { key: `${key}/a` }),
        requestFor(await reboot(shared), { key: `${key}/b` }),
      ];
      return s.bmdb.requests.fileBatch({ key, digest: key, requests });
    });
    const { done, codes } = await sorted(filing);
    expect(done).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['nothing-to-do']));
    const { key } = done[0]!.head;
    expect((await open()).toSorted()).toEqual([`${key}/a`, `${key}/b`]);
  });

  it('settlings of one are one', async () => {
    const id = await addMachine(s);
    await s.bmdb.requests.file(requestFor(await park(id), { key: 'one' }));
    const settling = Array.from({ length: COUNT }, (_, at) =>
      (at % 2 ? s.session : s.rival).settle('one'),
    );
    const { done, codes } = await sorted(settling);
    expect(codes).toEqual([]);
    expect(new Set(done.map((state) => JSON.stringify(state))).size).toBe(1);
    expect(await linesOf(id)).toEqual(['quarantined']);
  });

  it('different ones of one machine are all settled, and so is what works on it', async () => {
    const id = await addMachine(s, startedAt(Date.now() - 40 * MINUTE));
    const target = await targetFor(id);
    const whats: RequestedThing[] = [
      { verb: 'quarantine', target, untilMs: null },
      { verb: 'release', target, forgetHostKey: true },
      { verb: 'clear-backoff', target },
      { verb: 'hold', target, kind: 'no-start', untilMs: null },
      { verb: 'unhold', target, kind: 'no-start' },
    ];
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note({ kind: 'recoveryAsked', rung: 'rebooting', bootId: null });
    const keys = await Promise.all(
      [...whats, ...whats].map(async (what) => (await s.bmdb.requests.file(requestFor(what))).key),
    );
    const { done, codes } = await sorted<unknown>([
      ...keys.map((key, at) => (at % 2 ? s.session : s.rival).settle(key)),
      work.fail(STEADY, 'no evidence'),
    ]);
    expect(codes).toEqual([]);
    expect(done).toHaveLength(keys.length + 1);
    expect(await open()).toEqual([]);
  });
});

describe('settling', () => {
  it('sees a contradiction that is being found just then', async () => {
    const id = await addMachine(s);
    await s.bmdb.requests.file(requestFor(await park(id), { key: 'one' }));
    const other = await transactionOn(s);
    await other.query(
      `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
       VALUES ($1, 'conflict', 'two of it', 'shepherd')`,
      [id],
    );
    const settled = s.session.settle('one');
    await untilBlocked(s, 1);
    await other.commit();
    expect(await settled).toMatchObject({
      state: 'refused',
      outcome: 'it is quarantined (conflict: two of it) already',
    });
    expect((await read(id)).quarantine).toMatchObject({ kind: 'conflict', reason: 'two of it' });
  });

  it('A7: does not withdraw what is being asked for just then', async () => {
    const id = await addMachine(s);
    await s.bmdb.requests.file(requestFor(await reboot(id), { key: 'one' }));
    const target = await targetFor(id);
    await s.bmdb.requests.file(requestFor({ verb: 'withdraw', target }, { key: 'two' }));
    const other = await transactionOn(s);
    await other.query(`SELECT 1 FROM operator_intents WHERE idempotency_key = 'one' FOR SHARE`);
    await other.query(
      `INSERT INTO machine_recovery (machine_id, rung, attempts, asked_at, asked_rung, order_key)
       VALUES ($1, 'restartingAgent', 0, now(), 'rebooting', 'one')`,
      [id],
    );
    const settled = s.session.settle('two');
    await untilBlocked(s, 1);
    await other.commit();
    expect(await settled).toMatchObject({ state: 'refused' });
    expect(await s.bmdb.requests.read(['one'], SIGNAL)).toMatchObject([{ state: 'open' }]);
  });

  it('A7: of a withdrawal and the note that it is asked for, one wins', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await addMachine(s);
      const order = (await s.bmdb.requests.file(requestFor(await reboot(id)))).key;
      const target = await targetFor(id);
      const { key } = await s.bmdb.requests.file(requestFor({ verb: 'withdraw', target }));
      const work = await s.session.claim('ShepherdRecovery', id);
      const asked = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;
      const [noted, settled] = await Promise.allSettled([
        work.note({ ...asked, order }),
        s.rival.settle(key),
      ]);
      expect(settled).toMatchObject({ status: 'fulfilled' });
      const isWithdrawn = settled.status === 'fulfilled' && settled.value?.state === 'done';
      expect(isWithdrawn).toBe(noted.status === 'rejected');
      await work.fail(STEADY, 'no evidence', { order });
    }
  });

  it('an order waits for nobody who has locked its machine', async () => {
    const id = await addMachine(s);
    const short = requestFor(await reboot(id), { key: 'one', validForMs: 1 });
    await s.bmdb.requests.file(short);
    const other = await transactionOn(s);
    await other.query('SELECT 1 FROM machines WHERE machine_id = $1 FOR UPDATE', [id]);
    await other.query('SELECT 1 FROM work WHERE machine_id = $1 FOR UPDATE', [id]);
    expect(await s.session.settle('one')).toMatchObject({ state: 'refused' });
    await other.commit();
  });

  it('keeps nobody waiting who works on the machine', async () => {
    const id = await addMachine(s);
    await s.bmdb.requests.file(requestFor(await park(id), { key: 'one' }));
    const work = await s.rival.claim('ShepherdAgentStart', id);
    const other = await transactionOn(s);
    // What settling locks for as long as it lasts.
    await other.query('SELECT 1 FROM machines WHERE machine_id = $1 FOR NO KEY UPDATE', [id]);
    await work.note({ kind: 'agentStartAttempt' });
    await work.fail(STEADY, 'refused');
    await other.commit();
    expect(await s.session.settle('one')).toMatchObject({ state: 'done' });
  });

  it('refuses what this program cannot read, and leaves verbs that it does not know', async () => {
    const id = await addMachine(s);
    const { provider, slotId } = await targetFor(id);
    const insert = (key: string, verb: string, parameters: object) =>
      s.server.sql.query(
        `INSERT INTO operator_intents (idempotency_key, verb, provider, slot_id, machine_id,
           parameters, actor, reason) VALUES ($1, $2, $3, $4, $5, $6, 'ann', 'x')`,
        [key, verb, provider, slotId, id, parameters],
      );
    await insert('newer', 'defragment', {});
    await insert('odd hold', 'hold', { kind: 'no-sleep', untilMs: null });
    await insert('odd release', 'release', { forgetHostKey: 'perhaps' });
    expect((await open()).toSorted()).toEqual(['odd hold', 'odd release']);
    for (const key of ['odd hold', 'odd release']) {
      expect(await s.session.settle(key)).toMatchObject({
        state: 'refused',
        outcome: 'this program cannot read it; upgrade it',
      });
    }
    expect(await open()).toEqual([]);
    expect(await s.session.settle('newer')).toBeNull();
    expect(await s.bmdb.requests.read(['newer'], SIGNAL)).toMatchObject([{ state: 'open' }]);
    expect((await read(id)).order).toBeNull();
  });
});
