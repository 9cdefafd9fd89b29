import { mayServe, SUCCESSORS } from '../../../src/domain/balancing/members.ts';
import type { MemberRow } from '../../../src/domain/balancing/members.ts';
import { newPool } from '../../../src/domain/balancing/pool-row.ts';
import type { PoolName, PoolRow } from '../../../src/domain/balancing/pool-row.ts';
import { exclusionGroup, isInstallationDue } from '../../../src/domain/eligibility.ts';
import type {
  BalancingRepository,
  MemberChange,
  MemberVerdict,
  PoolPatch,
} from '../../../src/adapters/bmdb/port.ts';
import { forgottenText } from '../../../src/adapters/bmdb/balancing-port.ts';
import { requireChanges } from '../../../src/adapters/bmdb/preconditions.ts';
import { sameData } from '../../../src/lib/data.ts';
import { requireJob } from './jobs.ts';
import { writeEvent } from './records.ts';
import { cancelOn } from './leases.ts';
import { isSessionAlive } from './rows.ts';
import { patch as patchRow } from './tables.ts';
import { plain } from './plain.ts';
import type { Memory, MemMachine, MemWork, SessionGate } from './tables.ts';

/** See `BalancingRepository`. */
export const createBalancingRepository = (
  memory: Memory,
  gate: SessionGate,
): BalancingRepository => ({
  write: async (lease, pool, changes) => {
    requireChanges(changes);
    if (changes.length === 0) return [];
    requireJob(memory, gate, lease);
    return changes.map((change) => write(memory, pool, change));
  },
  note: async (lease, pool, change) => {
    requireJob(memory, gate, lease);
    const before = memory.pools.get(poolKey(pool)) ?? newPool(pool);
    memory.pools.set(poolKey(pool), noted(before, change, memory.now()));
    memory.wake();
  },
  forget: async (lease, pool, who) => {
    requireJob(memory, gate, lease);
    const reason = forgottenText(pool, who);
    for (const machine of memory.machines.values()) {
      if (!machine.row.members.some((each) => isAt(each, pool))) continue;
      put(memory, machine, pool, null);
      writeEvent(memory, machine.row, { kind: 'requestDone', actor: who.by, reason });
    }
    if (memory.pools.delete(poolKey(pool))) memory.wake();
  },
});

export const poolKey = ({ pool, balancer }: PoolName): string => JSON.stringify([pool, balancer]);

function write(memory: Memory, pool: PoolName, change: MemberChange): MemberVerdict {
  const { machineId, to } = change;
  const machine = memory.machines.get(machineId);
  if (!machine) return { machineId, result: 'lost', row: null };
  const before = machine.row.members.find((each) => isAt(each, pool)) ?? null;
  if (!isAllowed(before, to)) return { machineId, result: 'stale', row: before };
  if (to === 'gone') {
    put(memory, machine, pool, null);
    return { machineId, result: 'written', row: null };
  }
  const row = memberAfter(before, pool, change, memory.now());
  const opens = !(before && mayServe(before)) && mayServe(row);
  if (opens && !isFree(memory, machine)) return { machineId, result: 'busy', row: before };
  put(memory, machine, pool, row);
  return { machineId, result: 'written', row };
}

function isAllowed(before: MemberRow | null, to: MemberChange['to']): boolean {
  if (to === undefined) return before !== null;
  if (to === 'gone') return before === null || !mayServe(before);
  if (before === null) return to === 'joining';
  return before.state === to || SUCCESSORS[before.state].includes(to);
}

function memberAfter(
  before: MemberRow | null,
  { pool, balancer }: PoolName,
  change: MemberChange,
  nowMs: number,
): MemberRow {
  const { machineId, note, sessions, how } = change;
  const state = change.to === 'gone' ? 'drained' : (change.to ?? before!.state);
  const stays = before?.state === state;
  return {
    ...{ pool, balancer, machineId, state },
    sinceMs: stays ? before.sinceMs : nowMs,
    deadlineMs: state === 'draining' ? deadlineAfter(stays ? before : null, change, nowMs) : null,
    how: state === 'drained' ? (stays ? before.how : how!) : null,
    waived: change.waived ?? (stays && before.waived),
    refused: change.refused ?? (stays && before.refused),
    note: note === undefined ? (before?.note ?? null) : plain(note),
    sessions: sessions === undefined ? (before?.sessions ?? null) : sessions,
  };
}

function deadlineAfter(
  before: MemberRow | null,
  { graceMs, newDeadline }: MemberChange,
  nowMs: number,
): number {
  const had = before?.deadlineMs ?? Number.POSITIVE_INFINITY;
  if (graceMs === undefined) return had;
  return newDeadline ? nowMs + graceMs : Math.min(had, nowMs + graceMs);
}

const isAt = (row: MemberRow, { pool, balancer }: PoolName): boolean =>
  row.pool === pool && row.balancer === balancer;

function put(memory: Memory, machine: MemMachine, at: PoolName, row: MemberRow | null): void {
  const before = machine.row.members.find((each) => isAt(each, at)) ?? null;
  if (sameData(before, row)) return;
  const others = machine.row.members.filter((each) => each !== before);
  const members = (row ? [...others, row] : others).toSorted((a, b) =>
    poolKey(a) < poolKey(b) ? -1 : 1,
  );
  patchRow(machine, { members });
  memory.touch(machine.row.machineId);
}

/** No installation is due, and no live session works on it. Work of dead sessions ends. */
function isFree(memory: Memory, machine: MemMachine): boolean {
  const isOurs = ({ process }: MemWork) => exclusionGroup(process) === 'shepherd';
  cancelOn(
    memory,
    machine,
    'session expired',
    (work) => isOurs(work) && !isSessionAlive(memory, work.sessionId),
  );
  return !machine.leases.some(isOurs) && !isInstallationDue(machine.row);
}

function noted(before: PoolRow, patch: PoolPatch, nowMs: number): PoolRow {
  const { retryInMs, settled, observed, frozen, ...rest } = patch;
  return {
    ...before,
    ...plain(rest),
    ...(retryInMs !== undefined && { retryAtMs: retryInMs === null ? null : nowMs + retryInMs }),
    ...(settled && { settledAtMs: nowMs }),
    ...(observed && { observedAtMs: nowMs }),
    ...(frozen && {
      frozen: { ...frozen, reason: plain(frozen.reason), atMs: before.frozen?.atMs ?? nowMs },
    }),
    ...(frozen && frozen.snapshot !== before.frozen?.snapshot && { accepted: null }),
    ...(frozen === null && { frozen: null, accepted: null }),
  };
}
