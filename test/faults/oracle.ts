import type {
  Evidence,
  HistoryRow,
  Lease,
  LeaseChange,
  Noted,
  SessionChange,
  TagWrite,
} from './evidence.ts';

/**
 * Judges the record of a run. It knows nothing of our code: only what the tables mean and what must
 * never be true of them. It is pure, so forged records prove that it can say no.
 */

export interface Violation {
  readonly rule: OracleRule;
  readonly detail: string;
}
export type OracleRule =
  | 'history-alternates'
  | 'one-end-each'
  | 'epochs-rise'
  | 'history-append-only'
  | 'leases-follow'
  | 'lease-stolen'
  | 'dead-session-wrote'
  | 'wrote-without-lease'
  | 'effect-without-lease'
  | 'effect-unnoted'
  | 'ack-lost'
  | 'heartbeat-lost'
  | 'budget-exceeded'
  | 'permit-while-frozen'
  | 'permit-in-grace'
  | 'never-worked-on'
  | 'locked-in-the-end';

/** All violations; empty: none. */
export function judge(evidence: Evidence): Violation[] {
  const lives = livesOf(evidence.sessions);
  return [
    ...judgeHistory(evidence),
    ...judgeLeases(evidence, lives),
    ...judgeWriters(evidence, lives),
    ...judgeEffects(evidence, lives),
    ...judgeAcknowledged(evidence),
    ...judgeBudget(evidence),
    ...judgeGuard(evidence),
    ...judgeEnd(evidence),
  ];
}

/** By the database's clock: whether a transaction with this start found the session alive. */
interface Lives {
  isAlive(sessionId: string, begunAtMs: number): boolean;
  /** How long the session has been dead. */
  lateMs(sessionId: string, atMs: number): number;
  runOf(sessionId: string): string | null;
}
function livesOf(changes: readonly SessionChange[]): Lives {
  const bySession = groupBy(changes, (change) => change.sessionId);
  return {
    isAlive: (sessionId, begunAtMs) =>
      (bySession.get(sessionId) ?? []).some(
        ({ begunAtMs: from, deadlineMs }) =>
          deadlineMs !== null && from <= begunAtMs && begunAtMs < deadlineMs,
      ) &&
      !(bySession.get(sessionId) ?? []).some(
        (change) => change.deadlineMs === null && change.atMs < begunAtMs,
      ),
    lateMs: (sessionId, atMs) => {
      const known = (bySession.get(sessionId) ?? []).filter((change) => change.begunAtMs <= atMs);
      const deadlines = known.map((change) => change.deadlineMs ?? change.atMs);
      return Math.round(atMs - Math.max(...deadlines));
    },
    runOf: (sessionId) => bySession.get(sessionId)?.[0]?.run ?? null,
  };
}

const groupOf = (process: string) => (process.startsWith('Shepherd') ? 'shepherd' : process);

/** S9, I3: a start, then exactly one end, for each exclusion group of each machine. */
function judgeHistory({ history, rewritten, end }: Evidence): Violation[] {
  const found: Violation[] = [];
  const say = (rule: OracleRule, detail: string) => found.push({ rule, detail });
  if (rewritten > 0) say('history-append-only', `${rewritten} rows were changed or removed`);
  if (end.historyRows !== history.length) {
    say('history-append-only', `${history.length} rows written, ${end.historyRows} are there`);
  }
  const keys = groupBy(history, (row) => `${row.machineId} ${groupOf(row.process)}`);
  for (const [key, rows] of keys) {
    let open: HistoryRow | null = null;
    let last = -1n;
    for (const row of rows.toSorted((a, b) => Number(BigInt(a.seq) - BigInt(b.seq)))) {
      const what = `${key}: ${row.event} of epoch ${row.epoch}`;
      if (row.event === 'Started') {
        if (open) say('history-alternates', `${what} while epoch ${open.epoch} has not ended`);
        if (BigInt(row.epoch) <= last) say('epochs-rise', `${what} after epoch ${last}`);
        last = BigInt(row.epoch);
        open = row;
      } else {
        if (open?.epoch !== row.epoch) say('history-alternates', `${what}, but that is not open`);
        else open = null;
      }
    }
    if (open) say('one-end-each', `${key}: epoch ${open.epoch} never ended`);
  }
  for (const [key, rows] of groupBy(history, (row) => `${row.machineId} epoch ${row.epoch}`)) {
    const ends = rows.filter((row) => row.event !== 'Started').length;
    if (rows.length - ends !== 1 || ends > 1) {
      say('one-end-each', `${key}: ${rows.length - ends} starts and ${ends} ends`);
    }
  }
  return found;
}

