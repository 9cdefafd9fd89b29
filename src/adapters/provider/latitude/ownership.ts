import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isRefused, nullIfGone } from '../../driver-kit/errors.ts';
import type { Server } from './api.ts';
import { TAKEN_IN_T, type Mark, type StoredRecord, type StoredRecords } from './records.ts';
import type { Routes } from './routes.ts';
import { sameName, type LatitudeConfig } from './settings.ts';
import type { Owned } from './stock.ts';

/** A record that is a valid mark. */
export type MarkRecord = StoredRecord & { readonly mark: Mark };

/**
 * Owner of a server with the name of one of our slots. `untagged`: there is no record. `disputed`:
 * the record is another set's, or several records contradict each other.
 */
export type Owner =
  | { readonly kind: 'ours'; readonly record: MarkRecord }
  | { readonly kind: 'untagged' }
  | { readonly kind: 'disputed' };

const DISPUTED: Owner = { kind: 'disputed' };
const UNTAGGED: Owner = { kind: 'untagged' };

/** How long a server's installation data are cached; they change with a reinstallation. */
const BELIEVED_MS = 10 * 60_000;

export function createOwnership(
  { instanceSetId, settle: settleMs }: Pick<LatitudeConfig, 'instanceSetId' | 'settle'>,
  { routes, clock }: { readonly routes: Routes; readonly clock: Pick<Clock, 'monotonic' | 'now'> },
) {
  const installed = new Map<
    string,
    { readonly userData: string | null; readonly untilMs: number }
  >();

  /** The record that a server was installed with, cached for each server. */
  async function installedWith(
    call: Call,
    { id }: Server,
    isBelieved: (recordId: string | null) => boolean = () => true,
  ): Promise<string | null> {
    const known = installed.get(id);
    const isFresh = known !== undefined && known.untilMs > clock.monotonic();
    if (isFresh && isBelieved(known.userData)) return known.userData;
    const told = await routes.getDeployConfig(call, id).catch(nullIfRefused);
    if (!told) return null;
    const { userData } = told;
    for (const [old, { untilMs }] of installed) {
      if (untilMs <= clock.monotonic()) installed.delete(old);
    }
    installed.set(id, { userData, untilMs: clock.monotonic() + BELIEVED_MS });
    return userData;
  }

  const ownerBy = (record: MarkRecord): Owner =>
    record.set === instanceSetId ? { kind: 'ours', record } : DISPUTED;

  return {
    /**
     * @param servers all known servers of one name, which need not be unique.
     * @param records all records of that name.
     */
    async ownersOf(
      call: Call,
      servers: readonly Server[],
      records: readonly StoredRecord[],
    ): Promise<ReadonlyMap<string, Owner>> {
      const marks = records.filter((record): record is MarkRecord => record.mark !== null);
      const owners = new Map<string, Owner>();
      if (marks.length === 0) return new Map(servers.map(({ id }) => [id, UNTAGGED]));
      if (marks.length === 1 && servers.length === 1) {
        return owners.set(servers[0]!.id, ownerBy(marks[0]!));
      }
      // Oldest first: if two servers were created with one record, the second is surplus.
      const claimed = new Set<string>();
      for (const each of servers.toSorted(byAge)) {
        const named = await installedWith(call, each);
        const record = marks.find(({ id }) => id === named && !claimed.has(id));
        owners.set(each.id, record ? ownerBy(record) : DISPUTED);
        if (record) claimed.add(record.id);
      }
      return owners;
    },
    /**
     * Whether a server was installed with the record of its name: anybody may use the name. An
     * assimilated server was installed before it had a record, and is trusted.
     * @throws {ProviderError} `transient`: a new server does not show its installation yet.
     */
    async isInstalledWith(
      call: Call,
      server: Server,
      { id, mark, writtenAtMs }: MarkRecord,
    ): Promise<boolean> {
      if (mark.t === TAKEN_IN_T) return true;
      // A mismatch is checked again: another daemon may have reinstalled the server since.
      const named = await installedWith(call, server, (known) => known === id);
      if (named !== null || clock.now() - writtenAtMs >= settleMs) return named === id;
      const what = `server ${server.id} does not show its installation yet`;
      throw call.error('transient', what);
    },
    /** The server is being installed with another record. */
    forget: (serverId: string): void => void installed.delete(serverId),
  };
}
export type Ownership = ReturnType<typeof createOwnership>;

/** The API may refuse this for a server that is being deleted; then its owner is unknown. */
const nullIfRefused = (error: unknown): null => (isRefused(error) ? null : nullIfGone(error));

/** Servers of unknown age count as young. */
function byAge(one: Server, other: Server): number {
  const [a, b] = [createdAtMs(one), createdAtMs(other)];
  return a === b ? (one.id < other.id ? -1 : 1) : a - b;
}
const createdAtMs = ({ created_at: at = '' }: Server): number => {
  const parsed = Date.parse(at);
  return Number.isNaN(parsed) ? Number.MAX_SAFE_INTEGER : parsed;
};

/** Searches for servers by name, which need not be unique. */
export function createSearch(deps: {
  readonly routes: Routes;
  readonly records: StoredRecords;
  readonly ownership: Ownership;
}) {
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
      // A record may have appeared since the read, and nobody is refused for an outdated one.
      table = await records.read(call);
      owners = await proved(call, servers, table.of(hostname));
    }
    if (!table.complete && [...owners.values()].some(({ kind }) => kind === 'untagged')) {
      throw call.error('transient', `the listing may lack the record of ${hostname}`);
    }
    return servers.map((server) => ({ server, owner: owners.get(server.id)! }));
  }

  /** A server found by name will count as the ordered one, so its installation is verified. */
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
    /**
     * Uses the API's filter, which is undocumented: a server found exists, but an empty result
     * proves nothing.
     * @throws {ProviderError} `transient`: nothing was found, and something was left out.
     */
    byName: async (call: Call, hostname: string): Promise<readonly Owned[]> =>
      withOwners(call, hostname, await routes.findServers(call, hostname)),
    /**
     * Uses the list of all servers, so that an empty result is proof.
     * @throws {ProviderError} `transient`.
     */
    async everywhere(call: Call, hostname: string): Promise<readonly Owned[]> {
      const { items, unread, complete } = await routes.listServers(call);
      const found = items.filter((server) => sameName(server.hostname, hostname));
      const isVague =
        !complete ||
        unread.some(({ reservationId: name }) => name === null || sameName(name, hostname));
      if (found.length === 0 && isVague) {
        throw call.error('transient', `the listing may lack a server ${hostname}`);
      }
      return withOwners(call, hostname, found);
    },
  };
}
export type Search = ReturnType<typeof createSearch>;
