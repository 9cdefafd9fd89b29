import {
  Cancelled,
  Denied,
  type FleetError,
  Malformed,
  NotFound,
  OutcomeUnknown,
  RaceLost,
  Unreachable,
} from '../../../domain/errors.ts';
import type { Ownership, ProviderMachine, ProviderStatus } from '../../../domain/machine.ts';
import { type Clock, type Random, sleep } from '../../clock/port.ts';
import {
  type CallOptions,
  type CreateRequest,
  type Listing,
  OWNER_TAG,
  type Provider,
  WITNESS_TAG,
} from '../port.ts';

export interface MemProviderConfig {
  readonly devicePrefix: string;
  readonly instanceSetId: string;
  /** Free capacity at start. */
  readonly reservations: number;
  /** From a creation to status Running and an address. */
  readonly provisioningMs: number;
  /** Each call takes this long; 0 = answers at once. */
  readonly latencyMs: number;
}

export interface MemProviderDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** The machine is told to reboot; called when the request is accepted. */
  readonly onReboot?: (device: ProviderMachine) => void;
  /** The machine came up for the first time. Answers its address. */
  readonly onUp?: (device: ProviderMachine) => string;
}

export type MemOperation = 'list' | 'get' | 'create' | 'find' | 'reboot';
/**
 * What goes wrong with the next call of an operation. `failBefore`: an error, nothing done.
 * `failAfter`: done, then an error. `loseReply`: done, `OutcomeUnknown`. `hang`: nothing until the
 * signal. `incomplete`: a listing without every second entry.
 */
export interface MemFault {
  readonly operation: MemOperation;
  readonly effect: 'failBefore' | 'failAfter' | 'loseReply' | 'hang' | 'incomplete';
  /** How many calls it spoils; 1 if absent. */
  readonly times?: number;
  /** For `failBefore` and `failAfter`; `Unreachable` if absent. */
  readonly error?: FleetError;
}

/** A provider that is only memory, with a script of faults; obeys the given clock. */
export interface MemProvider extends Provider {
  inject(fault: MemFault): void;
  /** A stranger's device takes the reservation. Answers its id. */
  snatch(reservationId: string): string;
  /** The device is gone; its reservation is free again, or gone too. */
  remove(id: string, options?: { readonly withReservation: boolean }): void;
  setStatus(id: string, status: ProviderStatus): void;
  /** Somebody changes the device's owner tag; null takes it away. */
  setOwner(id: string, owner: string | null): void;
  /** All devices, strangers' included. */
  devices(): readonly ProviderMachine[];
  reservationIds(): readonly string[];
}

const STRANGER = 'stranger-';

