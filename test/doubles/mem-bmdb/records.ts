import { slotOf } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { tellLine } from './events.ts';
import type { MemEvent, MemHistory, Memory, MemWork } from './tables.ts';
import type { HistoryLine, Swept } from '../../../src/adapters/bmdb/port.ts';

/** One line of work history. */
export function writeHistory(
  memory: Memory,
  work: MemWork,
  event: MemHistory['event'],
  cause: string | null = null,
): void {
  memory.history.push({
    seq: memory.nextNumber(),
    atMs: memory.now(),
    machineId: work.machineId,
    process: work.process,
    event,
    cause,
    sessionId: work.sessionId,
    component: memory.sessions.get(work.sessionId)?.component ?? null,
    epoch: work.epoch,
  });
}

/** See `BmdbInspection.history`. */
export const historyOf = (memory: Memory, machineId: string): HistoryLine[] =>
  memory.history
    .filter((line) => line.machineId === machineId)
    .map(({ seq, machineId: _, epoch: __, ...line }) => ({ ...line, seq: String(seq) }));

const KEPT_MS = 90 * 86_400_000;
const KEPT_LINES = 1000;

/** Forgets lines that are both older than 90 days and not among the machine's last 1000. */
export function trimHistory(memory: Memory): Pick<Swept, 'history'> {
  const limitMs = memory.now() - KEPT_MS;
  const newer = new Map<string, number>();
  const kept = memory.history
    .toReversed()
    .filter(({ machineId, atMs }) => {
      const count = newer.get(machineId) ?? 0;
      newer.set(machineId, count + 1);
      return count < KEPT_LINES || atMs >= limitMs;
    })
    .toReversed();
  const history = memory.history.length - kept.length;
  memory.history = kept;
  return { history };
}

/**
 * Forgets what is both older than 90 days and not among the last 1000: lines of a slot's log, and
 * requests and creations that are settled.
 */
export function trimLogs(memory: Memory): void {
  const limitMs = memory.now() - KEPT_MS;
  const newer = new Map<string, number>();
  const kept = memory.events
    .toReversed()
    .filter(({ slot, atMs }) => {
      const count = newer.get(slot) ?? 0;
      newer.set(slot, count + 1);
      return count < KEPT_LINES || atMs >= limitMs;
    })
    .toReversed();
  if (kept.length < memory.events.length) memory.events.splice(0, Infinity, ...kept);
  const old = memory.told.slice(0, -KEPT_LINES).filter(({ atMs }) => atMs < limitMs);
  memory.told.splice(0, old.length);
  const settled = [...memory.requests.values()]
    .filter(({ state }) => state !== 'open')
    .toSorted((a, b) => b.settledAtMs! - a.settledAtMs!);
  for (const { key, settledAtMs } of settled.slice(KEPT_LINES)) {
    if (settledAtMs! < limitMs) memory.requests.delete(key);
  }
  const created = [...memory.intents.values()]
    .filter(({ state }) => state !== 'open' && state !== 'unresolved')
    .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs);
  for (const { witness, updatedAtMs } of created.slice(KEPT_LINES)) {
    if (updatedAtMs < limitMs) memory.intents.delete(witness);
  }
}

/** One line of the slot's log; none for a machine without hardware. */
export function writeEvent(
  memory: Memory,
  { machineId, provided }: MachineRow,
  event: Pick<MemEvent, 'kind' | 'actor' | 'reason'> & Partial<Pick<MemEvent, 'from' | 'to'>>,
): void {
  if (!provided) return;
  const { provider, reservationId, providerId } = provided;
  const slot = slotOf(provider, { reservationId, id: providerId });
  const line = { slot, machineId, atMs: memory.now(), from: null, to: null, ...event };
  memory.events.push(line);
  tellLine(memory, line);
}
