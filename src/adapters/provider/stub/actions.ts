import { ProviderError } from '../../../domain/errors.ts';
import { type Tags, TAG_PREFIX } from '../../../domain/provisioning/provider-tags.ts';
import type { OperationRef, ReinstallRequest } from '../port.ts';
import type { StubDevice } from './device.ts';
import type { Faults, Occasion } from './faults.ts';
import type { World } from './world.ts';

export interface ActionsDeps {
  readonly world: World;
  readonly faults: Faults;
  /** Whether it is ours to act on, so far as names tell. */
  isManaged(device: StubDevice): boolean;
}

/** What is done to a device that is there. All but `destroy` reject with `not-found`. */
export interface Actions {
  get(id: string): StubDevice;
  destroy(id: string, occasion: Occasion): void;
  reboot(id: string, mode: 'graceful' | 'force', occasion: Occasion): OperationRef;
  reinstall(id: string, request: ReinstallRequest, occasion: Occasion): OperationRef;
  power(id: string, want: 'on' | 'off', occasion: Occasion): OperationRef;
  setTags(id: string, tags: Tags, occasion: Occasion): void;
}

export function createActions({ world, faults, isManaged }: ActionsDeps): Actions {
  function get(id: string): StubDevice {
    const device = world.device(id);
    if (device && isManaged(device)) return device;
    throw new ProviderError('not-found', `no device ${id} of ours`);
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
    destroy(id, occasion) {
      const device = world.device(id);
      if (!device || !isManaged(device) || device.leaving || device.status === 'Missing') return;
      const strike = faults.strike(occasion, 'destroy-not-found', 'wipe-failed', 'destroy-listed');
      if (strike?.fault === 'destroy-not-found') return;
      if (strike?.fault === 'wipe-failed') world.fail(id);
      else if (strike) world.change(id, { leaving: { listings: strike.amount } });
      else world.give(id);
    },
    reboot(id, mode, occasion) {
      const { status } = get(id);
      if (mode === 'force') reachBoard(occasion, id);
      if (status === 'Stopped') throw new ProviderError('conflict', `device ${id} is switched off`);
      const strike = faults.strike(occasion, 'reboot-ignored', 'reboot-loop');
      if (strike?.fault !== 'reboot-ignored') world.reboot(id, strike?.amount);
      return refOf(occasion, id);
    },
    reinstall(id, request, occasion) {
      const { tags } = get(id);
      const spoilt = spoiltTags(request.tags, occasion, faults);
      world.change(id, { tags: withOurs(tags, spoilt), stale: null });
      const strike = faults.strike(occasion, 'reinstall-stuck', 'failed-at-boot');
      const isStuck = strike?.fault === 'reinstall-stuck';
      const { initCommand, publicKey } = request;
      const end = strike
        ? ({ fate: isStuck ? 'stuck' : 'broken', progress: isStuck ? strike.amount : 0 } as const)
        : ({ fate: 'up', progress: 0 } as const);
      world.reinstall(id, { initCommand, publicKey }, end);
      return refOf(occasion, id);
    },
    power(id, want, occasion) {
      const { power } = get(id);
      reachBoard(occasion, id);
      if (power !== want) world.power(id, want);
      return refOf(occasion, id);
    },
    setTags(id, tags, occasion) {
      const { tags: before } = get(id);
      if (faults.strike(occasion, 'tags-refused')) {
        throw new ProviderError('invalid', `the tags of ${id} are refused`);
      }
      const stale = faults.strike(occasion, 'tags-stale');
      world.change(id, {
        tags: withOurs(before, spoiltTags(tags, occasion, faults)),
        stale: stale ? { tags: before, left: stale.amount } : null,
      });
    },
  };
}

/** Tags as an API stores them that has its own idea of texts. */
export function spoiltTags(tags: Tags, occasion: Occasion, faults: Faults): Tags {
  const cut = faults.strike(occasion, 'tags-truncated');
  const lower = faults.strike(occasion, 'tags-lower-cased');
  const spoil = (text: string) => (lower ? text.toLowerCase() : text);
  return Object.fromEntries(
    Object.entries(tags).map(([key, value]) => [
      spoil(key),
      spoil(cut ? value.slice(0, cut.amount) : value),
    ]),
  );
}

/** All keys of ours replaced, every other one as it was, whatever is wanted. */
export const withOurs = (before: Tags, wanted: Tags): Tags => ({
  ...only(before, (key) => !key.startsWith(TAG_PREFIX)),
  ...only(wanted, (key) => key.startsWith(TAG_PREFIX)),
});

const only = (tags: Tags, isWanted: (key: string) => boolean): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => isWanted(key)));
