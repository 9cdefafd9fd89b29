import { QUARANTINE_KINDS } from './machine.ts';
import { RUNGS } from './recovery/rungs.ts';

export const STATES = [
  'Reserved',
  'Provisioned',
  'AgentStarting',
  'Running',
  'Recovering',
  'HandedOver',
  'Quarantined',
  'Deprovisioning',
  'Released',
] as const;
export type MachineState = (typeof STATES)[number];

/** As rows and listings tell; who works on a machine knows more of what it is doing. */
export const SUBSTATES: Readonly<Record<MachineState, readonly string[]>> = {
  Reserved: ['available', 'penalised', 'creating'],
  Provisioned: ['waiting', 'backingOff', 'installing', 'stopped', 'failed'],
  AgentStarting: ['elsewhere'],
  Running: ['awaitingHeartbeat', 'healthy', 'late', 'silent', 'installingOs'],
  Recovering: [...RUNGS, 'coolingDown', 'elsewhere'],
  HandedOver: ['installed'],
  Quarantined: [...QUARANTINE_KINDS, 'missing'],
  Deprovisioning: ['draining', 'deleting', 'cleaning'],
  Released: ['gone'],
};

/** States that any other may turn into, but for `Released`. */
export const FROM_ANYWHERE = ['Quarantined', 'Deprovisioning'] as const;

/**
 * Whether a machine waits for a person: nothing is done about it until somebody decides. What an
 * operator left alone on purpose is decided.
 */
export function needsHuman({
  state,
  substate,
}: {
  readonly state: string;
  readonly substate: string;
}): boolean {
  if (state === 'Quarantined') return substate !== 'byOperator';
  return state === 'Provisioned' && substate === 'failed';
}

/**
 * The same of a machine as it is shown. Its actor and its rows may be in different states for a moment;
 * each of them may say that a person is needed.
 */
export const entryNeedsHuman = ({
  view,
  state,
  substate,
}: {
  readonly view: { readonly needsHuman: boolean };
  readonly state: string;
  readonly substate: string;
}): boolean => view.needsHuman || needsHuman({ state, substate });

/**
 * Which other states may follow a state, besides those of `FROM_ANYWHERE`. The chart, its overview
 * and the documents are made from this table. Rows and listings may show a state that does not
 * follow, where somebody else acted in between: it is believed, and counted as a leap.
 */
export const FOLLOWERS = {
  Reserved: ['Provisioned', 'Released'],
  Provisioned: ['AgentStarting', 'Recovering', 'HandedOver'],
  AgentStarting: ['Running', 'Provisioned'],
  Running: ['Recovering', 'HandedOver'],
  Recovering: ['Running', 'Provisioned'],
  HandedOver: ['Running', 'Provisioned'],
  Quarantined: ['Reserved', 'Provisioned', 'Running', 'HandedOver', 'Released'],
  Deprovisioning: ['Reserved', 'Released'],
  Released: [],
} as const satisfies Readonly<Record<MachineState, readonly MachineState[]>>;
