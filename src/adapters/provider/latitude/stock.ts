import type { UnreadableEntry } from '../../../domain/machine.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import type { Log } from '../../log/port.ts';
import type { DriverListing, DriverMachine } from '../port.ts';
import type { Routes } from './client/routes.ts';
import type { Server } from './client/schema.ts';
import type { LatitudeConfig } from './project-config.ts';
import { toFreeCapacity } from './mapping.ts';
import type { Place } from './names.ts';
import type { Owner, Ownership } from './ownership.ts';
import type { ServerView } from './server-view.ts';
import type { RecordTable, StoredRecords } from './stored-records.ts';
import type { Systems } from './systems.ts';

/** A server with a name of ours, and whose it is. */
export interface Owned {
  readonly server: Server;
  readonly owner: Owner;
}
/** All that the project has of us. */
export interface Inventory {
  readonly owned: readonly Owned[];
  readonly records: RecordTable;
  readonly unreadable: readonly UnreadableEntry[];
  readonly complete: boolean;
  /** Servers of the project that have no name of ours. */
  readonly others: number;
}

export interface Stock {
  /** Servers first: one that is made in between has its record by then. */
  take(call: Call): Promise<Inventory>;
  list(call: Call): Promise<{ readonly listing: DriverListing; readonly inventory: Inventory }>;
}

export function createStock(
  config: LatitudeConfig,
  deps: {
    readonly routes: Routes;
    readonly records: StoredRecords;
    readonly ownership: Ownership;
    readonly systems: Systems;
    readonly view: Pick<ServerView, 'isNamed' | 'show' | 'slotOf'>;
    readonly clock: Pick<Clock, 'now'>;
    readonly log: Log;
  },
): Stock {
  const { routes, records, ownership, systems, view, clock, log } = deps;
  let othersTold = -1;

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
      // A name that only looks like ours: neither a slot of ours nor a record says so.
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

  /** A record without a server may belong to one that is about to show up. */
  const isAwaited = ({ hostname }: Place, { records: table }: Inventory): boolean =>
    table.of(hostname).some(({ writtenAtMs }) => clock.now() - writtenAtMs < config.settleMs);

  function freeIn(inventory: Inventory): Place[] {
    // One that cannot be read may have any name.
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
    if (others > 0) log.info({ provider: config.name, others }, 'servers without a name of ours');
  }

  return {
    take,
    async list(call) {
      const inventory = await take(call);
      const userOf = await systems.users(call);
      tellOthers(inventory);
      const machines: DriverMachine[] = [];
      const unreadable = [...inventory.unreadable];
      for (const { server, owner } of inventory.owned) {
        const isVague = owner.kind === 'untagged' && !inventory.records.complete;
        if (!isVague) machines.push(view.show(server, owner, userOf));
        else unreadable.push({ ...placeOf(server), fault: 'its record may have been left out' });
      }
      machines.push(...freeIn(inventory).map(toFreeCapacity));
      return { inventory, listing: { machines, unreadable, complete: inventory.complete } };
    },
  };

  function placeOf({ id, hostname }: Server) {
    return { id, reservationId: view.slotOf(hostname) };
  }
}
