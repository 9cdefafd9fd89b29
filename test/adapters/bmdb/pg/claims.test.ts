import { describe, expect, it } from 'vitest';
import type { BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { STEADY } from '../../../contracts/bmdb-stage.ts';
import {
  addMachine,
  addMachines,
  claimStand,
  codeOfRefusal,
  heldLeases,
  historyOf,
  holding,
  openOn,
  SIGNAL,
  sorted,
  STARTED,
  untilBlocked,
} from './claim-stand.ts';
import type pg from 'pg';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as guarding } from '../../../../src/adapters/bmdb/pg/guard/guard-rows.ts';
import { statementsFor as sweepStatementsFor } from '../../../../src/adapters/bmdb/pg/sweep.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { openPgDatabase } from './pg-harness.ts';

const s = claimStand();
const lost = () => startedAt(Date.now() - 40 * MINUTE);
const expire = (dead: BmdbSession) =>
  s.server.sql.query(
    `UPDATE sessions SET session_deadline = now() - interval '1 ms' WHERE session_id = $1`,
    [dead.sessionId],
  );

describe('sessions that race', () => {
  it('for 200 machines get each of them once, and never stand in a circle', async () => {
    const ids = await addMachines(s, 200);
    const claims = [s.session, s.rival].flatMap((each, turn) =>
      (turn === 0 ? ids : ids.toReversed()).map((id) => each.claim('ShepherdAgentStart', id)),
    );
    const { done, codes } = await sorted(claims);
    expect(done.map((work) => work.machineId).toSorted()).toEqual(ids.toSorted());
    expect(new Set(done.map((work) => work.epoch)).size).toBe(200);
    expect(codes).toEqual(ids.map(() => 'work-conflict'));
    await Promise.all(done.map((work) => work.finish(STARTED)));
    for (const id of ids) expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
    const { rows } = await s.server.sql.query<{ deadlocks: string }>(
      `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`,
    );
    expect(rows).toEqual([{ deadlocks: '0' }]);
  });

  it('where there is no lease yet get each machine once, too', async () => {
    const ids = await addMachines(s, 50);
    const { done, codes } = await sorted(
      [s.session, s.rival].flatMap((each) => ids.map((id) => each.claim('UnitTest1', id))),
    );
    expect(done.map((work) => work.machineId).toSorted()).toEqual(ids.toSorted());
    expect(codes).toEqual(ids.map(() => 'work-conflict'));
  });

  it('never start what another finished after they had looked', async () => {
    const id = await addMachine(s);
    const late = await holding(
      s,
      `SELECT 1 FROM sessions WHERE session_id = '${s.session.sessionId}' FOR UPDATE`,
      async () => {
        // Its snapshot is taken, and it waits to see whether its session lives.
        const claim = sorted([s.session.claim('ShepherdAgentStart', id)]);
        await untilBlocked(s, 1);
        await (await s.rival.claim('ShepherdAgentStart', id)).finish(STARTED);
        return { claim };
      },
    );
    expect((await late.claim).codes).toEqual(['work-conflict']);
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
    expect(await codeOfRefusal(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
  });

  it('do not wait for one that is just finishing, nor take its machine', async () => {
    const id = await addMachine(s, { startAttempt: { atMs: Date.now(), count: 1, unreached: 0 } });
    const work = await s.rival.claim('ShepherdAgentStart', id);
    const finished = await holding(
      s,
      `SELECT 1 FROM machine_agent_start_attempt WHERE machine_id = '${id}' FOR UPDATE`,
      async () => {
        const finish = work.finish(STARTED);
        await untilBlocked(s, 1);
        expect(await codeOfRefusal(s.session.claim('ShepherdAgentStart', id))).toBe(
          'work-conflict',
        );
        return { finish };
      },
    );
    await finished.finish;
    expect(await codeOfRefusal(s.session.claim('ShepherdAgentStart', id))).toBe('nothing-to-do');
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
  });

  it('never hold more permits than the budget allows', async () => {
    const [one, two] = await addMachines(s, 2, lost());
    const works = [
      await s.session.claim('ShepherdRecovery', one!),
      await s.rival.claim('ShepherdRecovery', two!),
    ];
    const asks = await holding(
      s,
      `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`,
      async () => {
        const both = sorted(works.map((work) => work.note(REBOOT)));
        await untilBlocked(s, 2);
        return { both };
      },
    );
    const { done, codes } = await asks.both;
    expect(done).toHaveLength(1);
    expect(codes).toEqual(['no-permit']);
    const { machines } = await s.other.scan(SIGNAL);
    expect(machines.filter((row) => row.permit)).toHaveLength(1);
  });

  it('with many of them for the ladder, hold as many permits as the budget allows', async () => {
    const ids = await addMachines(s, 61, lost());
    const third = await openOn(s.other);
    const works = await Promise.all(
      [s.session, s.rival, third].flatMap((each, at) =>
        ids.slice(at * 20, at * 20 + 20).map((id) => each.claim('ShepherdRecovery', id)),
      ),
    );
    const { done, codes } = await sorted(works.map((work) => work.note(REBOOT)));
    expect(done).toHaveLength(3);
    expect(codes).toEqual(Array.from({ length: 57 }, () => 'no-permit'));
    await Promise.all(works.map((work) => work.fail(STEADY, 'no evidence')));
    const { machines } = await s.other.scan(SIGNAL);
    expect(machines.filter((row) => row.permit)).toEqual([]);
  });
});

const REBOOT = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;

describe('a session', () => {
  it('ends a work once, though it tries twice at once', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    const { done, codes } = await sorted([work.finish(STARTED), work.finish(STARTED)]);
    expect([done.length, codes]).toEqual([1, ['already-finished']]);
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
  });

  it('cannot end with an old claim what it claimed anew', async () => {
    const id = await addMachine(s);
    const old = await s.session.claim('ShepherdAgentStart', id);
    await s.session.releaseWork(id);
    const work = await s.session.claim('ShepherdAgentStart', id);
    expect(await codeOfRefusal(old.finish(STARTED))).toBe('work-lost');
    expect(await codeOfRefusal(old.note({ kind: 'agentStartAttempt' }))).toBe('work-lost');
    expect((await s.bmdb.readMachine(id, SIGNAL)).row).toMatchObject({
      agentStarted: null,
      startAttempt: null,
      work: [{ epoch: work.epoch }],
    });
    await work.finish(STARTED);
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled released', 'Started', 'Finished']);
  });

  it('that is dead by the clock of the database writes nothing, though nobody took over', async () => {
    const [held, free] = await addMachines(s, 2);
    const work = await s.session.claim('ShepherdAgentStart', held!);
    await expire(s.session);
    expect(await codeOfRefusal(work.finish(STARTED))).toBe('session-expired');
    expect(s.session.signal.aborted).toBe(true);
    const second = await openOn(s.bmdb);
    await expire(second);
    expect(await codeOfRefusal(second.claim('ShepherdAgentStart', free!))).toBe('session-expired');
    expect(second.signal.aborted).toBe(true);
    expect((await s.bmdb.readMachine(held!, SIGNAL)).row!.agentStarted).toBeNull();
    expect(await historyOf(s, held!)).toEqual(['Started']);
    expect(await historyOf(s, free!)).toEqual([]);
  });

  it('that takes over from a dead one goes on under its permit', async () => {
    const [one, two] = await addMachines(s, 2, lost());
    await (await s.session.claim('ShepherdRecovery', one!)).note(REBOOT);
    await expire(s.session);
    const waiting = await s.rival.claim('ShepherdRecovery', two!);
    expect(await codeOfRefusal(waiting.note(REBOOT))).toBe('no-permit');
    const work = await s.rival.claim('ShepherdRecovery', one!);
    expect(work.row.permit).toBe(true);
    await work.fail(STEADY, 'no evidence');
    await waiting.note(REBOOT);
  });

  it('that is closed leaves no lease behind, whatever it was about to claim', async () => {
    const ids = await addMachines(s, 40);
    const claims = sorted(ids.map((id) => s.session.claim('ShepherdAgentStart', id)));
    await s.session.close();
    const { done, codes } = await claims;
    expect(codes.filter((code) => code !== 'session-expired')).toEqual([]);
    expect(await heldLeases(s)).toBe(0);
    for (const { machineId } of done) {
      expect(await historyOf(s, machineId)).toEqual(['Started', 'Canceled session closed']);
    }
  });
});

const addLost = (change: Partial<MachineRow> = {}) =>
  addMachine(s, { ...startedAt(Date.now() - 40 * MINUTE), ...change });
const permits = async (): Promise<string[]> => {
  const { rows } = await s.server.sql.query<{ id: string }>(
    `SELECT machine_id AS id FROM recovery_permits`,
  );
  return rows.map(({ id }) => id);
};
const takeBack = (id: MachineId) => `DELETE FROM recovery_permits WHERE machine_id = '${id}'`;
const ASKED = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;

describe('the permit of a machine', () => {
  it('is not granted when it is back once the guard was waited for', async () => {
    const [back, lost] = [await addLost(), await addLost()];
    const [one, two] = [
      await s.session.claim('ShepherdRecovery', back),
      await s.session.claim('ShepherdRecovery', lost),
    ];
    expect(await permits(), 'a claim takes none').toEqual([]);
    const { asks } = await holding(
      s,
      `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`,
      async () => {
        const asks = [one.note(ASKED), two.note(ASKED)];
        await untilBlocked(s, 2);
        await s.server.sql.query(
          `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at) VALUES ($1, now())`,
          [back],
        );
        return { asks };
      },
    );
    expect((await sorted(asks)).codes).toEqual(['nothing-to-do']);
    await two.note(ASKED);
    expect(await permits()).toEqual([lost]);
    const { rows } = await s.server.sql.query(
      `SELECT permits_granted::int4 AS granted FROM fleet_guard WHERE scope = 'fleet'`,
    );
    expect(rows, 'one, however often it is asked for').toEqual([{ granted: 1 }]);
  });
});

describe('a permit that is being taken back', () => {
  it('is not relied on by a claim, whose request is granted a new one', async () => {
    const id = await addLost({ permit: true });
    const second = await addLost();
    const claimed = await holding(s, takeBack(id), async () => {
      const work = s.session.claim('ShepherdRecovery', id);
      await untilBlocked(s, 1);
      return { work };
    });
    const work = await claimed.work;
    expect(await permits()).toEqual([]);
    await work.note(ASKED);
    expect(await permits()).toEqual([id]);
    const other = await s.rival.claim('ShepherdRecovery', second);
    expect(await codeOfRefusal(other.note(ASKED))).toBe('no-permit');
  });

  it('is not had again when somebody else took its place meanwhile', async () => {
    const id = await addLost({ permit: true });
    const second = await addLost();
    const claimed = await holding(
      s,
      `${takeBack(id)}; INSERT INTO recovery_permits (machine_id, provider)
         SELECT machine_id, provider FROM machine_provided WHERE machine_id = '${second}'`,
      async () => {
        const work = s.session.claim('ShepherdRecovery', id);
        await untilBlocked(s, 1);
        return { work };
      },
    );
    expect(await codeOfRefusal((await claimed.work).note(ASKED))).toBe('no-permit');
    expect(await permits()).toEqual([second]);
  });

  it('is granted anew when something more is asked', async () => {
    const id = await addLost();
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note(ASKED);
    await s.server.sql.query(takeBack(id));
    expect(await permits()).toEqual([]);
    await work.note(ASKED);
    expect(await permits()).toEqual([id]);
  });

  it('is kept by the sweep when a claim has come to rely on it', async () => {
    const id = await addLost({
      permit: true,
      quarantine: { kind: 'byOperator', reason: 'test', untilMs: null },
    });
    await s.server.sql.query(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    // The claim is in its transaction: the machine is free again, but nobody can see it yet.
    const claiming = `SELECT 1 FROM recovery_permits FOR KEY SHARE`;
    await holding(s, claiming, async () => {
      expect((await s.bmdb.sweep()).permits).toBe(0);
    });
    const { takeBackPermits } = sweepStatementsFor(DEFAULT_LOSS);
    await s.server.sql.query('DELETE FROM machine_quarantined');
    await s.session.claim('ShepherdRecovery', id);
    const { rowCount } = await s.server.sql.query(takeBackPermits.text, [[id]]);
    expect([rowCount, await permits()]).toEqual([0, [id]]);
  });
});

it('dead work is told from work that began while it was looked for', async () => {
  const id = await addMachine(s);
  await s.session.claim('ShepherdAgentStart', id);
  await s.server.sql.query(
    `UPDATE sessions SET session_deadline = now() - interval '1 s' WHERE session_id = $1`,
    [s.session.sessionId],
  );
  const slow: pg.PoolClient = await s.server.sql.connect();
  try {
    // Between its snapshot and its locks the statement waits for a lock of ours.
    const text = cancelling.cancelDead.text.replace(
      'FOR UPDATE OF w SKIP LOCKED',
      'FOR UPDATE OF w',
    );
    expect(text).not.toBe(cancelling.cancelDead.text);
    const { cancelled, work } = await holding(s, 'SELECT pg_advisory_xact_lock(4713)', async () => {
      await slow.query('BEGIN ISOLATION LEVEL READ COMMITTED');
      const stalled = text.replace(
        'WHERE w.epoch = seen.epoch',
        'WHERE (SELECT pg_advisory_xact_lock(4713)) IS NOT NULL AND w.epoch = seen.epoch',
      );
      expect(stalled).not.toBe(text);
      const statement = slow.query(stalled, [[id], 'shepherd']);
      await untilBlocked(s, 1);
      const fresh = await openOn(s.other);
      return { cancelled: statement, work: await fresh.claim('ShepherdAgentStart', id) };
    });
    const { rows } = await cancelled;
    await slow.query('COMMIT');
    expect(rows).toMatchObject([{ machine_id: id, released: false }]);
    await work.finish(STARTED);
  } finally {
    slow.release();
  }
  expect(await historyOf(s, id)).toEqual([
    ...['Started', 'Canceled session expired', 'Started', 'Finished'],
  ]);
});

describe('a schema that is changed under way', () => {
  const alter = (type: string) =>
    s.server.sql.query(`ALTER TABLE machine_provided ALTER provider TYPE ${type}`);

  it('costs connections, and nothing else', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => addMachine(s)));
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
      db.once(
        { doing: 'forget plans' },
        statement({ name, params: {}, columns: {}, text: () => 'DEALLOCATE ALL' }),
        {},
      );
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
