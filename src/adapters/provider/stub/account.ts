import { ProviderError } from '../../../domain/errors.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import { SET_ID_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import { type Calls, createCalls } from './calls.ts';
import { uuidOf } from './chance.ts';
import type { StubDevice, StubMachines, StubPlan } from './device.ts';
import { createFaults, type FaultRule, type Faults } from './faults.ts';
import { createGap, type Gap } from './refusals.ts';
import { createListings, type Listings } from './listing.ts';
import { createViews, type Views } from './views.ts';
import { createWorld, type World, type WorldTiming } from './world.ts';

export interface StubAccountOptions {
  readonly plans: readonly StubPlan[];
  readonly timing: WorldTiming;
  /** Of every call. */
  readonly latencyMs: number;
  /** Devices whose names begin otherwise are not shown; empty: all are. */
  readonly devicePrefix: string;
  /**
   * Not null: on every reservation there is a machine from the start, under the same id, and all are
   * shown as `PossiblyUsed`.
   */
  readonly inventory: StubInventory | null;
  /** Of names and chances: the same seed and the same calls, the same run. */
  readonly seed: number;
  readonly faults: readonly FaultRule[];
}

export interface StubInventory {
  /** OpenSSH line of the key that its machines let in. */
  readonly publicKey: string;
  /** What they carry from the start; whose they are. */
  readonly tags: Tags;
}

export interface StubAccountDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Made for the account, and closed with it. */
  machines(faults: Faults): StubMachines;
  /** Instead of names that follow from the seed. */
  readonly newId?: (...purpose: readonly (string | number)[]) => string;
}

/** What stands behind a stub: hardware, machines, faults. Several providers may be open on it. */
export interface StubAccount {
  readonly options: StubAccountOptions;
  readonly clock: Clock;
  readonly world: World;
  readonly machines: StubMachines;
  readonly faults: Faults;
  readonly calls: Calls;
  readonly listings: Listings;
  readonly views: Views;
  readonly checkCreateGap: Gap;
  isManaged(device: StubDevice): boolean;
  /** A stranger's device takes the reservation. Answers its id. */
  snatch(
    reservationId: string,
    order?: { readonly hostname?: string; readonly tags?: Tags },
  ): string;
  /** Somebody changes the device's owner tag; null takes it away. */
  setOwner(id: string, owner: string | null): void;
  /** Somebody puts a tag on it. */
  putTag(id: string, key: string, value: string): void;
  setStatus(id: string, status: ProviderStatus): void;
  /** Ends timers and machines. */
  close(): Promise<void>;
}

export function createStubAccount(
  options: StubAccountOptions,
  { clock, log, metrics, ...deps }: StubAccountDeps,
): StubAccount {
  const { seed, inventory, devicePrefix } = options;
  const nowMs = () => clock.now();
  const faults = createFaults({ seed, log, metrics });
  for (const rule of options.faults) faults.add(rule);
  const machines = deps.machines(faults);
  const newId =
    deps.newId ?? ((...purpose: readonly (string | number)[]) => uuidOf(seed, ...purpose));
  const { plans, timing } = options;
  const world = createWorld({ plans, timing, clock, log, machines, newId });
  const calls = createCalls({ clock, faults, latencyMs: options.latencyMs });
  const views = createViews({ world, faults, stateless: inventory !== null, nowMs });
  const isManaged = ({ hostname }: StubDevice) => hostname.startsWith(devicePrefix);
  const listings = createListings({ world, faults, calls, views, seed, isManaged, nowMs });
  const checkCreateGap = createGap('create-gap', { faults, nowMs });
  let strangers = 0;
  if (inventory) for (const { id } of world.slots()) addStock(id, inventory);

  function addStock(id: string, stock: StubInventory) {
    const named = { id, reservationId: id, hostname: devicePrefix + id.slice(0, 18) };
    world.add({ ...named, ...stock, fate: 'up', initCommand: '', isUp: true });
  }

  function need(id: string): StubDevice {
    const device = world.device(id);
    if (device) return device;
    throw new ProviderError('not-found', `no device ${id}`);
  }

  return {
    options,
    clock,
    world,
    machines,
    faults,
    calls,
    listings,
    views,
    isManaged,
    checkCreateGap,
    snatch(reservationId, { hostname, tags = {} } = {}) {
      strangers += 1;
      const named = { reservationId, hostname: hostname ?? `stranger-${strangers}`, tags };
      return world.add({ ...named, fate: 'up', initCommand: '', publicKey: '' }).id;
    },
    setOwner(id, owner) {
      const { [SET_ID_TAG]: _, ...others } = need(id).tags;
      world.change(id, { tags: owner === null ? others : { ...others, [SET_ID_TAG]: owner } });
    },
    putTag: (id, key, value) => world.change(id, { tags: { ...need(id).tags, [key]: value } }),
    setStatus(id, status) {
      const failed = status === 'ProvisioningFailedPermanent';
      if (failed) world.fail(need(id).id);
      world.change(id, { status, failed });
    },
    close: () => world.close(),
  };
}
