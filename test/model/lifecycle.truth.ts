import type { EventObject } from 'xstate';
import { leafOf } from '../../src/machines/leaf.ts';
import type { MachineView } from '../../src/domain/view.ts';
import type { Run, Truth } from '../support/replay.ts';
import { RESTS, TASKS, type Rest, type TaskOfOurs } from './lifecycle.table.ts';

/** What is known of a machine by what its actor was told. */
interface Known {
  /** The last that rows, listing and clock said. */
  readonly view: MachineView;
  /** Work of ours: from the turn that begins it to the end of its task. */
  readonly task: { readonly of: TaskOfOurs; readonly step: string } | null;
  readonly asked: 'idle' | 'settling' | 'pausing';
  readonly settledKey: string | null;
}

/** The line of the table for a view. @throws when nobody wrote one. */
export function restOf({ state, substate, next, machineId }: MachineView): Rest {
  const due = machineId === null ? null : next;
  const found = RESTS.find(
    (each) => each.state === state && each.substate === substate && each.next === due,
  );
  if (!found) throw new Error(`the table has no ${state} ${substate} due for ${String(next)}`);
  return found;
}

/** The task that a turn begins; undefined: the turn is given back. */
export const begunBy = ({ state, next, machineId }: MachineView): TaskOfOurs | undefined =>
  machineId === null
    ? undefined
    : TASKS.find(({ due, from }) => due === next && from.includes(state));

const isReleased = ({ view, task }: Known) => task === null && view.state === 'Released';

/**
 * While no work of ours is under way, an actor is where the view is, and waits for a turn where the
 * table says so. While a task of ours runs, it is in the state of that work, at the step that the task
 * last showed, and news are only kept. What operators bar and ask is followed beside both.
 */
export const lifecycleTruth: Truth = {
  expected(input, events) {
    const { view } = input as { readonly view: MachineView };
    const begun = settling({ view, task: null, asked: 'idle', settledKey: null });
    const known = events.reduce((before, event) => settling(told(before, event)), begun);
    const over = isReleased(known);
    return {
      ...placeOf(known),
      view: known.view,
      held: over ? 'over' : known.view.holds.length > 0 ? 'held' : 'free',
      asked: over ? 'over' : known.asked,
      runs: over ? [] : workOf(known),
    };
  },
  seen(run: Run) {
    const { value, tags, context } = run.snapshot();
    const { holds, requests } = value as { readonly holds: string; readonly requests: string };
    return {
      ...leafOf(run.snapshot()),
      isOurs: tags.has('busy'),
      view: context['view'],
      held: holds,
      asked: requests,
      runs: [...run.stage.live.keys()].toSorted(),
    };
  },
};

function placeOf({ view, task }: Known) {
  if (task) return { state: task.of.state, substate: task.step, isOurs: true };
  return { state: view.state, substate: restOf(view).shown, isOurs: false };
}

function workOf({ view, task, asked }: Known): string[] {
  const settles = asked === 'settling' ? ['settleRequest'] : [];
  if (task) return [task.of.slot, ...settles].toSorted();
  return restOf(view).waits ? ['awaitTurn', ...settles] : settles;
}

/** A request that is named, and was not settled already, is settled at once. */
function settling(known: Known): Known {
  const { request } = known.view;
  const isDue = known.asked === 'idle' && request !== null && request !== known.settledKey;
  return isDue ? { ...known, asked: 'settling' } : known;
}

function told(known: Known, event: EventObject): Known {
  const { type, view, output, snapshot } = event as EventObject & {
    readonly view: MachineView;
    readonly output: { readonly view?: MachineView | null; key: string; settled?: boolean };
    readonly snapshot: { readonly value: unknown };
  };
  if (type === 'machine.observed') return { ...known, view };
  if (type.startsWith('xstate.after.settlePause')) return { ...known, asked: 'idle' };
  const [, how, slot] = /^xstate\.(done|error|snapshot)\.(?:actor\.)?(\w+)$/.exec(type) ?? [];
  if (slot === 'settleRequest') {
    const isSettled = how === 'done' && output.settled === true;
    if (!isSettled) return { ...known, asked: 'pausing' };
    return { ...known, asked: 'idle', settledKey: output.key };
  }
  if (slot === 'awaitTurn') {
    const of = how === 'done' ? begunBy(known.view) : undefined;
    return of ? { ...known, task: { of, step: of.steps[0]! } } : known;
  }
  if (!known.task || slot !== known.task.of.slot) throw new Error(`nobody expects ${type}`);
  if (how === 'snapshot') {
    const { of, step } = known.task;
    const shown = stepOf(snapshot.value);
    return { ...known, task: { of, step: of.steps.indexOf(shown) > 0 ? shown : step } };
  }
  return { ...known, task: null, view: (how === 'done' && output.view) || known.view };
}

const stepOf = (value: unknown): string =>
  typeof value === 'string' ? value : Object.keys(value as object)[0]!;
