import { explain, isProviderError } from '../../../domain/errors.ts';
import type { UnreadableEntry } from '../../../domain/machine.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { Log } from '../../log/port.ts';
import type { DriverListing, DriverMachine, SweepReport } from '../port.ts';
import type { Server } from './api.ts';
import type { Owner, Ownership, MarkRecord, Search } from './ownership.ts';
import type { RecordWriter } from './record-writer.ts';
import type { RecordTable, StoredRecords, StoredRecord } from './records.ts';
import type { Routes } from './routes.ts';
import type { LatitudeConfig, Place } from './settings.ts';
import type { OurSshKey, Systems } from './systems.ts';
import { toFreeCapacity, type ServerView } from './view.ts';

/** Shared by the parts of this driver. */
export interface Parts {
  readonly routes: Routes;
  readonly records: StoredRecords;
  readonly ownership: Ownership;
  readonly writer: RecordWriter;
  readonly search: Search;
  readonly view: ServerView;
  readonly systems: Systems;
  readonly sshKey: OurSshKey;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long a first-boot script stays in the record, because it may still have to run. */
export const SCRIPT_KEPT_MS = 3_600_000;

/** A server with one of our names, and its owner. */
export interface Owned {
  readonly server: Server;
  readonly owner: Owner;
}
/** Everything of ours in the project. */
export interface Inventory {
  readonly owned: readonly Owned[];
  readonly records: RecordTable;
  readonly unreadable: readonly UnreadableEntry[];
  readonly complete: boolean;
  /** Number of servers without one of our names. */
  readonly others: number;
}

export function createStock(
  config: LatitudeConfig,
  deps: Omit<Parts, 'writer' | 'search' | 'sshKey'>,
) {
  const { routes, records, ownership, systems, view, clock, log } = deps;
  let othersTold = -1;

  /** Servers first: a server created in between already has its record. */
  async function take(call: Call): Promise<Inventory> {
    const servers = await routes.listServers(call);
    const table = await records.read(call);
    const named = Map.groupBy(
      servers.items.filter(({ hostname }) => view.isNamed(hostname)),
      ({ hostname }) => hostname!.toLowerCase(),
    );
    const owned: Owned[] = [];
    for (const [hostname, group] of named) {
      const claims = table.of(hostname);
      // The name only resembles ours: neither a slot nor a record confirms it.
      if (view.slotOf(hostname) === null && !claims.some(isOfOurSet)) continue;
      const owners = await ownership.ownersOf(call, group, claims);
      owned.push(...group.map((server) => ({ server, owner: owners.get(server.id)! })));
    }
    return {
      owned,
      records: table,
      unreadable: servers.unread.map(({ id, reservationId: hostname, fault }) => ({
        id,
        reservationId: hostname === null ? null : view.slotOf(hostname),
        fault,
      })),
      complete: servers.complete && table.complete,
      others: servers.items.length - owned.length,
    };
  }
  const isOfOurSet = ({ set }: { readonly set: string }) => set === config.instanceSetId;

  /** A record without a server may belong to a server that is about to appear. */
  const isAwaited = ({ hostname }: Place, { records: table }: Inventory): boolean =>
    table.of(hostname).some(({ writtenAtMs }) => clock.now() - writtenAtMs < config.settle);

  function freeIn(inventory: Inventory): Place[] {
    // An unreadable server may have any name.
    if (inventory.unreadable.some(({ reservationId }) => reservationId === null)) return [];
    const taken = new Set([
      ...inventory.owned.map(({ server }) => view.slotOf(server.hostname)),
      ...inventory.unreadable.map(({ reservationId }) => reservationId),
    ]);
    return config.places.filter((place) => !taken.has(place.slot) && !isAwaited(place, inventory));
  }

  function tellOthers({ others, complete }: Inventory): void {
    if (!complete || others === othersTold) return;
    othersTold = others;
    if (others > 0)
      log.info({ provider: config.name, others }, 'some servers do not have a name of ours');
  }

  return {
    take,
    async list(
      call: Call,
    ): Promise<{ readonly listing: DriverListing; readonly inventory: Inventory }> {
      const inventory = await take(call);
      const userOf = await systems.users(call);
      tellOthers(inventory);
      const machines: DriverMachine[] = [];
      const unreadable = [...inventory.unreadable];
      for (const { server, owner } of inventory.owned) {
        const isVague = owner.kind === 'untagged' && !inventory.records.complete;
        if (!isVague) machines.push(view.show(server, owner, userOf));
        else unreadable.push({ ...placeOf(server), fault: 'the listing may lack its record' });
      }
      machines.push(...freeIn(inventory).map(toFreeCapacity));
      return { inventory, listing: { machines, unreadable, complete: inventory.complete } };
    },
  };

  function placeOf({ id, hostname }: Server) {
    return { id, reservationId: view.slotOf(hostname) };
  }
}

export type Stock = ReturnType<typeof createStock>;

/** Maximum scripts removed after one listing: the next comes soon; writes are scarce. */
const CUTS_OF_A_LISTING = 4;
const LEFTOVER_AGE_MS = 3_600_000;

/** Removes first-boot scripts, which hold a secret, from records, and removes obsolete records. */
export function createSweeping(
  config: LatitudeConfig,
  deps: Pick<Parts, 'writer' | 'clock' | 'log'> & { readonly stock: Pick<Stock, 'take'> },
) {
  const { stock, writer, clock, log } = deps;

  /** The machine booted long ago, so nothing needs the script any more. */
  const spent = ({ owned }: Inventory): MarkRecord[] =>
    owned.flatMap(({ server, owner }) => {
      if (owner.kind !== 'ours' || server.status !== 'on') return [];
      const { mark, writtenAtMs } = owner.record;
      const isOld = clock.now() - writtenAtMs >= SCRIPT_KEPT_MS;
      return mark.hasScript && isOld ? [owner.record] : [];
    });

  /** Concludes nothing from an incomplete listing. */
  function leftovers({ owned, records, complete, unreadable }: Inventory): StoredRecord[] {
    if (!complete || unreadable.length > 0) return [];
    const counting = new Set(
      owned.flatMap(({ owner }) => (owner.kind === 'ours' ? owner.record.id : [])),
    );
    const disputed = new Set(
      owned.flatMap(({ server, owner }) =>
        owner.kind === 'ours' ? [] : server.hostname!.toLowerCase(),
      ),
    );
    return records.all.filter(
      ({ id, set, hostname, writtenAtMs }) =>
        set === config.instanceSetId &&
        hostname.startsWith(config.namePrefix) &&
        !counting.has(id) &&
        !disputed.has(hostname) &&
        clock.now() - writtenAtMs >= LEFTOVER_AGE_MS,
    );
  }

  const cut = (call: Call, { id }: MarkRecord): Promise<boolean> =>
    writer.change(call, id, (mark) => mark, 'cut');

  return {
    async sweep(call: Call, dryRun: boolean): Promise<SweepReport> {
      const inventory = await stock.take(call);
      const scripts = spent(inventory);
      const left: StoredRecord[] = [];
      for (const record of dryRun ? [] : scripts) await cut(call, record);
      for (const record of leftovers(inventory)) {
        // A creation may have resumed the record meanwhile.
        if (dryRun || (await writer.removeIfAsRead(call, record))) left.push(record);
      }
      return {
        removed: [
          ...scripts.map(({ id }) => ({ kind: 'first-boot-script', id })),
          ...left.map(({ id }) => ({ kind: 'user-data', id })),
        ],
      };
    },
    /** Removes a few scripts after each listing, so that none stays long. Failures are retried. */
    async cutSome(call: Call, inventory: Inventory): Promise<void> {
      for (const record of spent(inventory).slice(0, CUTS_OF_A_LISTING)) {
        try {
          await cut(call, record);
        } catch (error) {
          if (isProviderError(error, 'aborted')) return;
          const fields = { provider: config.name, record: record.id, cause: explain(error) };
          log.warn(fields, 'a first-boot script could not be removed from its record');
          return;
        }
      }
    },
  };
}
