import { STATES, type MachineState } from '../../../src/domain/states.ts';
import type { Cells } from '../../api/types.ts';

export interface Counted {
  readonly key: string;
  readonly total: number;
  readonly counts: Readonly<Partial<Record<MachineState, number>>>;
}

/** How many machines are in each state, for each value of a key, in the order of the keys. */
export function countedBy(
  cells: Cells,
  keyOf: (cell: Cells[number]) => string,
): readonly Counted[] {
  const found = new Map<string, Partial<Record<MachineState, number>>>();
  for (const cell of cells) {
    const counts = found.get(keyOf(cell)) ?? {};
    counts[cell.state] = (counts[cell.state] ?? 0) + cell.machines;
    found.set(keyOf(cell), counts);
  }
  return [...found]
    .map(([key, counts]) => ({
      ...{ key, counts },
      total: Object.values(counts).reduce((sum, count) => sum + count, 0),
    }))
    .toSorted((a, b) => a.key.localeCompare(b.key));
}

/** States in which any of them is, in the order of a machine's life. */
export const statesIn = (rows: readonly Counted[]): readonly MachineState[] =>
  STATES.filter((state) => rows.some(({ counts }) => (counts[state] ?? 0) > 0));
