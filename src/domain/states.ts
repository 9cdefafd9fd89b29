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

/** Substates from rows and listings; a working process may know more. */
export const SUBSTATES: Readonly<Record<MachineState, readonly string[]>> = {
  Reserved: ['available', 'penalised', 'creating'],
  Provisioned: ['waiting', 'backingOff', 'installing', 'stopped', 'failed'],
  AgentStarting: ['elsewhere'],
  Running: ['awaitingHeartbeat', 'healthy', 'late', 'silent', 'installingOs'],
  Recovering: [...RUNGS, 'coolingDown', 'elsewhere'],
  HandedOver: ['installed'],
  Quarantined: [...QUARANTINE_KINDS, 'retired', 'missing'],
  Deprovisioning: ['draining', 'deleting', 'cleaning'],
  Released: ['gone'],
};

/** States that may follow any state except `Released`. */
export const FROM_ANYWHERE = ['Quarantined', 'Deprovisioning'] as const;

/**
 * Whether a machine waits for a person: nothing happens until a person decides. A machine that was
 * deliberately left alone does not count.
 */
export function needsHuman({
  state,
  substate,
}: {
  readonly state: string;
  readonly substate: string;
}): boolean {
  if (state === 'Quarantined') return substate !== 'byOperator' && substate !== 'retired';
  return state === 'Provisioned' && substate === 'failed';
}

/**
 * The same for a displayed machine. Its actor and its rows may briefly show different states;
 * either may require a person.
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
 * The states that may follow a state, besides those of `FROM_ANYWHERE`. The chart, its overview and
 * the documents derive from this table. If another process acted in between, rows and listings may
 * show a state that does not follow: it is accepted, and counted as a leap.
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
