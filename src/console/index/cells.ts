import { shareWord, type ShareWord } from '../../domain/headline.ts';
import type { MachineState } from '../../domain/states.ts';
import type { MachineEntry } from '../port.ts';
import type { MachineIndex } from './machine-index.ts';

export interface Cell {
  readonly provider: string;
  readonly location: string | null;
  readonly state: MachineState;
  /** Under which word of the headline they are told; null: their slots are gone. */
  readonly word: ShareWord | null;
  readonly machines: number;
}

/** Counts machines by provider, location, state and word of the headline, as they change. */
export function createCells(
  index: Pick<MachineIndex, 'onChange'>,
  entries: Iterable<MachineEntry>,
) {
  const cells = new Map<string, { -readonly [Key in keyof Cell]: Cell[Key] }>();
  const count = ({ view: { provider, location }, state, substate }: MachineEntry, by: number) => {
    const word = shareWord({ state, substate });
    const key = `${provider}\n${location ?? ''}\n${state}\n${word}`;
    const cell = cells.get(key) ?? { provider, location, state, word, machines: 0 };
    cell.machines += by;
    if (cell.machines === 0) cells.delete(key);
    else cells.set(key, cell);
  };
  for (const entry of entries) count(entry, 1);
  index.onChange((_row, before, after) => {
    if (before) count(before, -1);
    if (after) count(after, 1);
  });
  return (): readonly Cell[] => [...cells.values()].map((cell) => ({ ...cell }));
}
