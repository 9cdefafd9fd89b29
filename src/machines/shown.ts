import type { AnyActorRef, AnyMachineSnapshot, SnapshotFrom } from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineState } from '../domain/states.ts';
import { lifecycle } from './lifecycle.ts';
import { stepOf } from './task.ts';

/** A machine as its actor shows it. */
export interface Shown {
  readonly slot: Slot;
  readonly state: MachineState;
  /** The step of this daemon's task, else what the view says; null: as it was before. */
  readonly substate: string | null;
  /** A task of this daemon works on it. */
  readonly working: boolean;
}

const TASKS: Partial<Record<MachineState, string>> = {
  AgentStarting: 'takeover',
  Recovering: 'recovery',
  Deprovisioning: 'deprovision',
};
const TASK_IDS: ReadonlySet<string> = new Set(Object.values(TASKS));

/** What is shown of the machine whose actor, or whose task, this is; null for any other actor. */
export function shownBy(actor: AnyActorRef): Shown | null {
  const machine = TASK_IDS.has(actor.id) ? actor._parent : actor;
  const snapshot = machine?.getSnapshot() as Partial<AnyMachineSnapshot> | undefined;
  return snapshot?.machine?.id === lifecycle.id
    ? shownIn(snapshot as SnapshotFrom<typeof lifecycle>)
    : null;
}

/** What a snapshot of `lifecycle` shows; null while it takes in news. */
export function shownIn(snapshot: SnapshotFrom<typeof lifecycle>): Shown | null {
  const { slot, view } = snapshot.context;
  const state = stateIn(snapshot.value);
  if (state === null) return null;
  const working = snapshot.hasTag('working');
  if (!working) return { slot, state, substate: view.substate, working };
  const task = snapshot.children[TASKS[state] ?? '']?.getSnapshot();
  return { slot, state, substate: task ? stepOf(task as AnyMachineSnapshot) : null, working };
}

function stateIn(value: SnapshotFrom<typeof lifecycle>['value']): MachineState | null {
  if (value === 'Released') return value;
  const { life } = value.alive;
  const state = typeof life === 'string' ? life : Object.keys(life)[0];
  return state === 'resyncing' ? null : (state as MachineState);
}
