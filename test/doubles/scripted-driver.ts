import { createMemMetrics } from './mem-metrics.ts';
import {
  createFleetProvider,
  type FleetProviderDeps,
  type FleetProviderOptions,
} from '../../src/adapters/driver-kit/fleet-provider.ts';
import type {
  Capabilities,
  DriverMachine,
  FleetCreateRequest,
  Provider,
} from '../../src/adapters/provider/port.ts';
import type { HostKeySession } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { providerName, witness } from '../../src/domain/ids.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { NO_TRAITS } from '../../src/domain/traits.ts';
import { free as freeListed } from '../support/facts.ts';
import { recordingLog } from './recording-log.ts';
import { createSeededRandom, createSimulatedClock } from './simulated-clock.ts';

export const SET_ID = 'aaaaa-bbbbb-ccccccccccccccc';
export const OTHER_SET_ID = 'zzzzz-bbbbb-ccccccccccccccc';
export const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
export const NAME = providerName('rack');

export const EVERYTHING: Capabilities = {
  create: true,
  deprovision: true,
  reboot: true,
  reinstall: true,
  power: true,
  tags: true,
  hostKey: true,
  consistentList: true,
  maxConcurrency: 64,
};

/** One of our machines. */
export const machine = (id: string, change: Partial<DriverMachine> = {}): DriverMachine => ({
  id,
  reservationId: `slot-${id}`,
  availability: 'KnownUsed',
  plan: 'small',
  tags: { [SET_ID_TAG]: SET_ID },
  ...change,
});
export const free = (slot: string): DriverMachine => ({
  id: null,
  reservationId: slot,
  availability: 'KnownUnused',
  plan: 'small',
});

/** Free capacity in a listing of the fleet. */
export const unused = (slot: string, change: Partial<ProviderMachine> = {}): ProviderMachine =>
  freeListed({
    ...{ reservationId: slot, plan: 'small', ...NO_TRAITS, observedAtMs: 0 },
    ...change,
  });
export const order = (change: Partial<FleetCreateRequest> = {}): FleetCreateRequest => ({
  unused: unused('slot-1'),
  hostname: 'one',
  witness: WITNESS,
  ...change,
});

/** A driver with the test's methods; other methods must not be called. */
export function scripted(methods: Partial<Provider> = {}): Provider {
  const unasked = (what: string) => async (): Promise<never> => {
    throw new ProviderError('permanent', `${what} was asked`);
  };
  return {
    capabilities: EVERYTHING,
    listMachines: unasked('list'),
    getMachine: async (id) => machine(id),
    createMachine: unasked('create'),
    deprovisionMachine: unasked('deprovision'),
    rebootMachine: unasked('reboot'),
    reinstallMachine: unasked('reinstall'),
    setPower: unasked('power'),
    setTags: unasked('setTags'),
    verifyHostKey: unasked('verifyHostKey'),
    capacityGroup: ({ name }) => name,
    stop: async () => undefined,
    ...methods,
  };
}

/** The core around a driver, with its metrics and log. */
export function fleetOf(
  driver: Provider,
  options: Partial<FleetProviderOptions> = {},
  deps: Partial<FleetProviderDeps> = {},
) {
  const metrics = createMemMetrics();
  const log = recordingLog();
  const fleet = createFleetProvider(
    driver,
    {
      name: NAME,
      type: 'scripted',
      instanceSetId: SET_ID,
      sharedTags: {},
      image: null,
      initCommand: '',
      publicKey: 'ssh-ed25519 AAAA',
      ...options,
    },
    { clock: createSimulatedClock(), random: createSeededRandom(1), log, metrics, ...deps },
  );
  return { fleet, metrics, log };
}

export const live = { signal: new AbortController().signal };

/** The session of a machine that needs no connection. */
export const NO_SESSION: HostKeySession = {
  execute: () => Promise.reject(new Error('nothing may be run')),
};
