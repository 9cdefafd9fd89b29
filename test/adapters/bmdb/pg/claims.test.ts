import { describe, expect, it } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as guarding } from '../../../../src/adapters/bmdb/pg/guard/guard-rows.ts';
import { statementsFor as sweepStatementsFor } from '../../../../src/adapters/bmdb/pg/sweep.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Work } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { ASKED } from '../../../contracts/bmdb-rows.ts';
import {
  claimStand,
  locking,
  lockingSession,
  openOn,
  refusedWith,
  SIGNAL,
  sorted,
} from './claim-stand.ts';
import { STARTED, STEADY } from './claim-stand.ts';
import { openPgDatabase } from './pg-harness.ts';

const s = claimStand();
const GUARD = `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`;
const start = (id: MachineId, session = s.session) => session.claim('ShepherdAgentStart', id);
const recover = (id: MachineId, session = s.session) => session.claim('ShepherdRecovery', id);
const permits = async () =>
  (await s.sql<{ id: string }>(`SELECT machine_id AS id FROM recovery_permits`)).map(
    ({ id }) => id,
  );
const takeBack = (id: MachineId) => `DELETE FROM recovery_permits WHERE machine_id = '${id}'`;

describe('racing sessions', () => {
  it.each([
    [
      'for 200 machines get each of them once, and never stand in a circle',
      'ShepherdAgentStart',
      200,
    ],
    ['where there is no lease yet get each machine once, too', 'UnitTest1', 50],
  ] as const)('%s', async (_, process, count) => {
    const ids = await s.addMany(count);
    const claims = [s.session, s.rival].flatMap((each, turn) =>
      (turn === 0 ? ids : ids.toReversed()).map((id) => each.claim(process, id)),
    );
    const { done, codes } = await sorted(claims);
    expect(done.map((work) => work.machineId).toSorted()).toEqual(ids.toSorted());
    expect(new Set(done.map((work) => work.epoch)).size).toBe(count);
    expect(codes).toEqual(ids.map(() => 'work-conflict'));
    await Promise.all(done.map((work) => work.cancel()));
    for (const id of ids) expect(await s.history(id)).toEqual(['Started', 'Canceled canceled']);
    const locks = `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`;
    expect(await s.sql(locks)).toEqual([{ deadlocks: '0' }]);
  });

  it('never start work that another finished after their look', async () => {
    const id = await s.add();
    const claim = await s.behind(
      lockingSession(s.session),
      () => sorted([start(id)]),
      async () => (await start(id, s.rival)).finish(STARTED),
    );
    expect(claim.codes).toEqual(['work-conflict']);
    expect(await s.history(id)).toEqual(['Started', 'Finished']);
    expect(await refusedWith(start(id))).toBe('nothing-to-do');
  });

  it('do not wait for a session that is finishing, nor take its machine', async () => {
    const id = await s.add({ startAttempt: { atMs: Date.now(), count: 1, unreached: 0 } });
    const work = await start(id, s.rival);
    await s.behind(
      locking('machine_agent_start_attempt', id),
      () => work.finish(STARTED),
      async () => expect(await refusedWith(start(id))).toBe('work-conflict'),
    );
    expect(await refusedWith(start(id))).toBe('nothing-to-do');
    expect(await s.history(id)).toEqual(['Started', 'Finished']);
  });

  it('never hold more permits than the budget allows', async () => {
    const ids = await Promise.all(Array.from({ length: 61 }, () => s.addLost()));
    const third = await openOn(s.other);
    const works = await Promise.all(
      [s.session, s.rival, third].flatMap((each, at) =>
        ids.slice(at * 20, at * 20 + 20).map((id) => recover(id, each)),
      ),
    );
    const { done, codes } = await sorted(works.map((work) => work.note(ASKED)));
    expect([done.length, codes]).toEqual([3, Array(57).fill('no-permit')]);
    expect(await permits()).toHaveLength(3);
    await Promise.all(works.map((work) => work.fail(STEADY, 'no evidence')));
    expect(await permits()).toEqual([]);
  });
});

