import { ProviderError, isProviderError } from '../../domain/errors.ts';
import type { Witness } from '../../domain/ids.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import { SET_ID_TAG, WITNESS_TAG, type Tags } from '../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../clock/port.ts';
import type {
  Provider,
  CallOptions,
  Capabilities,
  DriverMachine,
  FleetCall,
  FleetCreateRequest,
  FleetProvider,
} from '../provider/port.ts';
import type { Calls, Running, Operation } from './calls.ts';
import { ourTags, createOne, type createFirstBoot } from './creation.ts';
import type { Looks, Absence, createInventory } from './looks.ts';
import type { Locks } from './time-limit.ts';

/** How long an API may still show old tags. */
const LATE_MS = 10 * 60_000;

/** Our tags written by this process, because reads may lag. */
export function createWrittenTags(clock: Clock) {
  const written = new Map<string, { readonly tags: Tags; readonly untilMs: number }>();

  function sweep(): void {
    for (const [id, { untilMs }] of written) {
      if (untilMs > clock.monotonic()) return;
      written.delete(id);
    }
  }
  function note(id: string, tags: Tags): void {
    // Re-inserted at the end: the map is in order of time.
    written.delete(id);
    written.set(id, { tags, untilMs: clock.monotonic() + LATE_MS });
  }

  return {
    /** Tags last written to a machine; empty once reads must show them. */
    of(id: string): Tags {
      sweep();
      return written.get(id)?.tags ?? {};
    },
    /** Records tags that were written with the machine itself. */
    note,
    /** Writes and records tags; forgets the record if the result is unknown. */
    async during<T>(id: string, tags: Tags, write: () => Promise<T>): Promise<T> {
      try {
        const answer = await write();
        note(id, tags);
        return answer;
      } catch (error) {
        if (facetsOf(error).outcome === 'unknown') written.delete(id);
        throw error;
      }
    },
  };
}
export type WrittenTags = ReturnType<typeof createWrittenTags>;

/**
 * Puts our mark on an unmarked machine before any other change. Without tags, the inventory is the
 * mark.
 * @throws {ProviderError} `conflict`: it is another owner's. `not-implemented`: it cannot be
 *   marked.
 */
export async function makeOurs(
  provider: Provider,
  { ask, looks, written }: AssimilationDeps,
  mark: { readonly id: string; readonly witness: Witness; readonly instanceSetId: string },
  running: Running,
): Promise<ProviderMachine> {
  const { id, witness, instanceSetId } = mark;
  const machine = await looks.get(id, running);
  refuseForeign(machine);
  if (!provider.capabilities.tags) {
    if (machine.ownership === 'ours') return machine;
    throw new ProviderError('not-implemented', `machine ${id} cannot be marked as ours`);
  }
  const mine = { [SET_ID_TAG]: instanceSetId, [WITNESS_TAG]: witness };
  const tags = { ...ourTags(machine), ...written.of(id), ...mine };
  await written.during(id, tags, () =>
    ask('SetTags', running, async (options) => provider.setTags(id, tags, options)),
  );
  const marked = await looks.get(id, running);
  refuseForeign(marked);
  // Reads may lag behind this write.
  return { ...marked, tags: { ...marked.tags, ...tags }, ownership: 'ours' };
}

export interface AssimilationDeps {
  readonly ask: Calls['ask'];
  readonly looks: Pick<Looks, 'get'>;
  readonly written: WrittenTags;
}

/** @throws {ProviderError} `conflict`: it is another owner's. */
export function refuseForeign({ id, ownership }: Pick<ProviderMachine, 'id' | 'ownership'>): void {
  if (ownership !== 'foreign') return;
  throw new ProviderError('conflict', `machine ${id} belongs to another owner`);
}

export interface OrdersDeps {
  readonly calls: Pick<Calls, 'ask' | 'begin'>;
  /** Serializes changes of a machine, and of a slot. */
  readonly locks: Locks;
  readonly looks: Looks;
  readonly boot: ReturnType<typeof createFirstBoot>;
  readonly written: WrittenTags;
  readonly absence: Pick<Absence, 'forget'>;
  readonly instanceSetId: string;
  /** Null: the driver creates machines. */
  readonly inventory: ReturnType<typeof createInventory> | null;
}

type Orders = Pick<
  FleetProvider,
  | 'assimilate'
  | 'createMachine'
  | 'deprovisionMachine'
  | 'rebootMachine'
  | 'reinstallMachine'
  | 'resetController'
  | 'setPower'
  | 'setTags'
>;

/** A change of one machine. */
interface Order {
  readonly operation: Operation;
  readonly id: string;
  readonly call: FleetCall;
  /** The machine may be invisible, so the driver does what an announcing one does. */
  readonly isBlind?: boolean;
}

/**
 * Changes of machines: only those that the driver supports, only on our machines, one at a time per
 * machine.
 */
