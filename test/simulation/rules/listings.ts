import type { DriverListing, DriverMachine } from '../../../src/adapters/provider/port.ts';
import { changesOf, MINUTE, type SimulationRule } from './rule.ts';

/**
 * A device is gone after this many complete listings in a row without it, over at least this time.
 */
const UNLISTED_MIN = 3;
const UNLISTED_FOR_MS = 15 * MINUTE;
/** Maximum age of a listing that a daemon acts on. */
const FRESH_MS = 10 * MINUTE;

interface ShownListing {
  readonly atMs: number;
  readonly complete: boolean;
  readonly ids: ReadonlySet<string | null>;
}

/** How daemons act on the listings of a provider. */
export const LISTINGS: readonly SimulationRule[] = [
  {
    id: 'gone-means-gone',
    sentence: 'A failed or partial listing never means that a machine is gone (DESIGN 2.8)',
    watch(_, say) {
      /** By daemon, the latest first. */
      const listings = new Map<string, ShownListing[]>();
      /** By daemon: when each device was last looked up and not found. */
      const unfound = new Map<string, number>();
      /** When the provider last said that it takes each device away. */
      const leaving = new Map<string, number>();
      const note = (
        by: string,
        id: string | null,
        status: string | null | undefined,
        atMs: number,
      ) =>
        status === 'Missing' ? leaving.set(`${by} ${id}`, atMs) : leaving.delete(`${by} ${id}`);
      return (step) => {
        const { atMs } = step;
        if (step.kind === 'answer') {
          const { path, by, error, result, args } = step.call;
          if (path === 'provider.getMachine' && error === 'not-found') {
            unfound.set(`${by} ${String(args[0])}`, atMs);
          }
          if (path === 'provider.getMachine' && error === null) {
            const { id, status } = result as DriverMachine;
            note(by, id, status, atMs);
          }
          if (path !== 'provider.listMachines' || error !== null) return;
          const { machines, complete } = result as DriverListing;
          const ids = new Set(machines.map(({ id }) => id));
          for (const { id, status } of machines) note(by, id, status, atMs);
          const shown = (listings.get(by) ?? []).filter((each) => atMs - each.atMs < FRESH_MS);
          listings.set(by, [{ atMs, complete, ids }, ...shown]);
        }
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          if (step.kind !== 'write' || !step.by || !before?.row.provided || !after) continue;
          const { providerId, status } = before.row.provided;
          const tell = (why: string) => say(`${machineId} by ${step.by}: ${why}`);
          const { missing } = after.row;
          if (missing && missing.seen > (before.row.missing?.seen ?? 0)) {
            const shown = listings.get(step.by) ?? [];
            if (!shown.some(({ complete, ids }) => complete && !ids.has(providerId))) {
              tell(`no complete listing is without device ${providerId}`);
            }
          }
          if (after.row.provided?.status !== 'Missing' || status === 'Missing') continue;
          // The provider itself says that the device is leaving.
          const toldAtMs = leaving.get(`${step.by} ${providerId}`) ?? -Infinity;
          if (atMs - toldAtMs < FRESH_MS) continue;
          const { seen = 0, sinceMs = atMs } = missing ?? {};
          if (seen < UNLISTED_MIN) tell(`missing after ${seen} listings`);
          if (atMs - sinceMs < UNLISTED_FOR_MS) tell(`missing after ${atMs - sinceMs} ms`);
          if (atMs - (unfound.get(`${step.by} ${providerId}`) ?? 0) > FRESH_MS) {
            tell('missing without a last look');
          }
        }
      };
    },
  },
];
