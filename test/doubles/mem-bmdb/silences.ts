import {
  fellSilent,
  heardAgain,
  isHeardAgain,
  mayBeSilent,
  silentSinceMs,
} from '../../../src/domain/recovery/silence.ts';
import { graceOf } from './guard.ts';
import { writeEvent } from './records.ts';
import { circumstances, rowOf } from './rows.ts';
import type { Memory } from './tables.ts';

/** Writes who fell silent, and who was heard again, into the logs of their slots. */
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
