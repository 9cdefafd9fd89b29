import type { ActorRefFrom } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { lifecycle } from '../machines/lifecycle.ts';

type MachineRef = ActorRefFrom<typeof lifecycle>;
type Find = (slot: Slot) => MachineRef | undefined;

/** Finds the actor of a machine for those who look and do not touch: it is never sent anything. */
export interface MachineFinder {
  find(slot: Slot): MachineRef | undefined;
  /** Tells how actors are found from now on; null: there are none. */
  use(find: Find | null): void;
}

export function createMachineFinder(): MachineFinder {
  let found: Find | null = null;
  return { find: (slot) => found?.(slot), use: (find) => void (found = find) };
}
