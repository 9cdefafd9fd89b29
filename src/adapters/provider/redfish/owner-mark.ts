import { explain, isProviderError } from '../../../domain/errors.ts';
import type { DriverContext } from '../port.ts';
import type { Bmc, Wire } from './client/bmc.ts';
import { patch } from './client/patch.ts';
import { readSystem, type System, systemOf } from './client/system.ts';
import type { BmcEntry } from './entries.ts';

const MARK = /^shep:([a-z0-9]{5}-[a-z0-9]{5}-[a-z0-9]{15})$/i;

/** Marks a system for other fleets: 32 characters with the set id. */
export const markOf = (instanceSetId: string): string => `shep:${instanceSetId}`;

/** The set whose whole mark this is; null: it is none, or only a piece of one. */
export const setIdIn = (assetTag: string | null): string | null =>
  MARK.exec(assetTag ?? '')?.[1] ?? null;

/** A label against a second fleet on the same rack; never the record of what is ours. */
export interface OwnerMark {
  /** Puts the mark on a system whose asset tag is empty, and looks whether it is there. */
  put(wire: Wire, entry: BmcEntry, system: System): Promise<void>;
}

export function createOwnerMark(
  where: 'none' | 'assetTag',
  { log, name, instanceSetId }: Pick<DriverContext, 'log' | 'name' | 'instanceSetId'>,
): OwnerMark {
  const mark = markOf(instanceSetId);
  /** Ids of machines that go on without. */
  const without = new Set<string>();
  function goWithout({ id }: BmcEntry, why: string) {
    without.add(id);
    log.warn({ provider: name, machine: id, why }, 'a machine carries no mark of ours');
  }
  return {
    async put(wire, entry, system) {
      const { assetTag, path } = system;
      if (where === 'none' || assetTag === mark || without.has(entry.id)) return;
      if (setIdIn(assetTag) !== null) return goWithout(entry, 'it carries that of another set');
      if (assetTag !== null) return goWithout(entry, 'its asset tag says something else');
      try {
        await patch(wire, system, { AssetTag: mark });
      } catch (error) {
        if (!isProviderError(error) || error.kind === 'transient') throw error;
        return goWithout(entry, explain(error));
      }
      const now = systemOf(await wire.get(path));
      if (now.assetTag !== mark) goWithout(entry, 'its BMC did not keep it');
      return undefined;
    },
  };
}

/**
 * Takes our mark off a system that carries it.
 * @param check awaited just before; if it rejects, the mark is left.
 */
export type TakeMarkOff = (
  entry: BmcEntry,
  signal: AbortSignal,
  check?: () => Promise<void>,
) => Promise<void>;

export const markRemover =
  (
    bmcOf: (entry: BmcEntry) => Bmc,
    { clock, instanceSetId }: Pick<DriverContext, 'clock' | 'instanceSetId'>,
  ): TakeMarkOff =>
  async (entry, signal, check) => {
    const bmc = bmcOf(entry);
    await bmc.inTurn({ signal }, async (wire) => {
      const system = await readSystem(bmc, wire, entry.system, clock.monotonic());
      if (system.assetTag !== markOf(instanceSetId)) return;
      await check?.();
      await patch(wire, system, { AssetTag: '' });
    });
  };
