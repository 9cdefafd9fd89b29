import type { MachineState } from '../../src/domain/states.ts';
import type { MachineView, NextWork } from '../../src/domain/view.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import type { ChartSubject } from '../support/chart-run.ts';
import { viewAt } from '../support/views.ts';

/**
 * The life of one machine as the specification has it, written by hand and not from the chart: what
 * a daemon does in each state, which state may follow, and what a permit begins. News with the same
 * state, due work and tenancy change nothing.
 */

/** A machine at rest: its state and due work. With due work its actor waits for a permit. */
export interface Rest {
  readonly state: MachineState;
  /** In the view's words. */
  readonly substate: string;
  readonly next: NextWork;
}

const rest = (place: `${MachineState} ${string}`, next: NextWork): Rest => {
  const [state, substate] = place.split(' ') as [MachineState, string];
  return { state, substate, next };
};

/** Every state with every work that may be due in it. */
export const RESTS: readonly Rest[] = [
  rest('Reserved available', null),
  rest('Reserved creating', null),
  rest('Reserved penalised', null),
  rest('Provisioned installing', null),
  rest('Provisioned installing', 'recovery'),
  rest('Provisioned stopped', null),
  rest('Provisioned stopped', 'recovery'),
  rest('Provisioned failed', null),
  rest('Provisioned failed', 'recovery'),
  rest('Provisioned backingOff', null),
  rest('Provisioned backingOff', 'recovery'),
  rest('Provisioned waiting', null),
  rest('Provisioned waiting', 'agentStart'),
  rest('Provisioned waiting', 'recovery'),
  rest('AgentStarting elsewhere', null),
  rest('Running awaitingHeartbeat', null),
  rest('Running awaitingHeartbeat', 'recovery'),
  rest('Running healthy', null),
  rest('Running healthy', 'recovery'),
  rest('Running late', null),
  rest('Running late', 'recovery'),
  rest('Running silent', null),
  rest('Running silent', 'recovery'),
  rest('Running installingOs', null),
  rest('Running installingOs', 'recovery'),
  rest('Recovering restartingAgent', null),
  rest('Recovering rebooting', null),
  rest('Recovering powerCycling', null),
  rest('Recovering reinstalling', null),
  rest('Recovering coolingDown', null),
  rest('Recovering coolingDown', 'recovery'),
  rest('HandedOver installed', null),
  rest('Quarantined missing', null),
  rest('Quarantined needsHuman', null),
  rest('Quarantined conflict', null),
  rest('Quarantined byOperator', null),
  rest('Deprovisioning draining', null),
  rest('Deprovisioning deleting', null),
  rest('Deprovisioning deleting', 'deprovision'),
  rest('Deprovisioning cleaning', null),
  rest('Deprovisioning cleaning', 'deprovision'),
  rest('Released gone', null),
];

/**
 * The states that may follow by news alone. News of other states are believed too, because somebody
 * else acted in between; they count as leaps.
 */
export const FOLLOWS: Readonly<Record<MachineState, readonly MachineState[]>> = {
  Reserved: ['Provisioned', 'Quarantined', 'Deprovisioning', 'Released'],
  Provisioned: ['AgentStarting', 'Recovering', 'HandedOver', 'Quarantined', 'Deprovisioning'],
  AgentStarting: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  Running: ['Recovering', 'HandedOver', 'Quarantined', 'Deprovisioning'],
  Recovering: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  HandedOver: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  Quarantined: ['Reserved', 'Provisioned', 'Running', 'HandedOver', 'Deprovisioning', 'Released'],
  Deprovisioning: ['Reserved', 'Quarantined', 'Released'],
  Released: [],
};

/** A task of this daemon. News do not interrupt it. */
export interface TaskOfOurs {
  readonly due: NonNullable<NextWork>;
  /** The invoked service; its input is slot and machine. */
  readonly service: 'agentStart' | 'recovery' | 'deprovision';
  /** The machine's state while the task runs, whatever the view says. */
  readonly state: MachineState;
  /** The states in which a permit begins the task. In other states no permit is awaited. */
  readonly from: readonly MachineState[];
  /** Its visible steps, in order. */
  readonly steps: readonly string[];
}

export const TASKS: readonly TaskOfOurs[] = [
  {
    due: 'agentStart',
    service: 'agentStart',
    state: 'AgentStarting',
    from: ['Provisioned'],
    steps: ['claiming', 'connecting', 'verifying', 'uploading', 'executing', 'recording'],
  },
  {
    due: 'recovery',
    service: 'recovery',
    state: 'Recovering',
    from: ['Provisioned', 'Running', 'Recovering'],
    steps: [
      'claiming',
      'restartingAgent',
      'rebooting',
      'powerCycling',
      'reinstalling',
      'recording',
    ],
  },
  {
    due: 'deprovision',
    service: 'deprovision',
    state: 'Deprovisioning',
    from: ['Deprovisioning'],
    steps: ['claiming', 'asking', 'awaitingGone', 'awaitingReusable', 'recording'],
  },
];

/** Each failed task in a row makes the next wait for a permit longer, up to this many. */
export const SETBACKS_MAX = 10;
/** A request that could not be applied is retried after this time. */
export const APPLY_PAUSE_MS = 5_000;

/** The table's line for a view. @throws when the table has no such line. */
export function restOf({ state, substate, next, machineId }: MachineView): Rest {
  const due = machineId === null ? null : next;
  const found = RESTS.find(
    (each) => each.state === state && each.substate === substate && each.next === due,
  );
  if (!found) throw new Error(`the table has no ${state} ${substate} due for ${String(next)}`);
  return found;
}

/** The task that a permit begins; undefined: no permit is awaited. */
export const begunBy = ({ state, next, machineId }: MachineView): TaskOfOurs | undefined =>
  machineId === null
    ? undefined
    : TASKS.find(({ due, from }) => due === next && from.includes(state));

/** The chart's state for operator requests; null once the machine is released. */
export const askedIn = (value: unknown): string | null =>
  (value as { readonly alive?: { readonly requests: string } }).alive?.requests ?? null;

export const LIFECYCLE: ChartSubject = {
  chart: lifecycle,
  input: { view: viewAt('Reserved', 'available') },
  services: {
    awaitTurn: 'promise',
    applyRequest: 'promise',
    agentStart: 'chart',
    recovery: 'chart',
    deprovision: 'chart',
  },
  actions: ['endTurn', 'countLeap'],
};