export function createOrders(provider: Provider, deps: OrdersDeps): Orders {
  const { calls, locks, looks, boot, written, absence, inventory, instanceSetId } = deps;
  const { capabilities } = provider;
  const { announces = false } = capabilities;
  const require = (capability: keyof Capabilities) => requireCapability(capabilities, capability);

  /** An announcing driver does it later, when its own queue admits the request. */
  const checked = async ({ beforeSending }: CallOptions): Promise<void> => {
    if (!announces) await beforeSending?.();
  };

  /**
   * An announcing driver passes the machine that it read to `requireOurs`, as its last check before
   * the request. For any other driver the machine is read here, just before the call.
   */
  async function order<T>(
    { operation, id, call, isBlind = announces }: Order,
    request: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const running = await open({ operation, id, call });
    const { reservationId, options } = running;
    try {
      if (!isBlind) await looks.get(id, running, true);
      const answer = await calls.ask(operation, running, async (options) => {
        if (!isBlind) await options.beforeSending?.();
        return request(options);
      });
      if (running.isLookedAt()) return answer;
      const what = 'the driver answered without checking the owner of the machine';
      throw new ProviderError('permanent', what, { outcome: 'unknown' });
    } catch (error) {
      // Confirms the driver's answer; what the core read itself is already confirmed.
      await looks.believeGone(error, { id, reservationId }, options.signal);
      throw error;
    } finally {
      running.end();
    }
  }

  /** A change that writes tags, for which the current tags are needed. */
  async function orderWithTags<T, Plan extends { readonly tags: Tags }>(
    { operation, id, call }: Order,
    planFor: (machine: ProviderMachine) => Plan,
    request: (options: CallOptions, plan: Plan) => Promise<T>,
  ): Promise<T> {
    const running = await open({ operation, id, call });
    try {
      const machine = await looks.get(id, running, true);
      // Includes tags that were written and are not readable yet.
      const plan = planFor({ ...machine, tags: { ...machine.tags, ...written.of(id) } });
      return await written.during(id, plan.tags, () =>
        calls.ask(operation, running, (options) => request(options, plan)),
      );
    } finally {
      running.end();
    }
  }

  /** Until it ends, nothing else is done to the machine. */
  async function open({ operation, id, call }: Order, check = looks.requireOurs): Promise<Running> {
    const requireOurs = (machine: DriverMachine) => check(id, machine);
    return locked(calls.begin(operation, call, { requireOurs }), `machine ${id}`);
  }

  async function locked(running: Running, key: string): Promise<Running> {
    const { limit, options } = running;
    const endWait = limit.wait();
    try {
      const unlock = await locks.take(key, options.signal);
      const end = () => {
        unlock();
        running.end();
      };
      return { ...running, end };
    } catch (cause) {
      running.end();
      throw new ProviderError('aborted', 'another change was in progress', { cause });
    } finally {
      endWait();
    }
  }

  async function create(request: FleetCreateRequest, running: Running): Promise<ProviderMachine> {
    if (inventory) return inventory.takeIn(request, (id) => looks.get(id, running));
    const { ask } = calls;
    const { made, tags } = await createOne({ provider, ask, boot }, request, running).finally(
      absence.forget,
    );
    const machine = looks.seen(made);
    if (machine.id !== null) written.note(machine.id, ourTags({ tags }));
    return machine;
  }

  /** Releases an inventory's machine, which stays where it is. */
  async function letGo({ id, call }: Omit<Order, 'operation'>): Promise<void> {
    const running = await open({ operation: 'Destroy', id, call });
    try {
      await looks.get(id, running, true);
      await call.beforeSending?.();
    } finally {
      running.end();
    }
  }

  return {
    async createMachine(request, call) {
      const begun = calls.begin('Create', call, { operationId: request.witness });
      // An inventory's machine has no reservation; a shared lock for "no slot" would serialize all
      // of them.
      const { reservationId, id } = request.unused ?? {};
      const running = await locked(begun, `slot ${reservationId ?? id}`);
      try {
        return await create(request, running);
      } finally {
        running.end();
      }
    },
    async deprovisionMachine(id, call) {
      if (!inventory) require('deprovision');
      try {
        if (!capabilities.deprovision) return await letGo({ id, call });
        await order({ operation: 'Destroy', id, call }, async (options) =>
          provider.deprovisionMachine(id, options),
        );
      } catch (error) {
        if (!isProviderError(error, 'not-found')) throw error;
      }
    },
    async rebootMachine(id, mode, call) {
      require('reboot');
      return order({ operation: 'Reboot', id, call }, async (options) =>
        provider.rebootMachine(id, mode, options),
      );
    },
    async reinstallMachine(id, call) {
      require('reinstall');
      const planFor = (machine: ProviderMachine) => {
        const request = boot.forReinstallation(machine);
        return { request, tags: ourTags(request) };
      };
      const what = { operation: 'Reinstall', id, call } as const;
      return orderWithTags(what, planFor, async (options, { request }) => {
        await checked(options);
        return provider.reinstallMachine(id, request, options);
      });
    },
    async setPower(id, want, call) {
      require('power');
      return order({ operation: 'Power', id, call }, async (options) =>
        provider.setPower!(id, want, options),
      );
    },
    async resetController(id, call) {
      require('resetController');
      const what = { operation: 'ResetController', id, call, isBlind: true } as const;
      return order(what, async (options) => provider.resetController!(id, options));
    },
    async assimilate(id, witness, call) {
      const check = (_: string, machine: DriverMachine) => refuseForeign(looks.seen(machine));
      const running = await open({ operation: 'SetTags', id, call }, check);
      const { ask } = calls;
      try {
        const mark = { id, witness, instanceSetId };
        return await makeOurs(provider, { ask, looks, written }, mark, running);
      } finally {
        running.end();
      }
    },
    async setTags(id, tags, call) {
      require('tags');
      const planFor = (machine: ProviderMachine) => ({ tags: { ...ourTags(machine), ...tags } });
      await orderWithTags({ operation: 'SetTags', id, call }, planFor, async (options, plan) =>
        provider.setTags(id, plan.tags, options),
      );
    },
  };
}

/** @throws {ProviderError} `not-implemented`: the driver does not support it. */
export function requireCapability(
  capabilities: Capabilities,
  capability: keyof Capabilities,
): void {
  if (capabilities[capability]) return;
  throw new ProviderError(
    'not-implemented',
    `the driver does not have the capability ${capability}`,
  );
}
