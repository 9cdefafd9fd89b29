import type { MachineState } from '../../src/domain/states.ts';
import type { MachineView, NextWork } from '../../src/domain/view.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import type { ChartSubject } from '../support/chart-run.ts';
import { viewAt } from '../support/views.ts';

/**
 * The life of one machine as the specification has it, written by hand and not from the chart: what a
 * daemon does at rest in each place, which state may follow which, and what a turn begins. News that
 * show the same place, due work and tenancy change nothing.
 */

/** A machine at rest: its place, and the work it is due for. With any work due its actor waits for a turn. */
export interface Rest {
  readonly state: MachineState;
  /** In the words of the view. */
  readonly substate: string;
  readonly next: NextWork;
}

const rest = (place: `${MachineState} ${string}`, next: NextWork): Rest => {
  const [state, substate] = place.split(' ') as [MachineState, string];
  return { state, substate, next };
};

/** Every place with every work that may be due in it. */
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
 * Which state may follow which by news alone. News of any other are believed too, for somebody else
 * acted in between: they are counted as leaps.
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

/** A task of this daemon, which no news interrupt. */
export interface TaskOfOurs {
  readonly due: NonNullable<NextWork>;
  /** The service that is called, with slot and machine. */
  readonly service: 'takeover' | 'recovery' | 'deprovision';
  /** The state of the machine while it runs, whatever the view says. */
  readonly state: MachineState;
  /** The states in which a turn begins it; in any other none is awaited. */
  readonly from: readonly MachineState[];
  /** Its steps that are shown, the first one first. */
  readonly steps: readonly string[];
}

export const TASKS: readonly TaskOfOurs[] = [
  {
    due: 'agentStart',
    service: 'takeover',
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

/** Each task that went wrong in a row makes the next turn wait longer, up to this many. */
export const SETBACKS_MAX = 10;
/** A request that could not be settled is tried again after this. */
export const SETTLE_PAUSE_MS = 5_000;

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

/** Where the chart stands with what operators ask; null once the machine is released. */
export const askedIn = (value: unknown): string | null =>
  (value as { readonly alive?: { readonly requests: string } }).alive?.requests ?? null;

export const LIFECYCLE: ChartSubject = {
  chart: lifecycle,
  input: { view: viewAt('Reserved', 'available') },
  services: {
    awaitTurn: 'promise',
    settleRequest: 'promise',
    takeover: 'chart',
    recovery: 'chart',
    deprovision: 'chart',
  },
  actions: ['endTurn', 'countLeap'],
};
