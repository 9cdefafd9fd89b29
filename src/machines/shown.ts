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
  /** The step of this daemon's task, else the view's substate; null: unchanged. */
  readonly substate: string | null;
  /** A task of this daemon works on the machine. */
  readonly working: boolean;
}

const TASKS: Partial<Record<MachineState, string>> = {
  AgentStarting: 'agentStart',
  Recovering: 'recovery',
  Deprovisioning: 'deprovision',
};
type MachineRef = ActorRefFrom<typeof lifecycle>;
type MachineSnapshot = SnapshotFrom<typeof lifecycle>;

/**
 * The displayed state of a `lifecycle` snapshot; null while it takes in news.
 * @param view the latest view, which the actor may not know yet.
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

/** Whether it waits or works, so that it moves without news. At rest, only news change it. */
export const isBusy = (snapshot: MachineSnapshot): boolean =>
  snapshot.status === 'active' && (snapshot.hasTag('waiting') || snapshot.hasTag('working'));

/**
 * Calls back after each change of the machine's actor and its task, until the returned function is
 * called.
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

/** The actor's supervisor hears of its crash. */
const ignore = () => undefined;

/** The actor of the machine's current task. */
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

/** The chart states of a machine's actor and task now. */
export interface LiveStates {
  /** State of the life region: `Recovering.working`; `Released` at its end. */
  readonly life: string;
  /** State of the requests region; null: it has ended. */
  readonly requests: string | null;
  /** The task of this daemon on the machine; null: none. */
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

/** `rebooting.awaitingBoot`: from the outermost state inwards. */
const pathOf = (value: StateValue): string =>
  typeof value === 'string'
    ? value
    : Object.entries(value)
        .map(([name, inner]) => (inner === undefined ? name : `${name}.${pathOf(inner)}`))
        .join(' ');