/** I3: a lease changes its holder only when the old holder is dead. */
function judgeLeases({ leases, writerOf }: Evidence, lives: Lives): Violation[] {
  const found: Violation[] = [];
  const say = (rule: OracleRule, detail: string) => found.push({ rule, detail });
  const sameLease = (a: Lease | null, b: Lease | null) =>
    a?.epoch === b?.epoch && a?.sessionId === b?.sessionId;
  for (const [key, changes] of groupBy(leases, (each) => `${each.machineId} ${each.group}`)) {
    let held: Lease | null = null;
    for (const change of changes) {
      const { from, to, begunAtMs } = change;
      if (!sameLease(from, held)) {
        say('leases-follow', `${key}: epoch ${held?.epoch} became ${from?.epoch} unseen`);
      }
      held = to;
      if (sameLease(from, to)) continue;
      const writer = writerOf(change);
      if (from && writer !== lives.runOf(from.sessionId)) {
        if (lives.isAlive(from.sessionId, begunAtMs)) {
          say('lease-stolen', `${key}: epoch ${from.epoch} of a live session, by ${writer}`);
        }
      }
      if (!to) continue;
      if (from && BigInt(to.epoch) <= BigInt(from.epoch)) {
        say('epochs-rise', `${key}: lease of epoch ${to.epoch} after ${from.epoch}`);
      }
      if (!lives.isAlive(to.sessionId, begunAtMs)) {
        say('dead-session-wrote', `${key}: claim of epoch ${to.epoch} by a dead session`);
      }
    }
  }
  return found;
}

/** S4: a session writes only while it lives and holds the lease. */
function judgeWriters(evidence: Evidence, lives: Lives): Violation[] {
  const { history, leases, tags, writerOf } = evidence;
  const found: Violation[] = [];
  const say = (rule: OracleRule, detail: string) => found.push({ rule, detail });
  const byMachine = groupBy(leases, (change) => change.machineId);
  for (const row of history) {
    const what = `${row.machineId}: ${row.event} of epoch ${row.epoch}`;
    // Anybody may cancel a dead session's work, also the dead session itself.
    if (row.event !== 'Canceled' && !lives.isAlive(row.sessionId, row.begunAtMs)) {
      say('dead-session-wrote', what);
    }
    const side = row.event === 'Started' ? 'to' : 'from';
    const change = (byMachine.get(row.machineId) ?? []).find(
      (each) => each.xid === row.xid && each[side]?.epoch === row.epoch,
    );
    if (!change) say('wrote-without-lease', `${what}, without its lease`);
    if (row.event !== 'Canceled' && writerOf(row) !== lives.runOf(row.sessionId)) {
      say('wrote-without-lease', `${what}, by ${writerOf(row)}`);
    }
  }
  for (const write of tags) {
    const writer = writerOf(write);
    const lease = leaseAt(byMachine.get(write.machineId) ?? [], write);
    const what = `${write.machineId}: ${write.table} by ${writer}`;
    if (!lease || lives.runOf(lease.sessionId) !== writer) say('wrote-without-lease', what);
    else if (!lives.isAlive(lease.sessionId, write.begunAtMs)) say('dead-session-wrote', what);
  }
  return found;
}

/** The lease under which a change was written: the lease before its own transaction's change. */
function leaseAt(changes: readonly LeaseChange[], { xid, atMs }: Noted): Lease | null {
  const own = changes.find((change) => change.xid === xid);
  if (own) return own.from ?? own.to;
  return changes.findLast((change) => change.atMs <= atMs)?.to ?? null;
}

/** Table that records a coming action. */
const NOTED_IN: Readonly<Record<string, string>> = {
  execute: 'machine_agent_start_attempt',
  reboot: 'machine_recovery',
};

/**
 * S4, S8: an action on a machine begins only under a lease of a live session, and after a note
 * about the action. A run without its own fencing is judged by what the database allowed: its lease
 * and its session count as they were at the note.
 */
