import { ProviderError } from '../../../domain/errors.ts';
import { ownershipOf, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { CreateRequest } from '../port.ts';
import type { Fate, StubDevice } from './device.ts';
import type { Faults, Occasion } from './faults.ts';
import { type Gap, noCapacity, overQuota, type RefusalDeps } from './refusals.ts';
import { spoiltTags } from './actions.ts';
import type { World } from './world.ts';

export interface CreationDeps {
  readonly world: World;
  readonly faults: Faults;
  readonly instanceSetId: string;
  /** The account's: every instance on it shares the pace. */
  readonly checkGap: Gap;
}

export interface CreationCall {
  readonly occasion: Occasion;
  readonly refusal: RefusalDeps;
  readonly signal: AbortSignal;
}

export interface Creations {
  create(request: CreateRequest, witness: string, call: CreationCall): Promise<StubDevice>;
  /** @throws {ProviderError} `race-lost`: another owner's mark is on it. */
  find(witness: string): StubDevice | null;
}

/** How devices come to be, and all that keeps them from it. */
export function createCreations(deps: CreationDeps): Creations {
  const { world, faults } = deps;

  function slotOf({ unused }: CreateRequest): string {
    const { availability, reservationId: slotId } = unused;
    if (availability !== 'KnownUnused' || slotId === null || !world.knows(slotId)) {
      throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
    }
    return slotId;
  }

  function find(witness: string): StubDevice | null {
    const found = world.witnessed(witness);
    if (!found || ownershipOf(found.tags, deps.instanceSetId) !== 'foreign') return found ?? null;
    throw new ProviderError('race-lost', `another owner tagged device ${found.id}`);
  }

  function madeBefore(witness: string, slotId: string): StubDevice | null {
    const made = find(witness);
    if (!made || made.reservationId === slotId) return made;
    throw new ProviderError('conflict', `witness ${witness} is on device ${made.id} elsewhere`);
  }

  function checkFree(slotId: string) {
    const slot = world.slot(slotId);
    if (slot && !slot.broken && !world.onSlot(slotId)) return;
    throw new ProviderError('race-lost', `reservation ${slotId} is taken or gone`);
  }

  /** What the provider itself has against it. */
  function admit(slotId: string, { occasion, refusal }: CreationCall) {
    deps.checkGap(occasion, refusal);
    const reservation = { operation: 'reservation', call: 1, reservation: slotId } as const;
    if (faults.sticks('not-provisionable', reservation)) {
      throw new ProviderError('invalid', `reservation ${slotId} is not provisionable`);
    }
    checkQuota(occasion, refusal);
    checkCapacity(slotId, occasion, refusal);
  }

  function checkQuota(occasion: Occasion, { asked }: RefusalDeps) {
    const limit = faults.look(occasion, 'quota-changes') ?? faults.look(occasion, 'quota');
    if (!limit || world.devices().length < limit.amount) return;
    limit.use();
    throw overQuota(limit.amount, asked);
  }

  function checkCapacity(slotId: string, occasion: Occasion, { asked }: RefusalDeps) {
    const none = faults.strike(occasion, 'capacity', 'capacity-wrapped');
    if (none) {
      const error = noCapacity(none.rule.scope ?? 'all', asked);
      if (none.fault === 'capacity') throw error;
      const reply = new Error('the reply of the API', { cause: error });
      throw new ProviderError('transient', `${asked} failed`, { cause: reply });
    }
    const left = faults.look(occasion, 'capacity-changes');
    if (!left) return;
    const free = world.slots().filter(({ id, broken }) => !broken && !world.onSlot(id));
    if (free.findIndex(({ id }) => id === slotId) < left.amount) return;
    left.use();
    throw noCapacity('plan', asked);
  }

  function fateOf(occasion: Occasion): Fate {
    const strike = faults.strike(occasion, 'create-stuck', 'failed-at-boot');
    if (!strike) return 'up';
    return strike.fault === 'create-stuck' ? 'stuck' : 'broken';
  }

  function formerId(occasion: Occasion): string | undefined {
    const [former] = world.formerIds();
    return former !== undefined && faults.strike(occasion, 'reused-id') ? former : undefined;
  }

  function make(slotId: string, request: CreateRequest, occasion: Occasion): StubDevice {
    const { hostname, initCommand, publicKey } = request;
    const tags: Tags = spoiltTags(request.tags, occasion, faults);
    const id = formerId(occasion);
    const fate = fateOf(occasion);
    const order = { reservationId: slotId, hostname, tags, initCommand, publicKey, id, fate };
    const device = world.add(order);
    if (!faults.strike(occasion, 'failed-at-create')) return device;
    world.fail(device.id);
    return world.device(device.id)!;
  }

  return {
    find,
    async create(request, witness, call) {
      const slotId = slotOf(request);
      const made = madeBefore(witness, slotId);
      if (made) return made;
      checkFree(slotId);
      await request.onAttempt({ attempts: 1, ambiguous: request.resumed });
      call.signal.throwIfAborted();
      checkFree(slotId);
      admit(slotId, call);
      return make(slotId, request, call.occasion);
    },
  };
}
