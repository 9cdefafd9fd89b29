import type { EventObject } from 'xstate';
import { shownIn } from '../../src/machines/shown.ts';
import type { MachineView } from '../../src/domain/view.ts';
import type { Run, Truth } from '../support/replay.ts';
import { RESTS, TASKS, type Rest, type TaskOfOurs } from './lifecycle.table.ts';

/** What is known of a machine by what its actor was told. */
interface Known {
  /** The last that rows, listing and clock said. */
  readonly view: MachineView;
  /** Work of ours: from the turn that begins it to the end of its task. */
  readonly task: TaskOfOurs | null;
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

/** The task that a turn begins; undefined: no turn is awaited. */
export const begunBy = ({ state, next, machineId }: MachineView): TaskOfOurs | undefined =>
  machineId === null
    ? undefined
    : TASKS.find(({ due, from }) => due === next && from.includes(state));

const isReleased = ({ view, task }: Known) => task === null && view.state === 'Released';

/**
 * While no work of ours is under way, an actor is where the view is, and waits for a turn where work
 * is due. While a task of ours runs, it is in the state of that work, and news are only kept. What
 * operators ask is followed beside both.
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
      asked: over ? null : known.asked,
      runs: over ? [] : workOf(known),
    };
  },
  seen(run: Run) {
    const { value, tags, context } = run.snapshot();
    const isOurs = tags.has('working');
    const { state, substate } = shownIn(run.snapshot() as never)!;
    return {
      state,
      substate: isOurs ? null : substate,
      isOurs,
      view: context['view'],
      asked: askedIn(value),
      runs: [...run.stage.live.keys()].toSorted(),
    };
  },
};

/** Where the chart stands with what operators ask; null once the machine is released. */
export const askedIn = (value: unknown): string | null =>
  (value as { readonly alive?: { readonly requests: string } }).alive?.requests ?? null;

const placeOf = ({ view, task }: Known) =>
  task
    ? { state: task.state, substate: null, isOurs: true }
    : { state: restOf(view).state, substate: restOf(view).substate, isOurs: false };

function workOf({ view, task, asked }: Known): string[] {
  const settles = asked === 'settling' ? ['settleRequest'] : [];
  if (task) return [task.service, ...settles].toSorted();
  return begunBy(view) ? ['awaitTurn', ...settles] : settles;
}

/** A request that is named, and was not settled already, is settled at once. */
function settling(known: Known): Known {
  const { request } = known.view;
  const isDue = known.asked === 'idle' && request !== null && request !== known.settledKey;
  return isDue ? { ...known, asked: 'settling' } : known;
}

function told(known: Known, event: EventObject): Known {
  const { type, view, output } = event as EventObject & {
    readonly view: MachineView;
    readonly output: { readonly view?: MachineView | null } | string;
  };
  if (type === 'machine.observed') return { ...known, view };
  if (type.startsWith('xstate.after.settlePause')) return { ...known, asked: 'idle' };
  const [, how, service] = /^xstate\.(done|error)\.actor\.(\w+)$/.exec(type) ?? [];
  if (service === 'settleRequest') {
    if (how !== 'done') return { ...known, asked: 'pausing' };
    return { ...known, asked: 'idle', settledKey: output as string };
  }
  if (service === 'awaitTurn') {
    return how === 'done' ? { ...known, task: begunBy(known.view)! } : known;
  }
  if (!known.task || service !== known.task.service) throw new Error(`nobody expects ${type}`);
  const told = how === 'done' ? (output as { readonly view: MachineView | null }).view : null;
  return { ...known, task: null, view: told ?? known.view };
}
