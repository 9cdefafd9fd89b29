import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isRefused, nullIfGone } from '../../driver-kit/errors.ts';
import type { Server } from './api.ts';
import { TAKEN_IN_T, type Mark, type StoredRecord, type StoredRecords } from './records.ts';
import type { Routes } from './routes.ts';
import { sameName, type LatitudeConfig } from './settings.ts';
import type { Owned } from './stock.ts';

/** A record that is a mark. */
export type MarkRecord = StoredRecord & { readonly mark: Mark };

/**
 * Whose a server is that has the name of one of our slots. `untagged`: there is no record.
 * `disputed`: the record is another set's, or nobody can tell which of several counts.
 */
export type Owner =
  | { readonly kind: 'ours'; readonly record: MarkRecord }
  | { readonly kind: 'untagged' }
  | { readonly kind: 'disputed' };

const DISPUTED: Owner = { kind: 'disputed' };
const UNTAGGED: Owner = { kind: 'untagged' };

/** What a server was installed with is believed for so long; it changes when it is installed anew. */
const BELIEVED_MS = 10 * 60_000;

export function createOwnership(
  { instanceSetId, settle: settleMs }: Pick<LatitudeConfig, 'instanceSetId' | 'settle'>,
  { routes, clock }: { readonly routes: Routes; readonly clock: Pick<Clock, 'monotonic' | 'now'> },
) {
  const installed = new Map<
    string,
    { readonly userData: string | null; readonly untilMs: number }
  >();

  /** The record that a server was installed with; of no server is it asked each time. */
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
     * @param servers all that are known of one name, which need not be unique.
     * @param records all of that name.
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
      // The oldest first: if two were made with one record, the second is one too many.
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
     * Whether a server was installed with the record that has its name: the name alone may be anybody's. A
     * server that was taken in was installed before it had one, and is believed.
     * @throws {ProviderError} `transient`: one that is quite new does not tell yet.
     */
    async isInstalledWith(
      call: Call,
      server: Server,
      { id, mark, writtenAtMs }: MarkRecord,
    ): Promise<boolean> {
      if (mark.t === TAKEN_IN_T) return true;
      // Another one is not believed: since then another daemon may have installed it anew.
      const named = await installedWith(call, server, (known) => known === id);
      if (named !== null || clock.now() - writtenAtMs >= settleMs) return named === id;
      const what = `server ${server.id} does not tell yet what it was installed with`;
      throw call.error('transient', what);
    },
    /** It is being installed with another record. */
    forget: (serverId: string): void => void installed.delete(serverId),
  };
}
export type Ownership = ReturnType<typeof createOwnership>;

/** Of one that is just going it may be refused; then it is not known whose it is. */
const nullIfRefused = (error: unknown): null => (isRefused(error) ? null : nullIfGone(error));

/** Those whose age is not told count as young. */
function byAge(one: Server, other: Server): number {
  const [a, b] = [createdAtMs(one), createdAtMs(other)];
  return a === b ? (one.id < other.id ? -1 : 1) : a - b;
}
const createdAtMs = ({ created_at: at = '' }: Server): number => {
  const parsed = Date.parse(at);
  return Number.isNaN(parsed) ? Number.MAX_SAFE_INTEGER : parsed;
};

/** Looks for servers of one name, which need not be unique. */
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
      // One may have come since they were read, and nobody is refused for what is not known yet.
      table = await records.read(call);
      owners = await proved(call, servers, table.of(hostname));
    }
    if (!table.complete && [...owners.values()].some(({ kind }) => kind === 'untagged')) {
      throw call.error('transient', `the record of ${hostname} may have been left out`);
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
    /**
     * By the API's own filter, of which nobody says what it may leave out: what is found is there, and
     * that nothing is found is no proof.
     * @throws {ProviderError} `transient`: nothing was found, and something was left out.
     */
    byName: async (call: Call, hostname: string): Promise<readonly Owned[]> =>
      withOwners(call, hostname, await routes.findServers(call, hostname)),
    /**
     * In the list of all, so that an empty answer is one.
     * @throws {ProviderError} `transient`.
     */
    async everywhere(call: Call, hostname: string): Promise<readonly Owned[]> {
      const { items, unread, complete } = await routes.listServers(call);
      const found = items.filter((server) => sameName(server.hostname, hostname));
      const isVague =
        !complete ||
        unread.some(({ reservationId: name }) => name === null || sameName(name, hostname));
      if (found.length === 0 && isVague) {
        throw call.error('transient', `a server ${hostname} may have been left out`);
      }
      return withOwners(call, hostname, found);
    },
  };
}
export type Search = ReturnType<typeof createSearch>;