function judgeEffects(evidence: Evidence, lives: Lives): Violation[] {
  const byMachine = groupBy(evidence.leases, (change) => change.machineId);
  const notes = notesOf(evidence);
  const done = new Map<string, number>();
  return evidence.effects.flatMap(({ run, kind, machineId, atMs, sentAtMs }): Violation[] => {
    const key = noteKey(run, NOTED_IN[kind]!, machineId);
    const count = done.get(key) ?? 0;
    done.set(key, count + 1);
    // A daemon reports whole milliseconds, rounded down.
    const before = (notes.get(key) ?? []).filter(({ atMs }) => Math.floor(atMs) <= sentAtMs);
    const found: Violation[] = [];
    const say = (rule: OracleRule, why: string) =>
      found.push({ rule, detail: `${machineId}: ${kind} by ${run}, ${why}` });
    if (before.length <= count) {
      const last = evidence.tags.findLast(
        (tag) => tag.table === NOTED_IN[kind] && tag.machineId === machineId,
      );
      const why = `number ${count + 1}, ${before.length} noted`;
      say('effect-unnoted', `${why}, sent ${sentAtMs}; ${toldOf(last, evidence)}`);
    }
    const note = before.at(-1);
    const judged =
      evidence.unfenced.has(run) && note
        ? { atMs: note.atMs, begunAtMs: note.begunAtMs }
        : { atMs, begunAtMs: atMs };
    const changes = byMachine.get(machineId) ?? [];
    const lease = changes.findLast((change) => change.atMs <= judged.atMs)?.to ?? null;
    const isOurs = lease !== null && lives.runOf(lease.sessionId) === run;
    if (!isOurs) say('effect-without-lease', `the lease is ${lease ? 'another’s' : 'free'}`);
    else if (!lives.isAlive(lease.sessionId, judged.begunAtMs)) {
      const lateMs = lives.lateMs(lease.sessionId, judged.begunAtMs);
      say('effect-without-lease', `${lateMs} ms after the deadline`);
    }
    return found;
  });
}

/** Details for a missing note, which may exist without being recognized. */
const toldOf = (tag: TagWrite | undefined, { writerOf }: Evidence): string =>
  tag
    ? `last written ${tag.atMs} by ${writerOf(tag)} in a transaction of ${tag.begunAtMs}, asked ${tag.askedMs}`
    : 'never written';

const noteKey = (run: string | null, table: string, machineId: string) =>
  `${run} ${table} ${machineId}`;

/** Notes by run, table and machine, in order: a note writes its own transaction's time. */
const notesOf = ({ tags, writerOf }: Evidence): Map<string, TagWrite[]> =>
  groupBy(
    tags.filter(({ askedMs, begunAtMs }) => askedMs === begunAtMs),
    (tag) => noteKey(writerOf(tag), tag.table, tag.machineId),
  );

/** I8: everything that a caller was told is in the database. */
function judgeAcknowledged(evidence: Evidence): Violation[] {
  const { acknowledged, history, silenced, end } = evidence;
  const found: Violation[] = [];
  const written = new Set(history.map((row) => `${row.machineId} ${row.epoch} ${row.event}`));
  const events = { finish: 'Finished', fail: 'Failed', cancel: 'Canceled' };
  for (const { machine, epoch } of acknowledged.claims) {
    if (!written.has(`${machine} ${epoch} Started`)) {
      found.push({ rule: 'ack-lost', detail: `${machine}: claim of epoch ${epoch}` });
    }
  }
  for (const { machine, epoch, how, result } of acknowledged.ends) {
    const isThere = written.has(`${machine} ${epoch} ${events[how]}`);
    const what = `${machine}: ${how} of epoch ${epoch} was answered ${result}`;
    // A cancel of finished work is fine; any other end was either written or refused.
    if (result === 'ok' && how !== 'cancel' && !isThere) {
      found.push({ rule: 'ack-lost', detail: `${what} and is not there` });
    }
    if (result === 'work-lost' && isThere) {
      found.push({ rule: 'ack-lost', detail: `${what} and is there` });
    }
  }
  const newest = new Map<string, number>();
  const beaten = new Set(evidence.beats.map(({ machineId, atMs }) => beatKey(machineId, atMs)));
  for (const { machine, atMs } of acknowledged.beats) {
    newest.set(machine, Math.max(newest.get(machine) ?? 0, atMs));
    if (beaten.has(beatKey(machine, atMs))) continue;
    found.push({ rule: 'heartbeat-lost', detail: `${machine}: ${atMs} was never written` });
  }
  const rows = new Map(end.machines.map((each) => [each.machineId, each.heartbeatMs]));
  const deletions = groupBy(silenced, (each) => each.machineId);
  const finished = new Set(
    history.filter((row) => row.event === 'Finished').map((row) => `${row.machineId} ${row.xid}`),
  );
  for (const [machine, atMs] of newest) {
    const deleted = (deletions.get(machine) ?? []).some((each) => each.atMs >= atMs);
    if (deleted || (rows.get(machine) ?? 0) >= atMs - 1) continue;
    const detail = `${machine}: heartbeat of ${atMs} acknowledged, ${rows.get(machine)} is there`;
    found.push({ rule: 'heartbeat-lost', detail });
  }
  for (const { machineId, xid } of silenced) {
    if (finished.has(`${machineId} ${xid}`)) continue;
    found.push({ rule: 'heartbeat-lost', detail: `${machineId}: removed without a finish` });
  }
  return found;
}

