import { describe, expect, it } from 'vitest';
import type { Bmdb, RequestedThing } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { ASKED } from '../../../contracts/bmdb-rows.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import { requestFor } from '../../../contracts/requests-of.ts';
import { claimStand, SIGNAL, sorted } from './claim-stand.ts';

const s = claimStand();

const reboot = async (id: MachineId) => (await s.reboot(id)).what;
const park = async (id: MachineId, key: string) =>
  s.submit({ verb: 'quarantine', target: await s.target(id), untilMs: null }, { key });
const open = async () => (await s.other.scan(SIGNAL)).requests.map(({ key }) => key);
/** This often, by both daemons in turn. */
const often = <T>(call: (bmdb: Bmdb, at: number) => Promise<T>) =>
  sorted(Array.from({ length: 20 }, (_, at) => call(at % 2 ? s.bmdb : s.other, at)));

describe('concurrent requests', () => {
  it('become one request if they have the same key', async () => {
    const request = await s.reboot(await s.add(), { key: 'one' });
    const { done, codes } = await often((bmdb) => bmdb.requests.submit({ ...request }));
    expect(codes).toEqual([]);
    expect(new Set(done.map(({ createdAtMs }) => createdAtMs)).size).toBe(1);
    expect(await open()).toEqual(['one']);
  });

  it('for one machine become one, and the other callers learn whose it is', async () => {
    const what = await reboot(await s.add());
    const { done, codes } = await often((bmdb, at) =>
      bmdb.requests.submit(requestFor(what, { by: `person ${at}` })),
    );
    expect(done).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['nothing-to-do']));
  });

  it('V39: become one batch if the batches have the same key', async () => {
    const ids = await s.addMany(5);
    const requests = await Promise.all(ids.map((id, at) => s.reboot(id, { key: `k/${at}` })));
    const { done, codes } = await often((bmdb, at) =>
      bmdb.requests.submitBatch({
        ...{ key: 'k', digest: 'one' },
        requests: at % 3 ? requests : requests.toReversed(),
      }),
    );
    expect(codes).toEqual([]);
    expect(new Set(done.map((batch) => JSON.stringify(batch))).size).toBe(1);
    expect((await open()).toSorted()).toEqual(requests.map(({ key }) => key));
  });

  it('in batches that share a machine are accepted for one whole batch, and for no other', async () => {
    const shared = await s.add();
    const own = await s.addMany(8);
    const submission = own.map(async (id, at) => {
      const key = `batch ${at}`;
      const requests = [
        await s.reboot(id, { key: `${key}/a` }),
        await s.reboot(shared, { key: `${key}/b` }),
      ];
      return s.bmdb.requests.submitBatch({ key, digest: key, requests });
    });
    const { done, codes } = await sorted(submission);
    expect(done).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['nothing-to-do']));
    const { key } = done[0]!.head;
    expect((await open()).toSorted()).toEqual([`${key}/a`, `${key}/b`]);
  });

  it('are resolved once if several callers resolve the same request', async () => {
    const id = await s.add();
    await park(id, 'one');
    const { done, codes } = await often((_, at) =>
      (at % 2 ? s.session : s.rival).applyRequest('one'),
    );
    expect(codes).toEqual([]);
    expect(new Set(done.map((state) => JSON.stringify(state))).size).toBe(1);
    expect(await s.events(id)).toEqual(['quarantined']);
  });

  it('of different kinds for one machine are all resolved, and its work is cancelled', async () => {
    const id = await s.addLost();
    const target = await s.target(id);
    const whats: RequestedThing[] = [
      { verb: 'quarantine', target, untilMs: null },
      { verb: 'release', target, forgetHostKey: true },
      { verb: 'clear-backoff', target },
      { verb: 'hold', target, kind: 'no-start', untilMs: null },
      { verb: 'unhold', target, kind: 'no-start' },
    ];
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note(ASKED);
    const keys = await Promise.all([...whats, ...whats].map((what) => s.submit(what)));
    const { done, codes } = await sorted<unknown>([
      ...keys.map((key, at) => (at % 2 ? s.session : s.rival).applyRequest(key)),
      work.fail(STEADY, 'no evidence'),
    ]);
    expect(codes).toEqual([]);
    expect(done).toHaveLength(keys.length + 1);
    expect(await open()).toEqual([]);
  });
});

