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

/** For so long an API may still show what was there before. */
const LATE_MS = 10 * 60_000;

/** The tags of ours that were written from here, since they may be read late. */
export function createWrittenTags(clock: Clock) {
  const written = new Map<string, { readonly tags: Tags; readonly untilMs: number }>();

  function sweep(): void {
    for (const [id, { untilMs }] of written) {
      if (untilMs > clock.monotonic()) return;
      written.delete(id);
    }
  }
  function note(id: string, tags: Tags): void {
    // At its end: the map is kept in the order of time.
    written.delete(id);
    written.set(id, { tags, untilMs: clock.monotonic() + LATE_MS });
  }

  return {
    /** What was written last to a machine; nothing once it must have become readable. */
    of(id: string): Tags {
      sweep();
      return written.get(id)?.tags ?? {};
    },
    /** This was written with the machine itself. */
    note,
    /** Writes, and remembers it; forgets what was there when nobody knows what is there now. */
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
 * Puts our mark on a machine that has none, before anything else is done with it. Where there are no
 * tags, an inventory is itself the mark.
 * @throws {ProviderError} `conflict`: it is another's. `not-implemented`: it cannot be marked.
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
    throw new ProviderError('not-implemented', `machine ${id} cannot be marked`);
  }
  const mine = { [SET_ID_TAG]: instanceSetId, [WITNESS_TAG]: witness };
  const tags = { ...ourTags(machine), ...written.of(id), ...mine };
  await written.during(id, tags, () =>
    ask('SetTags', running, async (options) => provider.setTags(id, tags, options)),
  );
  const marked = await looks.get(id, running);
  refuseForeign(marked);
  // What was just written may be read late.
  return { ...marked, tags: { ...marked.tags, ...tags }, ownership: 'ours' };
}

export interface AssimilationDeps {
  readonly ask: Calls['ask'];
  readonly looks: Pick<Looks, 'get'>;
  readonly written: WrittenTags;
}

/** @throws {ProviderError} `conflict`: it is another's. */
export function refuseForeign({ id, ownership }: Pick<ProviderMachine, 'id' | 'ownership'>): void {
  if (ownership !== 'foreign') return;
  throw new ProviderError('conflict', `machine ${id} belongs to another owner`);
}

export interface OrdersDeps {
  readonly calls: Pick<Calls, 'ask' | 'begin'>;
  /** One change of a machine, and of what is on a slot, at a time. */
  readonly locks: Locks;
  readonly looks: Looks;
  readonly boot: ReturnType<typeof createFirstBoot>;
  readonly written: WrittenTags;
  readonly absence: Pick<Absence, 'forget'>;
  readonly instanceSetId: string;
  /** Null: the driver makes machines. */
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
  /** The machine may not be seen, so the driver does what one does that announces. */
  readonly isBlind?: boolean;
}

/** What changes machines: only what the driver can, only ours, and one change of a machine at a time. */
export function createOrders(provider: Provider, deps: OrdersDeps): Orders {
  const { calls, locks, looks, boot, written, absence, inventory, instanceSetId } = deps;
  const { capabilities } = provider;
  const { announces = false } = capabilities;
  const require = (capability: keyof Capabilities) => requireCapability(capabilities, capability);

  /** A driver that announces does it later, when its own queue lets the request through. */
  const checked = async ({ beforeSending }: CallOptions): Promise<void> => {
    if (!announces) await beforeSending?.();
  };

  /**
   * A driver that announces shows us the machine that it read, as the last thing that it asks before
   * the request. For any other the machine is read here, just before the driver is asked.
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
      const what = 'the driver answered without a look whose the machine is';
      throw new ProviderError('permanent', what, { outcome: 'unknown' });
    } catch (error) {
      // What the core read itself is believed already, and from a listing that is still fresh.
      await looks.believeGone(error, { id, reservationId }, options.signal);
      throw error;
    } finally {
      running.end();
    }
  }

  /** A change that writes tags, for which those have to be known that are there. */
  async function orderWithTags<T, Plan extends { readonly tags: Tags }>(
    { operation, id, call }: Order,
    planFor: (machine: ProviderMachine) => Plan,
    request: (options: CallOptions, plan: Plan) => Promise<T>,
  ): Promise<T> {
    const running = await open({ operation, id, call });
    try {
      const machine = await looks.get(id, running, true);
      // Those, too, that were written and cannot be read yet.
      const plan = planFor({ ...machine, tags: { ...machine.tags, ...written.of(id) } });
      return await written.during(id, plan.tags, () =>
        calls.ask(operation, running, (options) => request(options, plan)),
      );
    } finally {
      running.end();
    }
  }

  /** Until its end nothing else is done to the machine. */
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
      throw new ProviderError('aborted', 'another change was under way', { cause });
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

  /** The machine of an inventory stays where it is. */
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
      // A machine of an inventory has no reservation: by that, all would wait for each other.
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

/** @throws {ProviderError} `not-implemented`: the driver says that it cannot. */
export function requireCapability(
  capabilities: Capabilities,
  capability: keyof Capabilities,
): void {
  if (capabilities[capability]) return;
  throw new ProviderError('not-implemented', `the driver has not the capability ${capability}`);
}