describe('a session at work', () => {
  it('ends work once when it tries twice', async () => {
    const id = await s.add();
    const work = await start(id);
    const { done, codes } = await sorted([work.finish(STARTED), work.finish(STARTED)]);
    expect([done.length, codes]).toEqual([1, ['already-finished']]);
    expect(await s.history(id)).toEqual(['Started', 'Finished']);
  });

  it('cannot end a new claim with an old one', async () => {
    const id = await s.add();
    const old = await start(id);
    await s.session.releaseWork(id);
    const work = await start(id);
    expect(await refusedWith(old.finish(STARTED))).toBe('work-lost');
    expect(await refusedWith(old.note({ kind: 'agentStartAttempt' }))).toBe('work-lost');
    expect(await s.row(id)).toMatchObject({
      ...{ agentStarted: null, startAttempt: null, work: [{ epoch: work.epoch }] },
    });
    await work.finish(STARTED);
    expect(await s.history(id)).toEqual(['Started', 'Canceled released', 'Started', 'Finished']);
  });

  it('writes nothing when the database’s clock says it is dead', async () => {
    const [held, free] = await s.addMany(2);
    const work = await start(held!);
    await s.expire(s.session);
    expect(await refusedWith(work.finish(STARTED))).toBe('session-expired');
    const second = await openOn(s.bmdb);
    await s.expire(second);
    expect(await refusedWith(start(free!, second))).toBe('session-expired');
    for (const { signal } of [s.session, second]) expect(signal.aborted).toBe(true);
    expect((await s.row(held!)).agentStarted).toBeNull();
    expect(await s.history(held!)).toEqual(['Started']);
    expect(await s.history(free!)).toEqual([]);
  });

  it('that replaces a dead one continues under its permit', async () => {
    const [one, two] = [await s.addLost(), await s.addLost()];
    await (await recover(one)).note(ASKED);
    await s.expire(s.session);
    const waiting = await recover(two, s.rival);
    expect(await refusedWith(waiting.note(ASKED))).toBe('no-permit');
    const work = await recover(one, s.rival);
    expect(work.row.permit).toBe(true);
    await work.fail(STEADY, 'no evidence');
    await waiting.note(ASKED);
  });

  it('leaves no lease behind when it is closed during a claim', async () => {
    const claims = sorted((await s.addMany(40)).map((id) => start(id)));
    await s.session.close();
    const { done, codes } = await claims;
    expect(codes.filter((code) => code !== 'session-expired')).toEqual([]);
    expect(await s.held()).toBe(0);
    for (const { machineId } of done) {
      expect(await s.history(machineId)).toEqual(['Started', 'Canceled session closed']);
    }
  });
});