/** In milliseconds, because a daemon may see fractions or none. */
const beatKey = (machineId: string, atMs: number) => `${machineId} ${Math.floor(atMs)}`;

/** S7: never more machines in recovery than allowed, in the fleet and in each group. */
function judgeBudget({ permits, budget }: Evidence): Violation[] {
  const counts = new Map<string, number>();
  const found: Violation[] = [];
  for (const { granted, provider, location, machineId } of permits) {
    for (const scope of ['fleet', provider, ...(location === null ? [] : [location])]) {
      const count = (counts.get(scope) ?? 0) + (granted ? 1 : -1);
      counts.set(scope, count);
      const limit = scope === 'fleet' ? budget.fleet : (budget.groups.get(scope) ?? 0);
      if (!granted || count <= limit) continue;
      const detail = `${machineId}: number ${count} of ${scope}, where ${limit} are allowed`;
      found.push({ rule: 'budget-exceeded', detail });
    }
  }
  return found;
}

/** S6, S7: no recovery while its scope is frozen, or before silence counts. */
function judgeGuard({ permits, guard, pulses, grace }: Evidence): Violation[] {
  return permits.flatMap((permit): Violation[] => {
    if (!permit.granted) return [];
    const { machineId, provider, atMs, begunAtMs } = permit;
    const before = <Item extends Noted>(items: readonly Item[]) =>
      items.findLast((each) => each.atMs <= atMs);
    const found: Violation[] = [];
    for (const scope of ['fleet', provider]) {
      const row = before(guard.filter((each) => each.scope === scope));
      if (!row || row.frozenAtMs === null) continue;
      const detail = `${machineId}: ${scope} was frozen at ${row.frozenAtMs}`;
      found.push({ rule: 'permit-while-frozen', detail });
    }
    const upSinceMs = before(guard.filter(({ scope }) => scope === 'fleet'))?.upSinceMs ?? null;
    const seenAtMs = before(pulses)?.seenAtMs ?? null;
    const isTold = upSinceMs !== null && seenAtMs !== null;
    // The permit's decision was made shortly before its write, and after its transaction's start.
    if (isTold && atMs - upSinceMs >= grace.heartbeatMs && begunAtMs - seenAtMs <= grace.gapMs) {
      return found;
    }
    const detail = `${machineId}: at ${atMs}, taken in from ${upSinceMs} to ${seenAtMs}`;
    return [...found, { rule: 'permit-in-grace', detail }];
  });
}

function judgeEnd({ end, history }: Evidence): Violation[] {
  const worked = new Set(history.map((row) => row.machineId));
  return [
    ...end.machines
      .filter(({ machineId }) => !worked.has(machineId))
      .map(({ machineId }): Violation => ({ rule: 'never-worked-on', detail: machineId })),
    ...end.held.map((detail): Violation => ({ rule: 'locked-in-the-end', detail })),
  ];
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  return Map.groupBy(items, keyOf);
}
