import type { SlotLine } from '../../../src/domain/history/fold.ts';
import type { SlotHistory, SlotHistoryQuery } from '../../../src/adapters/bmdb/port.ts';
import { slot } from '../../../src/domain/ids.ts';
import type { Memory } from './tables.ts';

type Numbered = SlotLine & { readonly cut: string; readonly seq: string };

/** A slot's log line sorts after work of the same moment. */
const ABOVE_WORK = 2 ** 52;

/** See `BmdbInspection.slotHistory`. */
export function slotHistoryOf(memory: Memory, query: SlotHistoryQuery): SlotHistory {
  const { provider, slotId, present, before, limit } = query;
  const logged = memory.events
    .map((event, at) => ({ ...event, at }))
    .filter((event) => event.slot === slot(provider, slotId));
  const ids = [...new Set(logged.toReversed().flatMap(({ machineId }) => machineId ?? []))];
  const tenants = ids.map((machineId) => {
    const times = logged.filter((each) => each.machineId === machineId).map(({ atMs }) => atMs);
    return { machineId, firstAtMs: times[0]!, lastAtMs: times.at(-1)! };
  });
  const lines = [
    ...logged.map((event): Numbered => ({
      ...event,
      ...{ of: 'slot', process: null, sessionId: null },
      ...{ cut: String(event.atMs * 1_000), seq: String(event.at + ABOVE_WORK) },
    })),
    ...memory.history
      .filter((line) => [...ids, ...present].includes(line.machineId))
      .map((line): Numbered => ({
        ...{ atMs: line.atMs, of: 'work', machineId: line.machineId, kind: line.event },
        ...{ process: line.process, actor: line.component, reason: line.cause ?? '' },
        ...{ from: null, to: null, sessionId: line.sessionId },
        ...{ cut: String(line.atMs * 1_000), seq: String(line.seq) },
      })),
  ].toSorted((a, b) => Number(b.cut) - Number(a.cut) || Number(b.seq) - Number(a.seq));
  const older = lines.filter(
    ({ cut, seq }) =>
      before === null ||
      Number(cut) < Number(before.cut) ||
      (cut === before.cut && Number(seq) < Number(before.seq)),
  );
  const shown = older.slice(0, limit);
  const last = older.length > limit ? shown.at(-1) : undefined;
  return { lines: shown, next: last ? { cut: last.cut, seq: last.seq } : null, tenants };
}
