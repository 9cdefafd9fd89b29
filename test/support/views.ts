import { STATES, type MachineState } from '../../src/domain/states.ts';
import { NO_TRAITS } from '../../src/domain/traits.ts';
import type { MachineView, NextWork } from '../../src/domain/view.ts';
import type { HoldKind } from '../../src/domain/machine.ts';
import { MACHINE, PROVIDER, SLOT, SLOT_ID } from './facts.ts';

/** Every state and substate of the documented table, as `viewOf` names them. */
export const PLACES: readonly (readonly [MachineState, string])[] = [
  ['Reserved', 'available'],
  ['Reserved', 'creating'],
  ['Reserved', 'penalised'],
  ['Provisioned', 'installing'],
  ['Provisioned', 'stopped'],
  ['Provisioned', 'failed'],
  ['Provisioned', 'backingOff'],
  ['Provisioned', 'waiting'],
  ['AgentStarting', 'elsewhere'],
  ['Running', 'awaitingHeartbeat'],
  ['Running', 'healthy'],
  ['Running', 'late'],
  ['Running', 'silent'],
  ['Running', 'installingOs'],
  ['Recovering', 'coolingDown'],
  ['Recovering', 'restartingAgent'],
  ['Recovering', 'rebooting'],
  ['Recovering', 'powerCycling'],
  ['Recovering', 'reinstalling'],
  ['HandedOver', 'installed'],
  ['Quarantined', 'missing'],
  ['Quarantined', 'needsHuman'],
  ['Quarantined', 'conflict'],
  ['Quarantined', 'byOperator'],
  ['Deprovisioning', 'draining'],
  ['Deprovisioning', 'deleting'],
  ['Deprovisioning', 'cleaning'],
  ['Released', 'gone'],
];

/** States in which a machine record exists. */
const HOUSED: ReadonlySet<string> = new Set(
  STATES.filter((state) => state !== 'Reserved' && state !== 'Released'),
);

export function viewAt(
  state: MachineState,
  substate: string,
  {
    next = null,
    holds = [],
    request = null,
  }: {
    readonly next?: NextWork;
    readonly holds?: HoldKind[];
    readonly request?: string | null;
  } = {},
): MachineView {
  const housed = HOUSED.has(state);
  return {
    slot: SLOT,
    provider: PROVIDER,
    machineId: housed ? MACHINE : null,
    providerId: housed ? 'device-1' : null,
    reservationId: SLOT_ID,
    address: housed ? '127.0.0.1:22' : null,
    ...NO_TRAITS,
    location: 'lab',
    labels: null,
    cause: null,
    conditions: null,
    members: [],
    lastHeartbeatAtMs: null,
    holds,
    state,
    substate,
    reason: null,
    next,
    request,
    endedBy: null,
    needsHuman: false,
    dueAtMs: null,
  };
}
