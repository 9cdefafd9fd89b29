import { NoPermit } from '../../../src/domain/errors.ts';
import { countGuarded } from './guard-counts.ts';
import {
  DEFAULT_GUARD,
  FLEET,
  freezeRefusal,
  graceRefusal,
  isFreezeOver,
  isNear,
  judgeGuard,
  markIngest,
  type GuardCounts,
  type GuardPolicy,
  type IngestLimits,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { changeEvent } from '../../../src/domain/events/fleet-event.ts';
import { tell } from './events.ts';
import { guardRow, ingestOf } from './guard-rows.ts';
import { circumstances, rowOf } from './rows.ts';
import { type MemMachine, type Memory } from './tables.ts';
import type { GuardAssessment, GuardRepository } from '../../../src/adapters/bmdb/port.ts';
import { mayBeSilent } from '../../../src/domain/recovery/guard-status.ts';
import { fellSilent, heardAgain, isHeardAgain, silentSinceMs } from './silence.ts';
import { writeEvent } from './records.ts';

export const guardPolicyOf = ({ options }: Memory): GuardPolicy => options.guard ?? DEFAULT_GUARD;

const limitsOf = (memory: Memory): IngestLimits => ({
  gapMs: guardPolicyOf(memory).ingestGapMs,
  heartbeatMs: memory.options.loss.heartbeatMs,
});

/** See `GuardRepository`. */
export const createGuardRepository = (memory: Memory): GuardRepository => ({
  assess: async ({ ingestUp }) => assess(memory, ingestUp),
});

function assess(memory: Memory, up: boolean): GuardAssessment {
  const { guard } = memory;
  const policy = guardPolicyOf(memory);
  const nowMs = memory.now();
  const isFresh = (atMs: number | null) => isNear(atMs, nowMs, policy.assessMs);
  if (!up || !isFresh(guard.seenAtMs) || ingestOf(guard).upSinceMs === null) mark(memory, up);
  const { assessedAtMs } = guard;
  const isOver = [...guard.rows.values()].some((row) => isFreezeOver(row, nowMs));
  if (isFresh(assessedAtMs) && !isOver) return { ...guardOf(memory), changes: [] };
  guard.counts = countNow(memory);
  guard.assessedAtMs = nowMs;
  const rows = [...guard.rows.values()];
  const judged = judgeGuard(rows, guard.counts, { assessedAtMs }, policy, nowMs);
  for (const row of judged.written) guard.rows.set(row.scope, row);
  for (const change of judged.changes)
    tell(memory, changeEvent(guardRow(guard, change.scope), change));
  if (judged.written.length > 0) memory.wake();
  return { ...guardOf(memory), changes: judged.changes };
}

const guardOf = ({ guard }: Memory) => ({ rows: [...guard.rows.values()], counts: guard.counts });

function mark(memory: Memory, up: boolean): void {
  const { guard } = memory;
  const before = ingestOf(guard);
  const ingest = markIngest(before, { up, nowMs: memory.now() }, limitsOf(memory));
  guard.seenAtMs = ingest.seenAtMs;
  guard.lostAtMs = ingest.lostAtMs;
  if (ingest.upSinceMs === before.upSinceMs) return;
  guard.rows.set(FLEET, { ...guardRow(guard, FLEET), ingestUpSinceMs: ingest.upSinceMs });
  memory.wake();
}

/** Counts the machines that are silent now. */
export const countNow = (memory: Memory): readonly GuardCounts[] =>
  countGuarded(guarded(memory), {
    rows: [...memory.guard.rows.values()],
    ingest: ingestOf(memory.guard),
    policy: guardPolicyOf(memory),
    ...circumstances(memory),
  });

function* guarded(memory: Memory) {
  for (const machine of memory.machines.values()) {
    const { unbroken, unreachableSinceMs } = machine;
    yield { row: rowOf(memory, machine), unbroken, unreachableSinceMs };
  }
}

/** Why silence means nothing now; null: silence counts. */
export const graceOf = (memory: Memory): string | null =>
  graceRefusal(ingestOf(memory.guard), memory.now(), limitsOf(memory));

/** @throws {NoPermit} the fleet or the machine's provider is frozen; or, unless ordered, grace. */
export function refuseGuarded(memory: Memory, { row }: MemMachine, isOrdered: boolean): void {
  const { guard } = memory;
  const { provider } = row.provided ?? {};
  const rows = [FLEET, ...(provider === undefined ? [] : [provider])].map((scope) =>
    guardRow(guard, scope),
  );
  const frozen = rows.map(freezeRefusal).find((why) => why !== null);
  const why = frozen ?? (isOrdered ? null : graceOf(memory));
  if (why !== null) throw new NoPermit(why);
}

/** Records new silences and returns in the logs of the slots. */
export function noteSilences(memory: Memory): void {
  const now = circumstances(memory);
  const isLooked = mayBeSilent(graceOf(memory), memory.guard.counts);
  for (const machine of memory.machines.values()) {
    const { unbroken } = machine;
    const row = rowOf(memory, machine);
    if (machine.silentSinceMs === null) {
      machine.silentSinceMs = isLooked ? silentSinceMs(row, now) : null;
      if (machine.silentSinceMs !== null) writeEvent(memory, row, fellSilent(row));
    } else if (isHeardAgain({ row, unbroken }, now)) {
      machine.silentSinceMs = null;
      writeEvent(memory, row, heardAgain(row, now.nowMs));
    }
  }
}
