import { describe, expect, it } from 'vitest';
import { statements as reports } from '../../../../src/adapters/bmdb/pg/heartbeats/agent-reports.ts';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as leases } from '../../../../src/adapters/bmdb/pg/provisioning/leases.ts';
import { statements as effects } from '../../../../src/adapters/bmdb/pg/people/settle-effects.ts';
import { valuesOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Columns, Params, RowOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { ArgsOf, Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { MachineId, SessionId } from '../../../../src/domain/ids.ts';
import { KEY, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { requestFor, targetOf } from '../../../contracts/requests-of.ts';
import { installing } from '../../../contracts/bmdb-vectors.ts';
import {
  addMachine,
  claimStand,
  codeOfRefusal,
  heldLeases,
  historyOf,
  holding,
  SIGNAL,
  STARTED,
  transactionOn,
  untilBlocked,
} from './claim-stand.ts';

// Each lock and each second look of the statements, in the one order of events that needs it. Nobody
// sleeps: who waits for whom is seen in pg_stat_activity.
const s = claimStand();
const GROUP = 'shepherd';
const ASKED = { kind: 'recoveryAsked', rung: 'rebooting', bootId: null } as const;

/** By the database's clock only: nobody has told its daemon. */
const expire = (session: SessionId, ago = '1 ms') =>
  s.server.sql.query(
    `UPDATE sessions SET session_interval_seconds = 1, session_deadline = now() - $2::interval
     WHERE session_id = $1`,
    [session, ago],
  );
const rowOf = async (id: MachineId) => (await s.other.readMachine(id, SIGNAL)).row!;
const addLost = () => addMachine(s, startedAt(Date.now() - 40 * MINUTE));
const locking = (table: string, id: MachineId) =>
  `SELECT 1 FROM ${table} WHERE machine_id = '${id}' FOR UPDATE`;
const handingOver = (id: MachineId, to: SessionId) =>
  `UPDATE work SET session_id = '${to}', epoch = nextval('work_epoch'),
     process = 'ShepherdAgentStart', work_started_at = now() WHERE machine_id = '${id}'`;
async function run<P extends Params, C extends Columns>(
  what: Statement<P, C>,
  args: ArgsOf<P>,
): Promise<RowOf<C>[]> {
  const { rows } = await s.server.sql.query(what.text, [...valuesOf(what, args)]);
  return rows as RowOf<C>[];
}

describe('the check of a session', () => {
  it('keeps the session until the transaction has ended, however dead it is by then', async () => {
    const id = await addMachine(s);
    const { update } = await holding(s, locking('machine_provided', id), async () => {
      const update = s.session.updateProvided(id, { location: 'la' });
      await untilBlocked(s, 1);
      await expire(s.session.sessionId, '1 day');
      expect(await s.other.sweep()).toMatchObject({ sessions: 0 });
      return { update };
    });
    await update;
    expect(await s.other.sweep()).toMatchObject({ sessions: 1 });
  });

  it('has a goodbye wait for a claim that is under way, and end that work, too', async () => {
    const id = await addMachine(s);
    const { claim, close } = await holding(
      s,
      `INSERT INTO work (machine_id, exclusion_group) VALUES ('${id}', 'UnitTest1');
       DELETE FROM work WHERE machine_id = '${id}'`,
      async () => {
        const claim = codeOfRefusal(s.session.claim('UnitTest1', id));
        await untilBlocked(s, 1);
        const close = s.session.close();
        await untilBlocked(s, 2);
        return { claim, close };
      },
    );
    expect(await claim).toBe('session-expired');
    await close;
    expect(await heldLeases(s)).toBe(0);
    expect(await historyOf(s, id)).toEqual(['Started', 'Canceled session closed']);
  });
});

describe('a lease', () => {
  it('that somebody has locked is not waited for', async () => {
    const id = await addMachine(s);
    await (await s.session.claim('ShepherdAgentStart', id)).cancel();
    await holding(s, locking('work', id), async () => {
      const claim = s.session.claim('ShepherdAgentStart', id);
      expect(await codeOfRefusal(claim)).toBe('work-conflict');
    });
  });

  it('of a session that was extended since somebody looked is left to it', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    const seen = await run(cancelling.cancelDead, { machines: [id], group: GROUP });
    expect(seen).toMatchObject([{ machine_id: id, released: false }]);
    await work.finish(STARTED);
    expect(await historyOf(s, id)).toEqual(['Started', 'Finished']);
  });

  it('that changed hands while its release waited is not released', async () => {
    const id = await addMachine(s);
    await s.session.claim('ShepherdAgentStart', id);
    const { release } = await holding(s, handingOver(id, s.rival.sessionId), async () => {
      const release = s.session.releaseWork(id);
      await untilBlocked(s, 1);
      return { release };
    });
    await release;
    expect((await rowOf(id)).work).toMatchObject([{ sessionId: s.rival.sessionId }]);
    expect(await historyOf(s, id)).toEqual(['Started']);
  });

  it('that changed hands while its end waited is lost, and nothing is written', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    const { finish } = await holding(s, handingOver(id, s.rival.sessionId), async () => {
      const finish = codeOfRefusal(work.finish(STARTED));
      await untilBlocked(s, 1);
      return { finish };
    });
    expect(await finish).toBe('work-lost');
    const row = await rowOf(id);
    expect(row.work).toMatchObject([{ sessionId: s.rival.sessionId }]);
    expect(row.agentStarted).toBeNull();
    expect(await historyOf(s, id)).toEqual(['Started']);
  });
});

describe('a note', () => {
  it('keeps its lease while it is being written, although its session has ended', async () => {
    const id = await addMachine(s, { startAttempt: { atMs: Date.now(), count: 1, unreached: 0 } });
    const work = await s.session.claim('ShepherdAgentStart', id);
    const { note } = await holding(s, locking('machine_agent_start_attempt', id), async () => {
      const note = work.note({ kind: 'agentStartAttempt' });
      await untilBlocked(s, 1);
      await expire(s.session.sessionId);
      const claim = s.rival.claim('ShepherdAgentStart', id);
      expect(await codeOfRefusal(claim)).toBe('work-conflict');
      return { note };
    });
    await note;
    // From here on the lease is anybody's, and the note is seen by whoever takes it.
    const { row } = await s.rival.claim('ShepherdAgentStart', id);
    expect(row.startAttempt!.count).toBe(1);
  });

  it('of a lease that changes hands just then is not written', async () => {
    const id = await addMachine(s);
    const work = await s.session.claim('ShepherdAgentStart', id);
    const { note } = await holding(s, handingOver(id, s.rival.sessionId), async () => {
      const note = codeOfRefusal(work.note({ kind: 'agentStartAttempt' }));
      await untilBlocked(s, 1);
      return { note };
    });
    expect(await note).toBe('work-lost');
    expect((await rowOf(id)).startAttempt).toBeNull();
  });

  it('that something is asked for, of a lease that changes hands just then, is not written', async () => {
    const id = await addLost();
    const work = await s.session.claim('ShepherdRecovery', id);
    const { note } = await holding(s, handingOver(id, s.rival.sessionId), async () => {
      const note = codeOfRefusal(work.note(ASKED));
      await untilBlocked(s, 1);
      return { note };
    });
    expect(await note).toBe('work-lost');
    expect((await rowOf(id)).recovery).toBeNull();
  });

  it('that something is asked for under an order keeps the order open', async () => {
    const id = await addLost();
    const target = targetOf(await rowOf(id));
    const ask = { verb: 'reboot', target, force: false } as const;
    const order = (await s.bmdb.requests.file(requestFor(ask, { key: 'one' }))).key;
    await s.bmdb.requests.file(requestFor({ verb: 'withdraw', target }, { key: 'two' }));
    const work = await s.session.claim('ShepherdRecovery', id);
    const guard = `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`;
    const { note, settled } = await holding(s, guard, async () => {
      const note = work.note({ ...ASKED, order });
      await untilBlocked(s, 1);
      const settled = s.rival.settle('two');
      await untilBlocked(s, 2);
      return { note, settled };
    });
    await note;
    expect(await settled).toMatchObject({ state: 'refused' });
    expect((await rowOf(id)).recovery).toMatchObject({ orderKey: order });
  });

  it('that something is asked for keeps its permit from whoever sweeps', async () => {
    const id = await addLost();
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note(ASKED);
    await s.server.sql.query(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    const { note } = await holding(s, locking('machine_recovery', id), async () => {
      const note = work.note(ASKED);
      await untilBlocked(s, 1);
      // Nobody needs the permit any more, but for what is just being noted under it.
      await expire(s.session.sessionId);
      await s.server.sql.query(
        `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
         VALUES ($1, 'byOperator', 'x', 'ann')`,
        [id],
      );
      expect(await s.other.sweep()).toMatchObject({ permits: 0 });
      return { note };
    });
    await note;
    expect((await rowOf(id)).permit).toBe(true);
    expect(await s.other.sweep()).toMatchObject({ permits: 1 });
  });
});

describe('a look at the fleet', () => {
  /** Seven of seven fell silent; somebody has locked the guard when they have been counted. */
  const look = async (decide: string | null) => {
    for (let at = 0; at < 7; at++) {
      await addMachine(s, {
        ...startedAt(Date.now() - 300 * MINUTE),
        heartbeat: { atMs: Date.now() - 11 * MINUTE, bootId: null },
      });
    }
    const operator = await transactionOn(s);
    await operator.query(`SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`);
    const looking = s.bmdb.guard.assess({ ingestUp: true });
    await untilBlocked(s, 1);
    if (decide !== null) await operator.query(decide);
    await operator.commit();
    const { changes } = await looking;
    return changes.map(({ scope, now }) => `${scope} ${now}`);
  };

  it('freezes whom it counted, when nobody has decided anything meanwhile', async () => {
    expect(await look(null)).toContain('fleet frozen');
  });

  it('judges nothing where an operator has thawed it meanwhile, who has seen all of them', async () => {
    expect(await look(`UPDATE fleet_guard SET thawed_at = clock_timestamp()`)).toEqual([]);
    const { counts } = await s.bmdb.guard.assess({ ingestUp: true });
    expect(counts[0]).toMatchObject({ silent: 7, newlySilent: 0 });
  });
});

it('a job is not inherited from a holder that was extended since somebody looked', async () => {
  const { epoch } = (await s.rival.lease('janitor'))!;
  const taken = await run(leases.inheritLease, {
    name: 'janitor',
    session: s.session.sessionId,
    holder: s.rival.sessionId,
    from: epoch,
  });
  expect(taken).toEqual([]);
  expect((await s.rival.lease('janitor'))?.epoch).toBe(epoch);
});

it('a contradiction that was found since somebody looked is not lifted', async () => {
  const quarantine = { reason: 'two of it', untilMs: null } as const;
  const [found, parked] = [
    await addMachine(s, { quarantine: { kind: 'conflict', ...quarantine } }),
    await addMachine(s, { quarantine: { kind: 'needsHuman', ...quarantine } }),
  ];
  for (const machine of [found, parked]) await run(effects.liftQuarantine, { machine });
  expect((await rowOf(found)).quarantine?.kind).toBe('conflict');
  expect((await rowOf(parked)).quarantine).toBeNull();
});

describe('an installation', () => {
  const beat = (id: MachineId) =>
    s.other.heartbeats.recordHeartbeats([{ machineId: id, publicKey: KEY, bootId: null }]);
  const asked = async () => {
    const id = await addMachine(s, { ...startedAt(Date.now() - MINUTE), ...installing([3, null]) });
    await beat(id);
    await s.server.sql.query(`UPDATE machine_os_installation_request SET handed_out_at = NULL`);
    return id;
  };
  const handedOutAt = async (id: MachineId) => (await rowOf(id)).installation.handedOutAtMs;

  it('that is being forbidden just now is not handed out', async () => {
    const id = await asked();
    const forbidding = await transactionOn(s);
    await forbidding.query(
      `SELECT 1 FROM machine_os_installation_request WHERE machine_id = $1 FOR NO KEY UPDATE`,
      [id],
    );
    const { provided } = await rowOf(id);
    await forbidding.query(
      `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
       VALUES ($1, $2, 'preserve', 'ann', 'x')`,
      [provided!.provider, provided!.reservationId],
    );
    const told = beat(id);
    await untilBlocked(s, 1);
    await forbidding.commit();
    expect(await told).toMatchObject([{ kind: 'accepted', installationRequest: null }]);
    expect(await handedOutAt(id)).toBeNull();
  });

  it('that was handed out is not marked once more, and not taken back', async () => {
    const id = await asked();
    const machines = [id];
    expect(await run(reports.handOut, { machines })).toHaveLength(1);
    const first = await handedOutAt(id);
    expect(await run(reports.handOut, { machines })).toEqual([]);
    expect(await handedOutAt(id)).toBe(first);
    expect(await run(effects.cancelInstall, { machine: id, generation: '3' })).toEqual([]);
    expect((await rowOf(id)).installation.requestGeneration).toBe(3n);
  });

  it('is taken back only if it is the one that was decided on', async () => {
    const id = await asked();
    expect(await run(effects.cancelInstall, { machine: id, generation: '2' })).toEqual([]);
    expect(await run(effects.cancelInstall, { machine: id, generation: '3' })).toHaveLength(1);
    expect((await rowOf(id)).installation.requestGeneration).toBeNull();
  });
});
