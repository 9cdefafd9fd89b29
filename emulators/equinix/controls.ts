import { requireRoute } from '../kit/rule-form.ts';
import { parseFaultRule, type Fault } from './fault-rules.ts';
import type { Foundation } from './foundation.ts';
import type { Journal } from '../kit/journal.ts';
import type { Lifecycle } from './lifecycle/lifecycle.ts';
import type { Machines } from './lifecycle/machines.ts';
import type { EquinixEmulator } from './options.ts';
import type { State, Token } from './state/state.ts';
import { createState } from './state/genesis.ts';
import { violationsOf } from './state/invariants.ts';
import { snapshotOf } from './options.ts';
import { isProvisionable } from './state/state.ts';
import type { World } from './world.ts';

/** The emulator seen from the inside: what a library user may read and do. */
export type Controls = Omit<
  EquinixEmulator,
  'url' | 'adminUrl' | 'tokens' | 'projectId' | 'organizationId' | 'close'
>;

export interface ControlsDeps {
  readonly foundation: Foundation;
  readonly lifecycle: Lifecycle;
  readonly machines: Machines;
  readonly journal: Journal;
  /** Paths of the API with placeholders, for faults to name. */
  readonly routes: readonly string[];
}

export function createControls(deps: ControlsDeps): Controls {
  const { foundation, lifecycle, machines, journal } = deps;
  const { core, faults, file, manual, events } = foundation;
  const { state } = core;
  return {
    events,
    devices: () =>
      [...state.devices.values()].filter((one) => one.state !== 'deleted').map(snapshotOf),
    reservations: () => [...state.reservations.values()].map((one) => ({ ...one })),
    requests: (afterSeq = 0) => journal.since(afterSeq),
    violations: () => violationsOf(state),
    addFault: (rule) => {
      requireRoute(parseFaultRule(rule), deps.routes);
      const fault = faults.add(rule);
      const device = state.devices.get(fault.match.deviceId ?? '');
      if (device && DOOMS.has(fault.effect.type)) lifecycle.condemn(device);
      return { ...fault };
    },
    faults: faults.list,
    removeFault: faults.remove,
    clearFaults: faults.clear,
    snatch: (reservationId) => {
      const reservation = state.reservations.get(reservationId);
      if (!reservation || !isProvisionable(reservation)) {
        throw new Error(`reservation ${reservationId} is unknown or not free`);
      }
      return snapshotOf(lifecycle.snatch(reservation));
    },
    setDeviceState: (deviceId, to) => {
      const device = state.devices.get(deviceId);
      if (!device) throw new Error(`no device ${deviceId}`);
      deps.foundation.forcedStates.add(to);
      lifecycle.force(device, to);
    },
    settled: machines.settled,
    advance: async (ms) => {
      if (!manual) throw new Error(NOT_MANUAL);
      const targetMs = manual.now() + ms;
      while (manual.stepTowards(targetMs)) await machines.settled();
      core.changed();
      await file.save();
    },
  };
}

/** Said of an attempt to move a clock that moves by itself. */
export const NOT_MANUAL = 'the clock is not manual: it cannot be advanced';

/** Effects that a given device suffers at once, not at its creation. */
const DOOMS = new Set<Fault['effect']['type']>(['stuck', 'failProvisioning']);

/** Replaces the world by another one; the admin token and the clock stay. */
export async function reset(deps: ControlsDeps, world: World): Promise<Account> {
  const { core, file, settings } = deps.foundation;
  for (const device of core.state.devices.values()) deps.lifecycle.force(device, 'deleted');
  await deps.machines.settled();
  const { adminToken, requestCount, lastTimerId } = core.state;
  const kept = { adminToken, requestCount, lastTimerId };
  Object.assign(core.state, createState(world, 0, core.ids, core.now()), kept);
  core.state.knobs = { ...settings.knobs, ...world.knobs };
  core.state.timings = { ...settings.timings, ...world.timings };
  core.applySettings();
  core.scheduler.rearm();
  deps.lifecycle.resume();
  core.changed();
  await file.save();
  return accountOf(core.state);
}

export type Account = Pick<EquinixEmulator, 'tokens' | 'projectId' | 'organizationId'>;

/**
 * The first project, its organisation, and the first token of each scope there. Empty strings for
 * what does not exist any more.
 */
export function accountOf(state: State): Account {
  const project = state.projects.values().next().value;
  const organizationId = project?.organizationId ?? state.organizations[0]?.id ?? '';
  const ours = state.tokens.filter((one) => one.organizationId === organizationId);
  const value = (fits: (one: Token) => boolean) => ours.find(fits)?.value ?? '';
  return {
    tokens: {
      user: value((one) => !one.readOnly && one.projectId === null),
      project: value((one) => !one.readOnly && one.projectId === project?.id),
      readOnly: value((one) => one.readOnly),
      admin: state.adminToken,
    },
    projectId: project?.id ?? '',
    organizationId,
  };
}
