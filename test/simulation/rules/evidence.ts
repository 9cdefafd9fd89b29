import type { Evidence, Lease, Noted } from '../../faults/evidence.ts';
import { judge, type OracleRule as RuleId } from '../../faults/oracle.ts';
import type { HeartbeatOutcome, HeartbeatRecord } from '../../../src/domain/heartbeat.ts';
import type { MachineRows, RecordedStep } from '../recorder.ts';
import { changesOf, type SimulationRule, type RuleScene } from './rule.ts';

type Growing<Type> = Type extends readonly (infer Item)[] ? Item[] : Type;
type Gathered = { -readonly [Key in keyof Evidence]: Growing<Evidence[Key]> };

/** The oracle's rules of the long runs, each with the sentence that it stands for. */
const SENTENCES: Readonly<Record<RuleId, string>> = {
  'history-alternates': 'S9: every Started has exactly one Finished, Failed or Canceled',
  'one-end-each': 'S9: every Started has exactly one Finished, Failed or Canceled',
  'epochs-rise': 'S4: the epoch of a lease is newer than those before it',
  'history-append-only': 'S9: history is append-only',
  'leases-follow': 'S3: a lease goes from hand to hand',
  'lease-stolen': 'S3: never two live sessions hold exclusive work on one machine',
  'dead-session-wrote': 'S4: nothing is written after the deadline of the session',
  'wrote-without-lease': 'S4: commits of a stale epoch affect no rows',
  'effect-without-lease': 'S4: no effect starts without the lease of a live session',
  'effect-unnoted': 'S8: an attempt is noted before it is begun',
  'ack-lost': 'S14 (I8): what was acknowledged is in the database',
  'heartbeat-lost': 'S10, S14: an acknowledged heartbeat is in the database and never goes back',
  'budget-exceeded': 'S7 (I5): never more machines recover at once than the budget allows',
  'permit-while-frozen': 'S7 (I5): nobody enters recovery while it is frozen',
  'permit-in-grace': 'S6: nobody recovers before heartbeats were taken in for a whole window',
  'never-worked-on': 'L1: every machine is worked on',
  'locked-in-the-end': 'L5: a stop releases every lease',
};

/** Judges the record of the whole run as the oracle judges a PostgreSQL record. */
export const EVIDENCE: readonly SimulationRule[] = [
  {
    id: 'evidence',
    sentence: 'S1-S14: what the tables mean and what must never be true of them',
    watch(scene, say) {
      const { evidence, gather } = createGathering(scene);
      return (step) => {
        gather(step);
        if (step.kind !== 'end') return;
        for (const { rule, detail } of judge(evidence())) {
          say(`${rule} (${SENTENCES[rule]}): ${detail}`);
        }
      };
    },
  },
];

export function createGathering({ world }: RuleScene) {
  const { tables } = world.bmdb;
  const beats: { machineId: string; atMs: number }[] = [];
  const acked: { machine: string; atMs: number }[] = [];
  const writers = new Map<string, string | null>();
  const runs = new Map<string, string>();
  const found: Pick<
    Gathered,
    'sessions' | 'leases' | 'history' | 'permits' | 'guard' | 'pulses' | 'silenced'
  > = {
    ...{ sessions: [], leases: [], history: [], permits: [], guard: [], pulses: [], silenced: [] },
  };
  let xid = 0;

  function ofMachine(noted: Noted, machineId: string, both: Both) {
    const [from, to] = [leaseOf(both.before), leaseOf(both.after)];
    if (from?.epoch !== to?.epoch) {
      found.leases.push({ ...noted, machineId, group: 'shepherd', from, to });
    }
    const { provided } = (both.after ?? both.before)!.row;
    const [had, has] = [both.before, both.after].map((each) => each?.permitGrantedAtMs ?? null);
    if ((had === null) !== (has === null)) {
      const isOrdered = both.after?.row.recovery?.orderKey !== null;
      const { provider = '', location = null } = provided ?? {};
      // Orders may have a permit during the grace period.
      if (has === null || !isOrdered) {
        found.permits.push({ ...noted, machineId, provider, location, granted: has !== null });
      }
    }
    const [heard, hears] = [both.before?.row.heartbeat?.atMs, both.after?.row.heartbeat?.atMs];
    if (hears !== undefined && hears !== heard) beats.push({ machineId, atMs: hears });
    if (heard !== undefined && hears === undefined) found.silenced.push({ ...noted, machineId });
  }

  function gather(step: RecordedStep) {
    if (step.kind === 'answer' && step.call.path === 'bmdb.heartbeats.recordHeartbeats') {
      const records = step.call.args[0] as readonly HeartbeatRecord[];
      const outcomes = (step.call.result ?? []) as readonly HeartbeatOutcome[];
      for (const [at, outcome] of outcomes.entries()) {
        const machine = records[at]!.machineId;
        if (outcome.kind === 'accepted') acked.push({ machine, atMs: outcome.atMs });
      }
    }
    if (step.kind !== 'write') return;
    xid += 1;
    const { atMs, by } = step;
    const noted: Noted = { xid: String(xid), port: null, atMs, begunAtMs: atMs };
    writers.set(noted.xid, by);
    for (const { sessionId, before, after } of changesOf(step, 'session')) {
      if (before === null && by) runs.set(sessionId, by);
      const run = runs.get(sessionId) ?? '';
      found.sessions.push({ ...noted, sessionId, deadlineMs: after, run });
    }
    for (const { machineId, ...both } of changesOf(step, 'machine'))
      ofMachine(noted, machineId, both);
    for (const { line } of changesOf(step, 'history')) {
      found.history.push({ ...line, ...noted, seq: String(line.seq) });
    }
    for (const { scope, after } of changesOf(step, 'guard')) {
      const { frozen, ingestUpSinceMs: upSinceMs = null } = after ?? { frozen: null };
      found.guard.push({ ...noted, scope, frozenAtMs: frozen?.atMs ?? null, upSinceMs });
    }
    for (const { after } of changesOf(step, 'pulse')) {
      found.pulses.push({ ...noted, seenAtMs: after });
    }
  }
  return {
    gather,
    evidence: (): Evidence => ({
      ...found,
      rewritten: 0,
      tags: [],
      beats,
      acknowledged: { beats: acked, claims: [], ends: [] },
      effects: [],
      unfenced: new Set(),
      writerOf: ({ xid: at }) => writers.get(at) ?? null,
      // A separate rule counts permits against the groups of that moment.
      budget: {
        fleet: Infinity,
        groups: new Map(
          found.permits.flatMap(({ provider, location }) => [
            [provider, Infinity],
            [String(location), Infinity],
          ]),
        ),
      },
      grace: { heartbeatMs: 600_000, gapMs: 60_000 },
      end: {
        machines: [...tables.machines.values()].map(({ row }) => ({
          machineId: row.machineId,
          heartbeatMs: row.heartbeat?.atMs ?? null,
        })),
        held: [...tables.machines.values()].flatMap(({ leases, row }) =>
          leases.map(({ process }) => `${row.machineId}: ${process}`),
        ),
        historyRows: tables.history.length,
      },
    }),
  };
}

interface Both {
  readonly before: MachineRows | null;
  readonly after: MachineRows | null;
}
/** All processes of the fleet exclude each other, so a machine has at most one lease. */
function leaseOf(rows: MachineRows | null): Lease | null {
  const lease = rows?.leases.at(-1);
  return lease ? { ...lease } : null;
}
