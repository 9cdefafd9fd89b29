import { EventEmitter } from 'node:events';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { orRefuse } from '../kit/admin.ts';
import { realClock } from '../kit/clock.ts';
import { baseOf, startEmulator, timingsOf } from '../kit/emulator.ts';
import { createMachines } from '../kit/machines.ts';
import { createGenerator } from '../kit/random.ts';
import { equinixApi } from './api/api.ts';
import type { EquinixCore } from './core.ts';
import { form } from './fault-rules.ts';
import { createLifecycle } from './life/lifecycle.ts';
import { createDeviceMachines } from './life/machines.ts';
import { createScheduler } from './life/scheduler.ts';
import { REAL_TIMINGS } from './life/timings.ts';
import {
  type StateChange,
  type EquinixEmulator,
  type EquinixEmulatorOptions,
  snapshotOf,
} from './options.ts';
import { createStateFile, noStateFile, readState, serialise } from './state/state-file.ts';
import { type DeviceState, violationsOf } from './state/state.ts';
import { createState } from './world.ts';

/**
 * Starts an emulator of the Equinix Metal API.
 * @throws {WorldError} the world is invalid. @throws {UsageError} the state file is unusable.
 * @throws {ListenError} an address is not available.
 */
export async function startEquinixEmulator(
  options: EquinixEmulatorOptions,
): Promise<EquinixEmulator> {
  const { clock = realClock, seed = 1, stateFile, world = {}, reservations = 0 } = options;
  const stored = stateFile === undefined ? undefined : readState(stateFile);
  const state = stored ?? createState(world, reservations, createGenerator(seed), clock.now());
  const awayMs = clock.now() - state.nowMs;
  const base = baseOf(options, form, { store: state, changed: () => file.touch() });
  const { ids, chance, log } = base;
  ids.seek(state.idPosition);
  if (stored) chance.seek(state.chancePosition);
  const snapshot = () => {
    const positions = { idPosition: ids.position(), chancePosition: chance.position() };
    return serialise(Object.assign(state, { nowMs: clock.now(), ...positions }));
  };
  const file = stateFile === undefined ? noStateFile : createStateFile(stateFile, snapshot, log);

  const events = new EventEmitter<{ change: [StateChange] }>();
  let revision = 0;
  const core: EquinixCore = {
    ...{ state, ids, chance, now: clock.now, revision: () => revision },
    timings: timingsOf(REAL_TIMINGS, options.profile, options.timings),
    scheduler: createScheduler(state, clock),
    changed(change) {
      revision++;
      file.touch();
      if (change) events.emit('change', { atMs: clock.now(), ...change });
    },
  };
  const machines = createMachines(options.hooks, log);
  const lifecycle = createLifecycle(core, createDeviceMachines(core, machines));
  const forcedStates = new Set<string>();
  const snatch = (reservationId: string) => {
    const device = lifecycle.snatch(state.reservations.get(reservationId));
    if (!device) throw new Error(`reservation ${reservationId} is unknown or not free`);
    return snapshotOf(device);
  };
  const setDeviceState = (deviceId: string, to: DeviceState) => {
    const device = state.devices.get(deviceId);
    if (!device) throw new Error(`there is no device ${deviceId}`);
    forcedStates.add(to);
    lifecycle.force(device, to);
  };

  const devices = () =>
    [...state.devices.values()].filter((one) => one.state !== 'deleted').map(snapshotOf);
  const reservationsNow = () => [...state.reservations.values()].map((one) => ({ ...one }));
  const emulator = await startEmulator(base, options, {
    form,
    api: equinixApi(
      { core, lifecycle },
      { base: normalPath(options.basePath ?? '/metal/v1'), save: file.save, forcedStates },
    ),
    admin(app) {
      addRoutes(app, { snatch, setDeviceState });
      app.get('/state', async () => ({
        devices: devices(),
        reservations: reservationsNow(),
        violations: violationsOf(state),
      }));
    },
    settled: machines.settled,
    async close() {
      core.scheduler.stop();
      machines.stop();
      events.removeAllListeners();
      await file.close();
    },
  });
  core.scheduler.start(lifecycle.run, awayMs);
  lifecycle.resume(awayMs);
  await file.save();

  const valueOf = (scope: 'user' | 'project') =>
    state.tokens.find(({ projectId }) => (projectId === null) === (scope === 'user'))!.value;
  return {
    ...emulator,
    ...{ events, snatch, setDeviceState, settled: machines.settled },
    tokens: { user: valueOf('user'), project: valueOf('project') },
    projectId: [...state.projects.keys()][0]!,
    organizationId: state.organizationId,
    ...{ devices, reservations: reservationsNow },
    violations: () => violationsOf(state),
  };
}

const stateBody = z.strictObject({
  state: z.string().regex(/^[a-z][a-z0-9_]*$/, 'expected a word such as active'),
});

/** Changes of devices and reservations without an API client. */
function addRoutes(
  app: FastifyInstance,
  { snatch, setDeviceState }: Pick<EquinixEmulator, 'snatch' | 'setDeviceState'>,
): void {
  type Id = { Params: { id: string } };
  app.post<Id>('/devices/:id/state', async ({ params: { id }, body }) => {
    const { state } = stateBody.parse(body);
    orRefuse(404, () => setDeviceState(id, state));
    return { id, state };
  });
  app.post<Id>('/reservations/:id/snatch', async ({ params: { id } }) => {
    orRefuse(409, () => void snatch(id));
    return { id };
  });
}

const normalPath = (path: string): string => {
  const inner = path.replaceAll(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
};
