import { describe, expect, it } from 'vitest';
import { statements as reports } from '../../../../src/adapters/bmdb/pg/heartbeats/agent-reports.ts';
import { statements as cancelling } from '../../../../src/adapters/bmdb/pg/claims/cancel.ts';
import { statements as leases } from '../../../../src/adapters/bmdb/pg/provisioning/leases.ts';
import { statements as effects } from '../../../../src/adapters/bmdb/pg/people/apply-effects.ts';
import { valuesOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Columns, Params, RowOf } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { ArgsOf, Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { ASKED, KEY, MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { installing } from '../../../contracts/bmdb-vectors.ts';
import { claimStand, locking, refusedWith, STARTED } from './claim-stand.ts';

// Each lock and each second check of the statements, in the one order of events that needs it. No
// test sleeps: pg_stat_activity shows which transaction waits for which.
const s = claimStand();
const GUARD = `SELECT 1 FROM fleet_guard WHERE scope = 'fleet' FOR UPDATE`;
const start = (id: MachineId, session = s.session) => session.claim('ShepherdAgentStart', id);
const handingOver = (id: MachineId) =>
  `UPDATE work SET session_id = '${s.rival.sessionId}', epoch = nextval('work_epoch'),
     process = 'ShepherdAgentStart', work_started_at = now() WHERE machine_id = '${id}'`;
const run = <P extends Params, C extends Columns>(what: Statement<P, C>, args: ArgsOf<P>) =>
  s.sql<RowOf<C>>(what.text, valuesOf(what, args));

describe('the check of a session', () => {
  it('keeps the session row until the transaction has ended, although the session has expired by then', async () => {
    const id = await s.add();
    await s.behind(
      locking('machine_provided', id),
      () => s.session.updateProvided(id, { location: 'la' }),
      async () => {
        await s.expire(s.session, '1 day');
        expect(await s.other.sweep()).toMatchObject({ sessions: 0 });
      },
    );
    expect(await s.other.sweep()).toMatchObject({ sessions: 1 });
  });

  it('makes the closing of a session wait for a running claim, and ends that work, too', async () => {
    const id = await s.add();
    let close = Promise.resolve();
    const claim = await s.behind(
      `INSERT INTO work (machine_id, exclusion_group) VALUES ('${id}', 'UnitTest1');
       DELETE FROM work WHERE machine_id = '${id}'`,
      () => refusedWith(s.session.claim('UnitTest1', id)),
      () => {
        close = s.session.close();
        return s.untilBlocked(2);
      },
    );
    expect(claim).toBe('session-expired');
    await close;
    expect(await s.held()).toBe(0);
    expect(await s.history(id)).toEqual(['Started', 'Canceled session closed']);
  });
});

describe('a lease', () => {
  it('is skipped while another transaction has locked it', async () => {
    const id = await s.add();
    await (await start(id)).cancel();
    await s.holding(locking('work', id), async () => {
      expect(await refusedWith(start(id))).toBe('work-conflict');
    });
  });

  it('stays with its session if the session was extended after the scan', async () => {
    const id = await s.add();
    const work = await start(id);
    const seen = await run(cancelling.cancelDead, { machines: [id], group: 'shepherd' });
    expect(seen).toMatchObject([{ machine_id: id, released: false }]);
    await work.finish(STARTED);
    expect(await s.history(id)).toEqual(['Started', 'Finished']);
  });

  it('is not released if it changed hands while the release waited', async () => {
    const id = await s.add();
    await start(id);
    await s.behind(handingOver(id), () => s.session.releaseWork(id));
    expect((await s.row(id)).work).toMatchObject([{ sessionId: s.rival.sessionId }]);
    expect(await s.history(id)).toEqual(['Started']);
  });

  it('is lost, and nothing is written, if it changed hands while its end waited', async () => {
    const id = await s.add();
    const work = await start(id);
    const finish = () => refusedWith(work.finish(STARTED));
    expect(await s.behind(handingOver(id), finish)).toBe('work-lost');
    const row = await s.row(id);
    expect(row.work).toMatchObject([{ sessionId: s.rival.sessionId }]);
    expect(row.agentStarted).toBeNull();
    expect(await s.history(id)).toEqual(['Started']);
  });
});

describe('a note', () => {
  it('keeps its lease while it is being written, although its session has ended', async () => {
    const id = await s.add({ startAttempt: { atMs: Date.now(), count: 1, unreached: 0 } });
    const work = await start(id);
    await s.behind(
      locking('machine_agent_start_attempt', id),
      () => work.note({ kind: 'agentStartAttempt' }),
      async () => {
        await s.expire(s.session);
        expect(await refusedWith(start(id, s.rival))).toBe('work-conflict');
      },
    );
    // From here on any session may take the lease, and its new holder sees the note.
    const { row } = await start(id, s.rival);
    expect(row.startAttempt!.count).toBe(1);
  });

  it.each([
    ['', 'ShepherdAgentStart', { kind: 'agentStartAttempt' }],
    ['about an accepted request ', 'ShepherdRecovery', ASKED],
  ] as const)(
    '%sis not written when its lease changes hands at that moment',
    async (_, process, note) => {
      const id = await (note === ASKED ? s.addLost() : s.add());
      const work = await s.session.claim(process, id);
      const noted = await s.behind(handingOver(id), () => refusedWith(work.note(note)));
      expect(noted).toBe('work-lost');
      expect(await s.row(id)).toMatchObject({ startAttempt: null, recovery: null });
    },
  );

  it('about an accepted request keeps the operator request open', async () => {
    const id = await s.addLost();
    const order = await s.submit((await s.reboot(id)).what);
    const withdrawal = await s.submit({ verb: 'withdraw', target: await s.target(id) });
    const work = await s.session.claim('ShepherdRecovery', id);
    let settled: Promise<unknown> = Promise.resolve();
    await s.behind(
      GUARD,
      () => work.note({ ...ASKED, order }),
      () => {
        settled = s.rival.applyRequest(withdrawal);
        return s.untilBlocked(2);
      },
    );
    expect(await settled).toMatchObject({ state: 'refused' });
    expect((await s.row(id)).recovery).toMatchObject({ orderKey: order });
  });

  it('about an accepted request keeps its permit from the sweep', async () => {
    const id = await s.addLost();
    const work = await s.session.claim('ShepherdRecovery', id);
    await work.note(ASKED);
    await s.sql(`UPDATE recovery_permits SET granted_at = now() - interval '1 hour'`);
    await s.behind(
      locking('machine_recovery', id),
      () => work.note(ASKED),
      async () => {
        // Nobody needs the permit any more, except for the note that is being written.
        await s.expire(s.session);
        await s.sql(
          `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
         VALUES ($1, 'byOperator', 'x', 'ann')`,
          [id],
        );
        expect(await s.other.sweep()).toMatchObject({ permits: 0 });
      },
    );
    expect((await s.row(id)).permit).toBe(true);
    expect(await s.other.sweep()).toMatchObject({ permits: 1 });
  });
});

describe('a scan of the fleet', () => {
  /**
   * Seven of seven fell silent. Another transaction locks the guard once they have been counted.
   */
  const look = async (decide: string | null) => {
    const atMs = Date.now();
    const heartbeat = { atMs: atMs - 11 * MINUTE, bootId: null };
    await s.addMany(7, { ...startedAt(atMs - 300 * MINUTE), heartbeat });
    const operator = await s.begin();
    await operator.query(GUARD);
    const looking = s.bmdb.guard.assess({ ingestUp: true });
    await s.untilBlocked();
    if (decide !== null) await operator.query(decide);
    await operator.commit();
    const { changes } = await looking;
    return changes.map(({ scope, now }) => `${scope} ${now}`);
  };

  it('freezes the machines that it counted if no decision was made meanwhile', async () => {
    expect(await look(null)).toContain('fleet frozen');
  });

  it('freezes nothing if an operator who has seen all the machines thawed the fleet meanwhile', async () => {
    expect(await look(`UPDATE fleet_guard SET thawed_at = clock_timestamp()`)).toEqual([]);
    const { counts } = await s.bmdb.guard.assess({ ingestUp: true });
    expect(counts[0]).toMatchObject({ silent: 7, newlySilent: 0 });
  });
});

it('does not inherit a job from a holder that was extended after the scan', async () => {
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

it('does not lift a contradiction that was found after the scan', async () => {
  const quarantine = { reason: 'two of it', untilMs: null, cause: null } as const;
  const [found, parked] = [
    await s.add({ quarantine: { kind: 'conflict', ...quarantine } }),
    await s.add({ quarantine: { kind: 'needsHuman', ...quarantine } }),
  ];
  for (const machine of [found, parked]) await run(effects.liftQuarantine, { machine });
  expect((await s.row(found)).quarantine?.kind).toBe('conflict');
  expect((await s.row(parked)).quarantine).toBeNull();
});

describe('an installation', () => {
  const beat = (id: MachineId) =>
    s.other.heartbeats.recordHeartbeats([{ machineId: id, publicKey: KEY, bootId: null }]);
  const asked = async () => {
    const id = await s.add({ ...startedAt(Date.now() - MINUTE), ...installing([3, null]) });
    await beat(id);
    await s.sql(`UPDATE machine_os_installation_request SET handed_out_at = NULL`);
    return id;
  };
  const handedOutAt = async (id: MachineId) => (await s.row(id)).installation.handedOutAtMs;

  it('is not handed out while it is being forbidden', async () => {
    const id = await asked();
    const { provider, slotId } = await s.target(id);
    const told = await s.behind(
      `SELECT 1 FROM machine_os_installation_request FOR NO KEY UPDATE;
       INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
       VALUES ('${provider}', '${slotId}', 'preserve', 'ann', 'x')`,
      () => beat(id),
    );
    expect(told).toMatchObject([{ kind: 'accepted', installationRequest: null }]);
    expect(await handedOutAt(id)).toBeNull();
  });

  it('is neither marked again nor taken back once it was handed out', async () => {
    const id = await asked();
    const machines = [id];
    expect(await run(reports.handOut, { machines })).toHaveLength(1);
    const first = await handedOutAt(id);
    expect(await run(reports.handOut, { machines })).toEqual([]);
    expect(await handedOutAt(id)).toBe(first);
    expect(await run(effects.cancelInstall, { machine: id, generation: '3' })).toEqual([]);
    expect((await s.row(id)).installation.requestGeneration).toBe(3n);
  });

  it('is taken back only if it is the one that the decision was about', async () => {
    const id = await asked();
    expect(await run(effects.cancelInstall, { machine: id, generation: '2' })).toEqual([]);
    expect(await run(effects.cancelInstall, { machine: id, generation: '3' })).toHaveLength(1);
    expect((await s.row(id)).installation.requestGeneration).toBeNull();
  });
});