describe('the resolution of a request', () => {
  it('sees a contradiction that is being found at the same time', async () => {
    const id = await s.add();
    await park(id, 'one');
    const settled = await s.behind(
      `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
       VALUES ('${id}', 'conflict', 'two of it', 'shepherd')`,
      () => s.session.applyRequest('one'),
    );
    expect(settled).toMatchObject({
      state: 'refused',
      outcome: 'it is quarantined (conflict: two of it) already',
    });
    expect((await s.row(id)).quarantine).toMatchObject({ kind: 'conflict', reason: 'two of it' });
  });

  it('A7: does not withdraw a request that a worker is submitting at that moment', async () => {
    const id = await s.add();
    await s.submit(await reboot(id), { key: 'one' });
    const withdrawal = await s.submit({ verb: 'withdraw', target: await s.target(id) });
    const settled = await s.behind(
      `SELECT 1 FROM operator_intents WHERE idempotency_key = 'one' FOR SHARE;
       INSERT INTO machine_recovery (machine_id, rung, attempts, asked_at, asked_rung, order_key)
       VALUES ('${id}', 'restartingAgent', 0, now(), 'rebooting', 'one')`,
      () => s.session.applyRequest(withdrawal),
    );
    expect(settled).toMatchObject({ state: 'refused' });
    expect(await s.bmdb.requests.read(['one'], SIGNAL)).toMatchObject([{ state: 'open' }]);
  });

  it('A7: lets either the withdrawal or the note of its submission win', async () => {
    for (let round = 0; round < 20; round += 1) {
      const id = await s.add();
      const order = await s.submit(await reboot(id));
      const key = await s.submit({ verb: 'withdraw', target: await s.target(id) });
      const work = await s.session.claim('ShepherdRecovery', id);
      const [noted, settled] = await Promise.allSettled([
        work.note({ ...ASKED, order }),
        s.rival.applyRequest(key),
      ]);
      expect(settled).toMatchObject({ status: 'fulfilled' });
      const isWithdrawn = settled.status === 'fulfilled' && settled.value?.state === 'done';
      expect(isWithdrawn).toBe(noted.status === 'rejected');
      await work.fail(STEADY, 'no evidence', { order });
    }
  });

  it('does not wait for a transaction that has locked the machine', async () => {
    const id = await s.add();
    await s.submit(await reboot(id), { key: 'one', validForMs: 1 });
    await s.holding('SELECT 1 FROM machines, work FOR UPDATE', async () => {
      expect(await s.session.applyRequest('one')).toMatchObject({ state: 'refused' });
    });
  });

  it('does not block the work on the machine', async () => {
    const id = await s.add();
    await park(id, 'one');
    const work = await s.rival.claim('ShepherdAgentStart', id);
    // The locks that a resolution holds until its end.
    await s.holding('SELECT 1 FROM machines FOR NO KEY UPDATE', async () => {
      await work.note({ kind: 'agentStartAttempt' });
      await work.fail(STEADY, 'refused');
    });
    expect(await s.session.applyRequest('one')).toMatchObject({ state: 'done' });
  });

  it('refuses requests that this program cannot read, and leaves unknown verbs alone', async () => {
    const id = await s.add();
    const { provider, slotId } = await s.target(id);
    const insert = (key: string, verb: string, parameters: object) =>
      s.sql(
        `INSERT INTO operator_intents (idempotency_key, verb, provider, slot_id, machine_id,
           parameters, actor, reason) VALUES ($1, $2, $3, $4, $5, $6, 'ann', 'x')`,
        [key, verb, provider, slotId, id, parameters],
      );
    await insert('newer', 'defragment', {});
    await insert('odd hold', 'hold', { kind: 'no-sleep', untilMs: null });
    await insert('odd release', 'release', { forgetHostKey: 'perhaps' });
    expect((await open()).toSorted()).toEqual(['odd hold', 'odd release']);
    for (const key of ['odd hold', 'odd release']) {
      expect(await s.session.applyRequest(key)).toMatchObject({
        state: 'refused',
        outcome: 'this program cannot read it; upgrade it',
      });
    }
    expect(await open()).toEqual([]);
    expect(await s.session.applyRequest('newer')).toBeNull();
    expect(await s.bmdb.requests.read(['newer'], SIGNAL)).toMatchObject([{ state: 'open' }]);
    expect((await s.row(id)).order).toBeNull();
  });
});
