import { slotOf } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { tellLine } from './events.ts';
import { plain } from './plain.ts';
import type { MemEvent, MemHistory, Memory, MemWork } from './tables.ts';
import type { HistoryLine, Swept } from '../../../src/adapters/bmdb/port.ts';

/** Writes one line of work history. */
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

/** Deletes lines that are older than 90 days and not among the machine's last 1000. */
export function trimHistory(memory: Memory): Pick<Swept, 'history'> {
  const limitMs = memory.now() - KEPT_MS;
  if ((memory.history[0]?.atMs ?? limitMs) >= limitMs) return { history: 0 };
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

/** Writes one line of the slot's log; none for a machine without hardware. */
export function writeEvent(
  memory: Memory,
  { machineId, provided }: MachineRow,
  event: Pick<MemEvent, 'kind' | 'actor' | 'reason'> & Partial<Pick<MemEvent, 'from' | 'to'>>,
): void {
  if (!provided) return;
  const { provider, reservationId, providerId } = provided;
  const slot = slotOf(provider, { reservationId, id: providerId });
  const line = { slot, machineId, atMs: memory.now(), from: null, to: null, ...plain(event) };
  memory.events.push(line);
  tellLine(memory, line);
}
