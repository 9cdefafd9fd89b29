import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as guarding } from '../../../../src/adapters/bmdb/pg/guard/guard-rows.ts';
import { statementsFor as sweepStatementsFor } from '../../../../src/adapters/bmdb/pg/sweep.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  historyOf,
  holding,
  openOn,
  SIGNAL,
  sorted,
  STARTED,
  untilBlocked,
} from './claim-stand.ts';
import { openPgDatabase } from './pg-harness.ts';

const s = claimStand();

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
      db.rows(
        'forget plans',
        statement({ name, params: {}, columns: {}, text: () => 'DEALLOCATE ALL' }),
        {},
      );
    try {
      const read = () => db.transact({ doing: 'look' }, (q) => q.rows(guarding.read, {}));
      await read();
      await forget('forget-all');
      expect(await read()).toHaveLength(1);
      await forget('forget-all-again');
      expect(await db.rows('look', guarding.read, {})).toHaveLength(1);
    } finally {
      await db.close();
    }
  });
});
