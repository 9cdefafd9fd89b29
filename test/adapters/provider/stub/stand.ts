import { createMemMetrics, type MemMetrics } from '../../../doubles/mem-metrics.ts';
import type {
  CallOptions,
  DriverMachine,
  Provider,
} from '../../../../src/adapters/provider/port.ts';
import {
  createStubAccount,
  type StubAccount,
  type StubAccountOptions,
} from '../../../../src/adapters/provider/stub/account.ts';
import { noMachines, type StubMachines } from '../../../../src/adapters/provider/stub/device.ts';
import type { FaultRule, Faults } from '../../../../src/adapters/provider/stub/faults.ts';
import {
  createStubProvider,
  type StubProviderOptions,
} from '../../../../src/adapters/provider/stub/stub-provider.ts';
import type { ProviderMachine } from '../../../../src/domain/machine.ts';
import {
  INSTANCE_SECRET_PATH,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../../src/domain/provisioning/provider-tags.ts';
import { free } from '../../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../../doubles/recording-log.ts';
import { createSimulatedClock, type VirtualClock } from '../../../doubles/simulated-clock.ts';

export const SET_ID = 'shep0-ci000-000000000000000';
export const PROVISIONING_MS = 60_000;
export const BOOT_MS = 10_000;
const SECRET = '0123456789abcdef0123456789abcdef01234567';
export const initCommand = (secret = SECRET): string =>
  `#!/bin/sh\numask 0177\nprintf %s ${secret} > ${INSTANCE_SECRET_PATH}\n`;

export interface StubStand {
  readonly clock: VirtualClock;
  readonly log: RecordingLog;
  readonly metrics: MemMetrics;
  readonly account: StubAccount;
  readonly provider: Provider;
  /** Options of a call; the operation id is the witness of a creation. */
  call(operationId?: string, signal?: AbortSignal): CallOptions;
  list(): Promise<readonly DriverMachine[]>;
  get(id: string): Promise<DriverMachine>;
  /** On the first free piece of capacity, or the one that is named. */
  create(order?: CreateOrder): Promise<DriverMachine>;
  /** Created, and its provisioning time has passed. */
  running(order?: CreateOrder): Promise<string>;
  /** Another instance on the same account. */
  open(change?: Partial<StubProviderOptions>): Provider;
  close(): Promise<void>;
}
export interface CreateOrder {
  readonly witness?: string;
  readonly reservationId?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface StubStandOptions extends Partial<Omit<StubAccountOptions, 'faults'>> {
  readonly machines?: (faults: Faults, clock: VirtualClock) => StubMachines;
  readonly publicKey?: string;
  readonly without?: StubProviderOptions['without'];
}

/** A stub in virtual time with four pieces of capacity, and everything that it does written down. */
export function createStubStand(
  faults: readonly FaultRule[] = [],
  { machines, publicKey = '', without = ['hostKey'], ...change }: StubStandOptions = {},
): StubStand {
  const clock = createSimulatedClock();
  const log = recordingLog();
  const metrics = createMemMetrics();
  const account = createStubAccount(
    {
      plans: [{ name: 'c3', location: 'm1', spot: false, reservations: 4 }],
      timing: { provisioningMs: PROVISIONING_MS, bootMs: BOOT_MS, deprovisioningMs: 0 },
      latencyMs: 0,
      devicePrefix: 'stub-',
      inventory: null,
      seed: 7,
      ...change,
      faults,
    },
    { clock, log, metrics, machines: (known) => machines?.(known, clock) ?? noMachines },
  );
  const open: StubStand['open'] = (other = {}) =>
    createStubProvider(account, { instanceSetId: SET_ID, without, maxConcurrency: 8, ...other });
  const provider = open();
  let witnesses = 0;

  const call: StubStand['call'] = (operationId = 'an operation', signal) => ({
    signal: signal ?? new AbortController().signal,
    deadline: new Date(clock.now() + 3_600_000),
    operationId,
    requireOurs: () => undefined,
  });

  async function create(order: CreateOrder = {}): Promise<DriverMachine> {
    const used = new Set(account.world.devices().map(({ reservationId }) => reservationId));
    const free = account.world.slots().find(({ id }) => !used.has(id));
    const reservationId = order.reservationId ?? free!.id;
    witnesses += 1;
    const witness = order.witness ?? `witness-${witnesses}`;
    return provider.createMachine(
      {
        unused: freeCapacity(reservationId),
        hostname: provider.hostnameFor!(reservationId),
        plan: 'c3',
        image: null,
        resumed: false,
        publicKey,
        tags: { ...order.tags, [SET_ID_TAG]: SET_ID, [WITNESS_TAG]: witness },
        initCommand: initCommand(),
        onAttempt: async () => undefined,
      },
      call(witness, order.signal),
    );
  }

  return {
    clock,
    log,
    metrics,
    account,
    provider,
    call,
    create,
    open,
    list: async () => (await provider.listMachines({}, call())).machines,
    get: (id) => provider.getMachine(id, call()),
    async running(order) {
      const { reservationId } = await create(order);
      clock.increment(PROVISIONING_MS);
      return account.world.onSlot(reservationId!)!.id;
    },
    async close() {
      await provider.stop();
      await account.close();
    },
  };
}

/** Free capacity as the core hands it to a driver. */
export const freeCapacity = (reservationId: string): ProviderMachine =>
  free({ reservationId, plan: 'c3', location: 'm1', observedAtMs: 0 });

/** The error that it rejects with. */
export async function errorOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => {
      throw new Error('it was accepted');
    },
    (error: unknown) => error as Error,
  );
}
