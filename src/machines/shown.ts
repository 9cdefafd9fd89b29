import type {
  ActorRefFrom,
  AnyActorRef,
  AnyMachineSnapshot,
  SnapshotFrom,
  StateValue,
} from 'xstate';
import type { Slot } from '../domain/ids.ts';
import type { MachineState } from '../domain/states.ts';
import type { lifecycle } from './lifecycle.ts';
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
type MachineRef = ActorRefFrom<typeof lifecycle>;
type MachineSnapshot = SnapshotFrom<typeof lifecycle>;

/**
 * What a snapshot of `lifecycle` shows; null while it takes in news.
 * @param view the latest one, of which the actor need not have been told.
 */
export function shownIn(snapshot: MachineSnapshot, view = snapshot.context.view): Shown | null {
  const { slot } = snapshot.context;
  const state = stateIn(snapshot.value);
  if (state === null) return null;
  const working = snapshot.hasTag('working');
  if (!working) {
    const said = view.state === state ? view : snapshot.context.view;
    return { slot, state, substate: said.substate, working };
  }
  const task = taskOf(snapshot)?.getSnapshot() as AnyMachineSnapshot | undefined;
  return { slot, state, substate: task ? stepOf(task) : null, working };
}

/** It waits or works: it moves without news. At rest only news change what it shows. */
export const isBusy = (snapshot: MachineSnapshot): boolean =>
  snapshot.status === 'active' && (snapshot.hasTag('waiting') || snapshot.hasTag('working'));

/**
 * Calls back after each change of the machine's actor and of the task that works on it, until what it
 * answers with is called.
 */
export function follow(machine: MachineRef, onChange: () => void): () => void {
  let followed: AnyActorRef | undefined;
  /** This subscription ends with the task. */
  const followTask = () => {
    const task = taskOf(machine.getSnapshot());
    if (task && task !== followed) task.subscribe({ next: onChange, error: ignore });
    followed = task;
  };
  const next = () => {
    followTask();
    onChange();
  };
  followTask();
  const subscription = machine.subscribe({ next, error: ignore });
  return () => subscription.unsubscribe();
}

/** Whoever supervises the actor hears of its crash. */
const ignore = () => undefined;

/** The actor of the task that works on the machine. */
export function taskOf({ value, children }: MachineSnapshot): AnyActorRef | undefined {
  const state = stateIn(value);
  return state === null ? undefined : children[TASKS[state] ?? ''];
}

function stateIn(value: MachineSnapshot['value']): MachineState | null {
  if (value === 'Released') return value;
  const { life } = value.alive;
  const state = typeof life === 'string' ? life : Object.keys(life)[0];
  return state === 'resyncing' ? null : (state as MachineState);
}

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
