import type { BmdbSession, Lease } from '../../../../src/adapters/bmdb/port.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import type { BmdbHarness } from '../../../contracts/bmdb-stage.ts';
import { PROVIDERS, SECOND } from './commands.ts';
import type { Command } from './commands.ts';

/** Commands about what belongs to no machine that is worked on: jobs, holds of providers, requests. */

/** What of a side is needed here. */
interface FleetSide {
  readonly h: BmdbHarness;
  readonly names: ReadonlyMap<string, string>;
  readonly leases: readonly Lease[];
  readonly witnesses: readonly string[];
}

/** The `at`th last of them. */
export const last = <T>(all: readonly T[], at: number): T | undefined =>
  all.length === 0 ? undefined : all[all.length - 1 - (at % all.length)];

export const takeJob = (session: BmdbSession, job: number): Promise<Lease | null> =>
  session.lease(`provisioner/${PROVIDERS[job]!}`);

/** What needs no session. */
export function withFleet(
  { h, leases }: FleetSide,
  command: Command,
): (() => Promise<unknown>) | null {
  const provider = PROVIDERS[0]!;
  switch (command.do) {
    case 'releaseLease': {
      const lease = last(leases, command.lease);
      return lease ? () => lease.release() : null;
    }
    case 'impose': {
      const { kind, key, forS, level, amount } = command;
      const hold = { provider, kind, key: `slot-${key}`, level, cause: 'sold out' };
      const more = amount === null ? {} : { amount };
      return () => h.bmdb.providerHolds.impose({ ...hold, ...more, forMs: forS * SECOND });
    }
    case 'liftHolds': {
      const { kind, key } = command;
      return () =>
        key === null
          ? h.other.providerHolds.lift(provider, kind)
          : h.other.providerHolds.lift(provider, kind, `slot-${key}`);
    }
    default:
      return null;
  }
}

/** In no order where some of the ids, by which they are ordered, are each implementation's own. */
export async function candidates(
  { h, witnesses, names }: FleetSide,
  { process, provider, limit }: Extract<Command, { do: 'candidates' }>,
): Promise<string[]> {
  const of = provider === null ? {} : { provider: PROVIDERS[provider]! };
  const isOrdered = witnesses.length === 0;
  const query = { process, limit: isOrdered ? limit : 1_000, ...of };
  const found = await h.bmdb.inspection.candidates(query, SIGNAL);
  const named = found.map((id) => names.get(id) ?? id);
  return isOrdered ? named : named.toSorted();
}
