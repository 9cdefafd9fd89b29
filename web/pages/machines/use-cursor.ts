import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { MachineRow } from '../../api/types.ts';
import { partsOf } from '../../parts/machine-link.tsx';
import { useKeys } from '../../frame/keys.ts';

export interface CursorMeans {
  readonly count: number;
  readonly row: (index: number) => MachineRow | undefined;
  readonly show: (index: number) => void;
  readonly toggle: (row: MachineRow) => void;
}

/** The index of the row under the cursor of the keyboard. Null: none yet. */
export function useCursor({ count, row, show, toggle }: CursorMeans): number | null {
  const [at, setAt] = useState<number | null>(null);
  const navigate = useNavigate();
  const move = (by: number) => {
    const next = Math.min(count - 1, Math.max(0, at === null ? 0 : at + by));
    setAt(next);
    show(next);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => {
      const machine = at === null ? undefined : row(at);
      if (machine !== undefined) toggle(machine);
    },
    Enter: () => {
      const machine = at === null ? undefined : row(at);
      if (machine === undefined) return;
      void navigate({ to: '/machines/$provider/$slot', params: partsOf(machine.slot) });
    },
  });
  return at;
}
