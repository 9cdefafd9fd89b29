import type { AnyMachineSnapshot, SnapshotFrom, StateValue } from 'xstate';
import type { lifecycle } from './lifecycle.ts';
import { taskOf } from './shown.ts';

/** Where a machine's actor and its task are now, by the names of their charts' states. */
export interface LiveStates {
  /** Of the region of life: `Recovering.working`; `Released` at its end. */
  readonly life: string;
  /** Of the region of requests; null: it has ended. */
  readonly requests: string | null;
  /** The task of this daemon that works on it; null: none does. */
  readonly task: { readonly chart: string; readonly at: string } | null;
}

/** Reads a snapshot; copies nothing else of it. */
export function liveIn(snapshot: SnapshotFrom<typeof lifecycle>): LiveStates {
  const { value } = snapshot;
  const ref = taskOf(snapshot);
  const at = ref?.getSnapshot() as AnyMachineSnapshot | undefined;
  const task = at ? { chart: at.machine.id, at: pathOf(at.value as StateValue) } : null;
  if (value === 'Released') return { life: value, requests: null, task };
  return { life: pathOf(value.alive.life), requests: pathOf(value.alive.requests), task };
}

/** `rebooting.awaitingBoot`: from the outermost state inward. */
const pathOf = (value: StateValue): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value)
        .map(([name, inner]) => (inner === undefined ? name : `${name}.${pathOf(inner)}`))
        .join(' ');