export function createMemProvider(config: MemProviderConfig, deps: MemProviderDeps): MemProvider {
  const { clock, random } = deps;
  const reservations = new Set(Array.from({ length: config.reservations }, () => random.uuid()));
  const devices = new Map<string, ProviderMachine>();
  const faults: { fault: MemFault; left: number }[] = [];
  const timers = new Set<unknown>();
  const stopping = new AbortController();

  const onReservation = (reservationId: string) =>
    [...devices.values()].find((device) => device.reservationId === reservationId);
  const stamp = (machine: ProviderMachine) => ({ ...machine, observedAtMs: clock.now() });

  function takeFault(operation: MemOperation): MemFault | undefined {
    const at = faults.findIndex(({ fault }) => fault.operation === operation);
    const entry = faults[at];
    if (entry && --entry.left === 0) faults.splice(at, 1);
    return entry?.fault;
  }

  /** Runs one call with its latency and its fault, if one is due. */
  async function call<T>(
    operation: MemOperation,
    { signal: ours }: CallOptions,
    effect: (fault: MemFault | undefined) => T | Promise<T>,
  ): Promise<T> {
    const signal = AbortSignal.any([ours, stopping.signal]);
    const fault = signal.aborted ? undefined : takeFault(operation);
    const delayMs = fault?.effect === 'hang' ? Infinity : config.latencyMs;
    await delay(delayMs, signal, operation);
    const failure = fault?.error ?? new Unreachable(`${operation} failed as scripted`);
    if (fault?.effect === 'failBefore') throw failure;
    const result = await effect(fault);
    if (fault?.effect === 'failAfter') throw failure;
    if (fault?.effect === 'loseReply') throw new OutcomeUnknown(`reply of ${operation} was lost`);
    return result;
  }

  async function delay(delayMs: number, signal: AbortSignal, operation: MemOperation) {
    const aborted = () => new Cancelled(`${operation} was aborted`);
    if (signal.aborted) throw aborted();
    if (delayMs === Infinity) {
      await new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(aborted()), { once: true }),
      );
    }
    if (delayMs > 0) {
      await sleep(clock, delayMs, signal).catch(() => {
        throw aborted();
      });
    }
  }

  function addDevice(reservationId: string, hostname: string, tags: Record<string, string>) {
    const id = random.uuid();
    devices.set(id, {
      ...blank(reservationId, clock.now()),
      id,
      hostname,
      availability: 'KnownUsed',
      status: 'Provisioning',
      tags,
      ownership: ownershipOf(tags),
    });
    timers.add(clock.setTimeout(() => comeUp(id), config.provisioningMs));
    return devices.get(id)!;
  }

  function comeUp(id: string) {
    const device = devices.get(id);
    if (device?.status !== 'Provisioning') return;
    const up = { ...device, status: 'Running', power: 'on' } as const;
    devices.set(id, { ...up, address: deps.onUp?.(up) ?? `${id}.invalid` });
  }

  function ownershipOf({ [OWNER_TAG]: owner }: Readonly<Record<string, string>>): Ownership {
    if (owner === undefined) return 'untagged';
    return owner === config.instanceSetId ? 'ours' : 'foreign';
  }

  const isManaged = (device: ProviderMachine) =>
    device.hostname !== null && device.hostname.startsWith(config.devicePrefix);

  function listing(fault: MemFault | undefined): Listing {
    const free = [...reservations].filter((id) => !onReservation(id));
    const machines = [
      ...[...devices.values()].filter(isManaged).map(stamp),
      ...free.map((reservationId) => blank(reservationId, clock.now())),
    ];
    return fault?.effect === 'incomplete'
      ? { machines: machines.filter((_, index) => index % 2 === 0), complete: false }
      : { machines, complete: true };
  }

  function get(id: string): ProviderMachine {
    const device = devices.get(id);
    if (device && isManaged(device)) return stamp(device);
    throw new NotFound(`no device ${id} of ours`);
  }

  async function create(request: CreateRequest): Promise<ProviderMachine> {
    const { unused, hostname, witness } = request;
    const { reservationId } = unused;
    if (unused.availability !== 'KnownUnused' || !reservationId) {
      throw new Malformed('a creation needs free capacity of this provider');
    }
    const made = findWitness(witness);
    if (made && made.reservationId === reservationId) return made;
    checkFree(reservationId);
    await request.onAttempt?.({ attempts: 1, ambiguous: request.resumed ?? false });
    checkFree(reservationId);
    const tags = { [WITNESS_TAG]: witness, [OWNER_TAG]: config.instanceSetId };
    return stamp(addDevice(reservationId, hostname, tags));
  }

  function findWitness(witness: string): ProviderMachine | null {
    const found = [...devices.values()].find(({ tags }) => tags[WITNESS_TAG] === witness);
    if (found?.ownership !== 'foreign') return found ? stamp(found) : null;
    throw new RaceLost(`another owner tagged device ${found.id} of witness ${witness}`);
  }

  function checkFree(reservationId: string) {
    if (reservations.has(reservationId) && !onReservation(reservationId)) return;
    throw new RaceLost(`reservation ${reservationId} is taken or gone`);
  }

  function reboot(id: string) {
    const device = get(id);
    if (device.ownership !== 'ours') {
      throw new Denied(`device ${id} is ${device.ownership}`);
    }
    deps.onReboot?.(device);
    return { operationRef: `reboot/${id}/${clock.now()}` };
  }

  return {
    type: 'stub',
    capabilities: { reboot: true },
    listMachines: (options) => call('list', options, listing),
    getMachine: (id, options) => call('get', options, () => get(id)),
    createMachine: (request, options) => call('create', options, () => create(request)),
    findByWitness: (witness, _reservationId, options) =>
      call('find', options, () => findWitness(witness)),
    rebootMachine: (id, _mode, options) => call('reboot', options, () => reboot(id)),
    hostnameFor: (slotId) => config.devicePrefix + slotId.slice(0, 18),
    async stop() {
      stopping.abort();
      for (const timer of timers) clock.clearTimeout(timer);
    },

    inject: (fault) => void faults.push({ fault, left: fault.times ?? 1 }),
    snatch: (reservationId) => addDevice(reservationId, `${STRANGER}1`, {}).id!,
    remove(id, options = { withReservation: false }) {
      const reservationId = devices.get(id)?.reservationId;
      devices.delete(id);
      if (reservationId && options.withReservation) reservations.delete(reservationId);
    },
    setStatus(id, status) {
      const device = devices.get(id);
      if (!device) throw new NotFound(`no device ${id}`);
      const failed = status === 'ProvisioningFailedPermanent';
      devices.set(id, { ...device, status, failed });
    },
    setOwner(id, owner) {
      const device = devices.get(id);
      if (!device) throw new NotFound(`no device ${id}`);
      const { [OWNER_TAG]: _, ...others } = device.tags;
      const tags = owner === null ? others : { ...others, [OWNER_TAG]: owner };
      devices.set(id, { ...device, tags, ownership: ownershipOf(tags) });
    },
    devices: () => [...devices.values()],
    reservationIds: () => [...reservations],
  };
}

/** Free capacity; a device is made from it. */
const blank = (reservationId: string, nowMs: number): ProviderMachine => ({
  id: null,
  reservationId,
  hostname: null,
  plan: 'm3.large.x86',
  location: 'sim1',
  address: null,
  remoteUser: 'root',
  availability: 'KnownUnused',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: nowMs,
});
