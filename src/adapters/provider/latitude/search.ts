import type { Call } from '../../http/call.ts';
import type { Routes } from './client/routes.ts';
import type { Server } from './client/schema.ts';
import { sameName } from './names.ts';
import type { Owner, Ownership } from './ownership.ts';
import type { StoredRecord, StoredRecords } from './stored-records.ts';
import type { Owned } from './stock.ts';

/** Looks for servers of one name, which need not be unique. */
export interface Search {
  /**
   * By the API's own filter, of which nobody says what it may leave out: what is found is there, and
   * that nothing is found is no proof.
   * @throws {ApiError} PartialListing: nothing was found, and something was left out.
   */
  byName(call: Call, hostname: string): Promise<readonly Owned[]>;
  /**
   * In the list of all, so that an empty answer is one.
   * @throws {ApiError} PartialListing.
   */
  everywhere(call: Call, hostname: string): Promise<readonly Owned[]>;
}

export function createSearch(deps: {
  readonly routes: Routes;
  readonly records: StoredRecords;
  readonly ownership: Ownership;
}): Search {
  const { routes, records, ownership } = deps;

  async function withOwners(
    call: Call,
    hostname: string,
    servers: readonly Server[],
  ): Promise<readonly Owned[]> {
    if (servers.length === 0) return [];
    let table = await records.of(call, hostname);
    let owners = await proved(call, servers, table.of(hostname));
    if (servers.some(({ id }) => owners.get(id)!.kind !== 'ours')) {
      // One may have come since they were read, and nobody is refused for what is not known yet.
      table = await records.read(call);
      owners = await proved(call, servers, table.of(hostname));
    }
    if (!table.complete && [...owners.values()].some(({ kind }) => kind === 'untagged')) {
      throw call.error('PartialListing', `the record of ${hostname} may have been left out`);
    }
    return servers.map((server) => ({ server, owner: owners.get(server.id)! }));
  }

  /** What is found is going to be taken for what was ordered, so it has to be that. */
  async function proved(
    call: Call,
    servers: readonly Server[],
    claims: readonly StoredRecord[],
  ): Promise<ReadonlyMap<string, Owner>> {
    const owners = new Map(await ownership.ownersOf(call, servers, claims));
    for (const server of servers) {
      const owner = owners.get(server.id)!;
      if (owner.kind !== 'ours') continue;
      if (await ownership.isInstalledWith(call, server, owner.record)) continue;
      owners.set(server.id, { kind: 'disputed' });
    }
    return owners;
  }

  return {
    byName: async (call, hostname) =>
      withOwners(call, hostname, await routes.findServers(call, hostname)),
    async everywhere(call, hostname) {
      const { items, unread, complete } = await routes.listServers(call);
      const found = items.filter((server) => sameName(server.hostname, hostname));
      const isVague =
        !complete ||
        unread.some(({ reservationId: name }) => name === null || sameName(name, hostname));
      if (found.length === 0 && isVague) {
        throw call.error('PartialListing', `a server ${hostname} may have been left out`);
      }
      return withOwners(call, hostname, found);
    },
  };
}
