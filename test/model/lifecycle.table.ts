import type { MachineState, NextWork } from '../../src/domain/view.ts';

/**
 * The life of one machine as the specification has it, written by hand and not from the chart: what a
 * daemon does at rest in each place, which state may follow which, and what a turn begins. News that
 * show the same place, due work and tenancy change nothing.
 */

/** A machine at rest: its place, the work it is due for, and what its actor then is at. */
export interface Rest {
  readonly state: MachineState;
  /** In the words of the view. */
  readonly substate: string;
  readonly next: NextWork;
  /**
   * What the actor calls it: the view's word but where an operator's order waits (`ordered`), where
   * another daemon works (`elsewhere`), and where a state has no substates (empty).
   */
  readonly shown: string;
  /** Whether the actor waits for a turn: it may have work there, now or at the next news. */
  readonly waits: boolean;
}

const rest = (
  place: `${MachineState} ${string}`,
  next: NextWork,
  shown: string,
  waits: 'waits' | 'rests',
): Rest => {
  const [state, substate] = place.split(' ') as [MachineState, string];
  return { state, substate, next, shown, waits: waits === 'waits' };
};

/** Every place with every work that may be due in it. */
export const RESTS: readonly Rest[] = [
  rest('Reserved available', null, 'available', 'rests'),
  rest('Reserved creating', null, 'creating', 'rests'),
  rest('Reserved penalised', null, 'penalised', 'rests'),
  rest('Provisioned installing', null, 'installing', 'rests'),
  rest('Provisioned installing', 'recovery', 'ordered', 'waits'),
  rest('Provisioned stopped', null, 'stopped', 'rests'),
  rest('Provisioned stopped', 'recovery', 'ordered', 'waits'),
  rest('Provisioned failed', null, 'failed', 'rests'),
  rest('Provisioned failed', 'recovery', 'ordered', 'waits'),
  rest('Provisioned backingOff', null, 'backingOff', 'rests'),
  rest('Provisioned backingOff', 'recovery', 'ordered', 'waits'),
  rest('Provisioned waiting', null, 'waiting', 'waits'),
  rest('Provisioned waiting', 'agentStart', 'waiting', 'waits'),
  rest('Provisioned waiting', 'recovery', 'waiting', 'waits'),
  rest('AgentStarting elsewhere', null, 'elsewhere', 'rests'),
  rest('Running awaitingHeartbeat', null, 'awaitingHeartbeat', 'rests'),
  rest('Running awaitingHeartbeat', 'recovery', 'ordered', 'waits'),
  rest('Running healthy', null, 'healthy', 'rests'),
  rest('Running healthy', 'recovery', 'ordered', 'waits'),
  rest('Running late', null, 'late', 'rests'),
  rest('Running late', 'recovery', 'ordered', 'waits'),
  rest('Running silent', null, 'silent', 'waits'),
  rest('Running silent', 'recovery', 'silent', 'waits'),
  rest('Running installingOs', null, 'installingOs', 'rests'),
  rest('Running installingOs', 'recovery', 'ordered', 'waits'),
  rest('Recovering restartingAgent', null, 'elsewhere', 'rests'),
  rest('Recovering rebooting', null, 'elsewhere', 'rests'),
  rest('Recovering powerCycling', null, 'elsewhere', 'rests'),
  rest('Recovering reinstalling', null, 'elsewhere', 'rests'),
  rest('Recovering coolingDown', null, 'coolingDown', 'waits'),
  rest('Recovering coolingDown', 'recovery', 'coolingDown', 'waits'),
  rest('HandedOver installed', null, '', 'rests'),
  rest('Quarantined missing', null, 'missing', 'rests'),
  rest('Quarantined needsHuman', null, 'needsHuman', 'rests'),
  rest('Quarantined conflict', null, 'conflict', 'rests'),
  rest('Quarantined byOperator', null, 'byOperator', 'rests'),
  rest('Deprovisioning draining', null, 'draining', 'rests'),
  rest('Deprovisioning deleting', null, 'deleting', 'waits'),
  rest('Deprovisioning deleting', 'deprovision', 'deleting', 'waits'),
  rest('Deprovisioning cleaning', null, 'cleaning', 'waits'),
  rest('Deprovisioning cleaning', 'deprovision', 'cleaning', 'waits'),
  rest('Released gone', null, '', 'rests'),
];

/**
 * Which state may follow which by news alone. News of any other are believed too, for somebody else
 * acted in between: they are counted as leaps.
 */
export const FOLLOWS: Readonly<Record<MachineState, readonly MachineState[]>> = {
  Reserved: ['Provisioned', 'Quarantined', 'Released'],
  Provisioned: ['AgentStarting', 'Recovering', 'HandedOver', 'Quarantined', 'Deprovisioning'],
  AgentStarting: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  Running: ['Recovering', 'HandedOver', 'Quarantined', 'Deprovisioning'],
  Recovering: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  HandedOver: ['Provisioned', 'Running', 'Quarantined', 'Deprovisioning'],
  Quarantined: [
    ...([
      'Reserved',
      'Provisioned',
      'Running',
      'HandedOver',
      'Deprovisioning',
      'Released',
    ] as const),
  ],
  Deprovisioning: ['Reserved', 'Quarantined', 'Released'],
  Released: [],
};

/** A task of this daemon, which no news interrupt. */
export interface TaskOfOurs {
  readonly due: NonNullable<NextWork>;
  /** The slot that is called, with slot and machine. */
  readonly slot: 'takeover' | 'recovery' | 'deprovision';
  /** The state of the machine while it runs, whatever the view says. */
  readonly state: MachineState;
  /** The states in which a turn begins it; in any other a turn is given back at once. */
  readonly from: readonly MachineState[];
  /** Its steps that are shown; it begins with the first, and does not come back to that. */
  readonly steps: readonly string[];
}

export const TASKS: readonly TaskOfOurs[] = [
  {
    due: 'agentStart',
    slot: 'takeover',
    state: 'AgentStarting',
    from: ['Provisioned'],
    steps: ['claiming', 'connecting', 'verifying', 'uploading', 'executing', 'recording'],
  },
  {
    due: 'recovery',
    slot: 'recovery',
    state: 'Recovering',
    from: ['Provisioned', 'Running', 'Recovering'],
    steps: [
      ...['claiming', 'restartingAgent', 'rebooting', 'powerCycling', 'reinstalling', 'recording'],
    ],
  },
  {
    due: 'deprovision',
    slot: 'deprovision',
    state: 'Deprovisioning',
    from: ['Deprovisioning'],
    steps: ['claiming', 'asking', 'awaitingGone', 'awaitingReusable', 'recording'],
  },
];

/** Each task that went wrong in a row makes the next turn wait longer, up to this many. */
export const SETBACKS_MAX = 10;
/** A request that could not be settled is tried again after this. */
export const SETTLE_PAUSE_MS = 5_000;
