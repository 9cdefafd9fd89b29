import type {
  CreateRequest,
  OperationRef,
  ReinstallRequest,
} from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import {
  ownershipOf,
  TAG_PREFIX,
  type Tags,
} from '../../../src/domain/provisioning/provider-tags.ts';
import type { FaultScript, Occasion } from './faults.ts';
import type { SimulatedDevice, HardwareWorld } from './world.ts';

export interface OrderDeps {
  readonly world: HardwareWorld;
  readonly faults: FaultScript;
  readonly instanceSetId: string;
  /** Whether the device is ours to act on, as far as names tell. */
  isManaged(device: SimulatedDevice): boolean;
}

/** Operations on the hardware, with everything that prevents them. */
export function createOrders({ world, faults, instanceSetId, isManaged }: OrderDeps) {
  function get(id: string): SimulatedDevice {
    const device = world.device(id);
    if (device && isManaged(device)) return device;
    throw new ProviderError('not-found', `no device ${id} of ours`);
  }

  /** @throws {ProviderError} `race-lost`: it carries another owner's mark. */
  function find(witness: string): SimulatedDevice | null {
    const found = world.witnessed(witness);
    if (!found || ownershipOf(found.tags, instanceSetId) !== 'foreign') return found ?? null;
    throw new ProviderError('race-lost', `another owner tagged device ${found.id}`);
  }

  function slotOf({ unused }: CreateRequest): string {
    const { availability, reservationId: slotId } = unused;
    if (availability === 'KnownUnused' && slotId !== null && world.knows(slotId)) return slotId;
    throw new ProviderError('invalid', 'a creation needs free capacity of this provider');
  }

  function requireFree(slotId: string) {
    const slot = world.slot(slotId);
    if (slot && !slot.broken && !world.onSlot(slotId)) return;
    throw new ProviderError('race-lost', `reservation ${slotId} is taken or gone`);
  }

  function requireRoom(occasion: Occasion) {
    const quota = faults.strike(occasion, 'quota');
    if (quota && world.devices().length >= quota.amount) {
      const why = `over the quota of ${quota.amount} devices`;
      throw new ProviderError('transient', why, { quota: true });
    }
    if (!faults.strike(occasion, 'capacity')) return;
    throw new ProviderError('transient', 'no capacity', { capacity: { scope: 'all' } });
  }

  function make(
    reservationId: string,
    request: CreateRequest,
    occasion: Occasion,
  ): SimulatedDevice {
    const { hostname, tags, initCommand, publicKey } = request;
    const former = world.formerId();
    const id = former && faults.strike(occasion, 'reused-id') ? former : undefined;
    const stuck = faults.strike(occasion, 'create-stuck', 'failed-at-boot');
    const fate = stuck ? (stuck.fault === 'create-stuck' ? 'stuck' : 'broken') : 'up';
    const installation = { initCommand, publicKey };
    const device = world.add({ reservationId, hostname, tags, ...installation, id, fate });
    if (faults.strike(occasion, 'failed-at-create')) world.fail(device.id);
    return world.need(device.id);
  }

  const refOf = ({ operation, call }: Occasion, id: string): OperationRef => ({
    operationRef: `${operation}/${id}/${call}`,
  });

  function reachBoard(occasion: Occasion, id: string) {
    if (!faults.strike(occasion, 'bmc-unreachable')) return;
    throw new ProviderError('transient', `the board controller of ${id} does not answer`);
  }

  return {
    get,
    find,
    async create(
      request: CreateRequest,
      witness: string,
      { occasion, signal }: { readonly occasion: Occasion; readonly signal: AbortSignal },
    ): Promise<SimulatedDevice> {
      const slotId = slotOf(request);
      const made = find(witness);
      if (made && made.reservationId !== slotId) {
        throw new ProviderError('conflict', `witness ${witness} is on device ${made.id} elsewhere`);
      }
      if (made) return made;
      requireFree(slotId);
      await request.onAttempt({ attempts: 1, ambiguous: request.resumed });
      signal.throwIfAborted();
      requireFree(slotId);
      requireRoom(occasion);
      return make(slotId, request, occasion);
    },
    destroy(id: string, occasion: Occasion): void {
      const device = world.device(id);
      if (!device || !isManaged(device) || device.leaving || device.status === 'Missing') return;
      const strike = faults.strike(occasion, 'destroy-not-found', 'wipe-failed', 'destroy-listed');
      if (strike?.fault === 'destroy-not-found') return;
      if (strike?.fault === 'wipe-failed') world.fail(id);
      else if (strike) world.change(id, { leaving: { listings: strike.amount } });
      else world.give(id);
    },
    reboot(id: string, mode: 'graceful' | 'force', occasion: Occasion): OperationRef {
      const { status } = get(id);
      if (mode === 'force') reachBoard(occasion, id);
      if (status === 'Stopped') throw new ProviderError('conflict', `device ${id} is switched off`);
      if (!faults.strike(occasion, 'reboot-ignored')) world.reboot(id);
      return refOf(occasion, id);
    },
    reinstall(id: string, request: ReinstallRequest, occasion: Occasion): OperationRef {
      const { tags } = get(id);
      world.change(id, { tags: withOurs(tags, request.tags), stale: null });
      const strike = faults.strike(occasion, 'reinstall-stuck', 'failed-at-boot');
      const fate = strike ? (strike.fault === 'reinstall-stuck' ? 'stuck' : 'broken') : 'up';
      const { initCommand, publicKey } = request;
      world.reinstall(id, { initCommand, publicKey }, fate);
      return refOf(occasion, id);
    },
    power(id: string, want: 'on' | 'off', occasion: Occasion): OperationRef {
      const { power } = get(id);
      reachBoard(occasion, id);
      if (power !== want) world.power(id, want);
      return refOf(occasion, id);
    },
    setTags(id: string, tags: Tags, occasion: Occasion): void {
      const { tags: before } = get(id);
      if (faults.strike(occasion, 'tags-refused')) {
        throw new ProviderError('invalid', `the tags of ${id} are refused`);
      }
      const stale = faults.strike(occasion, 'tags-stale');
      world.change(id, {
        tags: withOurs(before, tags),
        stale: stale ? { tags: before, left: stale.amount } : null,
      });
    },
    /** Free again, or removed for good. */
    isReusable: (slotId: string): boolean =>
      world.onSlot(slotId) === undefined && world.slot(slotId)?.broken !== true,
  };
}

/** Replaces all our keys and keeps all others, whatever is wanted. */
const withOurs = (before: Tags, wanted: Tags): Tags => ({
  ...only(before, (key) => !key.startsWith(TAG_PREFIX)),
  ...only(wanted, (key) => key.startsWith(TAG_PREFIX)),
});

const only = (tags: Tags, isWanted: (key: string) => boolean): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => isWanted(key)));