describe('a permit in a race', () => {
  it('is refused to a machine that came back during the wait for the guard', async () => {
    const [back, lost] = [await s.addLost(), await s.addLost()];
    const [one, two] = [await recover(back), await recover(lost)];
    expect(await permits(), 'a claim takes none').toEqual([]);
    const asks = await s.behind(
      GUARD,
      () => sorted([one.note(ASKED), two.note(ASKED)]),
      async () => {
        await s.untilBlocked(2);
        await s.sql(
          `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at) VALUES ($1, now())`,
          [back],
        );
      },
    );
    expect(asks.codes).toEqual(['nothing-to-do']);
    await two.note(ASKED);
    expect(await permits()).toEqual([lost]);
    const granted = `SELECT permits_granted::int4 AS granted FROM fleet_guard WHERE scope = 'fleet'`;
    expect(await s.sql(granted), 'one, however often it is asked for').toEqual([{ granted: 1 }]);
  });

  it('that is being taken back is granted again for a request', async () => {
    const [id, second] = [await s.addLost({ permit: true }), await s.addLost()];
    const work = await s.behind(takeBack(id), () => recover(id));
    expect(await permits()).toEqual([]);
    await work.note(ASKED);
    expect(await permits()).toEqual([id]);
    expect(await refusedWith((await recover(second, s.rival)).note(ASKED))).toBe('no-permit');
  });

  it('is lost when another machine took its place meanwhile', async () => {
    const [id, second] = [await s.addLost({ permit: true }), await s.addLost()];
    const work = await s.behind(
      `${takeBack(id)}; INSERT INTO recovery_permits (machine_id, provider)
         SELECT machine_id, provider FROM machine_provided WHERE machine_id = '${second}'`,
      () => recover(id),
    );
    expect(await refusedWith(work.note(ASKED))).toBe('no-permit');
    expect(await permits()).toEqual([second]);
  });

  it('is granted again for a further request', async () => {
    const id = await s.addLost();
    const work = await recover(id);
    await work.note(ASKED);
    await s.sql(takeBack(id));
    await work.note(ASKED);
    expect(await permits()).toEqual([id]);
  });

  it('is kept by the sweep when a claim came to rely on it', async () => {
    const quarantine = { kind: 'byOperator', reason: 'test', untilMs: null, cause: null } as const;
    const id = await s.addLost({ permit: true, quarantine });
    await s.sql(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    // The claim is in its transaction: the machine is free again, but no other session can see that
    // yet.
    await s.holding(`SELECT 1 FROM recovery_permits FOR KEY SHARE`, async () => {
      expect((await s.bmdb.sweep()).permits).toBe(0);
    });
    await s.sql('DELETE FROM machine_quarantined');
    await recover(id);
    await s.sql(sweepStatementsFor(DEFAULT_LOSS).takeBackPermits.text, [[id]]);
    expect(await permits()).toEqual([id]);
  });
});

it('distinguishes dead work from work that began meanwhile', async () => {
  const id = await s.add();
  await start(id);
  await s.expire(s.session, '1 s');
  // Between its snapshot and its locks the statement waits for a lock of the test.
  const pieces = [
    ['FOR UPDATE OF w SKIP LOCKED', 'FOR UPDATE OF w'],
    [
      'WHERE w.epoch = seen.epoch',
      'WHERE (SELECT pg_advisory_xact_lock(4713)) IS NOT NULL AND w.epoch = seen.epoch',
    ],
  ] as const;
  const stalled = pieces.reduce((text, [piece, other]) => {
    expect(text).toContain(piece);
    return text.replace(piece, other);
  }, cancelling.cancelDead.text);
  const works: Work[] = [];
  const cancelled = await s.behind(
    'SELECT pg_advisory_xact_lock(4713)',
    () => s.sql(stalled, [[id], 'shepherd']),
    async () => works.push(await start(id, await openOn(s.other))),
  );
  expect(cancelled).toMatchObject([{ machine_id: id, released: false }]);
  await works[0]!.finish(STARTED);
  expect(await s.history(id)).toEqual([
    ...['Started', 'Canceled session expired', 'Started', 'Finished'],
  ]);
});

describe('a schema that changes during operation', () => {
  const alter = (type: string) => s.sql(`ALTER TABLE machine_provided ALTER provider TYPE ${type}`);

  it('costs connections and nothing else', async () => {
    const ids = await s.addMany(8);
    const readAll = () => Promise.all(ids.map((id) => s.bmdb.readMachine(id, SIGNAL)));
    await readAll();
    await (await s.session.claim('ShepherdAgentStart', ids[0]!)).cancel();
    await alter('varchar(128)');
    try {
      const [reading] = await readAll();
      expect(reading!.row!.provided).not.toBeNull();
      await Promise.all(
        ids.map(async (id) => (await s.session.claim('ShepherdAgentStart', id)).cancel()),
      );
    } finally {
      await alter('text');
    }
    await s.session.poke();
    expect((await readAll()).length).toBe(8);
  });

  it('costs no more when the server has forgotten a plan, as behind a pooler', async () => {
    const db = openPgDatabase({ url: s.server.url });
    const forget = (name: string) =>
      db.once({ doing: 'forget plans' }, statement({ name, text: () => 'DEALLOCATE ALL' }), {});
    try {
      const read = () => db.transact({ doing: 'look' }, (q) => q.rows(guarding.read, {}));
      await read();
      await forget('forget-all');
      expect(await read()).toHaveLength(1);
      await forget('forget-all-again');
      expect(await db.once({ doing: 'look' }, guarding.read, {})).toHaveLength(1);
    } finally {
      await db.close();
    }
  });
});
