import { ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { isNotFound } from '../../http/errors.ts';
import type { Log } from '../../log/port.ts';
import type { CallOptions, DriverMachine } from '../port.ts';
import type { Routes } from './client/routes.ts';
import { isId, type Server } from './client/schema.ts';
import type { LatitudeConfig } from './project-config.ts';
import { toMachine } from './mapping.ts';
import type { MarkRecord, Owner, Ownership } from './ownership.ts';
import { isKnownState } from './states.ts';
import type { StoredRecords } from './stored-records.ts';
import type { Systems } from './systems.ts';

/** A server, whose it is, and how the port shows it. */
export interface Seen {
  readonly server: Server;
  readonly owner: Owner;
  readonly machine: DriverMachine;
}
export interface SeenOurs extends Seen {
  readonly record: MarkRecord;
}

/** Servers as they are now. */
export interface ServerView {
  /** Slot of the machine that has this name; null: none that the configuration knows. */
  slotOf(hostname: string | undefined): string | null;
  /** Whether the name is one that we give, or gave. */
  isNamed(hostname: string | undefined): boolean;
  show(server: Server, owner: Owner, userOf: (system: string | undefined) => string): DriverMachine;
  /** @throws {ApiError} NotFound: it is gone, or in another project now. */
  get(call: Call, id: string): Promise<Seen>;
  /**
   * A server that is going to be changed.
   * @throws {ProviderError} see `CallOptions.requireOurs`; `auth`: it is not ours. @throws {ApiError}
   */
  getOurs(call: Call, id: string, how: Pick<CallOptions, 'requireOurs'>): Promise<SeenOurs>;
  /** @throws {ProviderError} `auth`: it has a name of ours, and was not installed with our record. */
  requireProved(call: Call, server: Server, record: MarkRecord): Promise<void>;
  /** It was changed by us just now: that it is not found is not believed at once. */
  noteChange(id: string): void;
}

/** A server that was changed a moment ago is asked for a second time before it counts as gone. */
const AGAIN_AFTER_MS = 5_000;

export function createServerView(
  config: LatitudeConfig,
  deps: {
    readonly routes: Routes;
    readonly records: StoredRecords;
    readonly ownership: Ownership;
    readonly systems: Systems;
    readonly clock: Pick<Clock, 'now' | 'monotonic'>;
    readonly log: Log;
  },
): ServerView {
  const { routes, records, ownership, systems, clock, log } = deps;
  const slots = new Map(config.places.map(({ hostname, slot }) => [hostname, slot]));
  const told = new Set<string>();
  const changed = new Map<string, number>();

  const slotOf = (hostname = '') => slots.get(hostname.toLowerCase()) ?? null;
  const isNamed = (hostname = '') => hostname.toLowerCase().startsWith(config.namePrefix);

  function tellOnce(key: string, fields: object, message: string): void {
    if (told.has(key)) return;
    told.add(key);
    log.warn({ provider: config.name, ...fields }, message);
  }

  const show: ServerView['show'] = (server, owner, userOf) => {
    const { id: providerId, status: state = 'unknown', scheduled_deletion_at: until } = server;
    if (!isKnownState(state)) tellOnce(state, { providerId, state }, 'server in an unknown state');
    const machine = toMachine(server, {
      owner,
      slot: slotOf(server.hostname),
      remoteUser: userOf(server.operating_system?.slug),
      nowMs: clock.now(),
      staleOnMs: config.staleOnMs,
    });
    if (until !== undefined && owner.kind === 'ours' && machine.status !== 'Missing') {
      const message = 'somebody has scheduled the deletion of a machine of ours';
      tellOnce(`${providerId} ${until}`, { providerId, until }, message);
    }
    return machine;
  };

  function wasChanged(id: string): boolean {
    const atMs = changed.get(id);
    changed.delete(id);
    return atMs !== undefined && clock.monotonic() - atMs < config.settleMs;
  }

  async function read(call: Call, id: string): Promise<Server> {
    if (!isId(id)) return missing(call, id);
    try {
      return await routes.getServer(call, id);
    } catch (error) {
      if (!isNotFound(error) || !wasChanged(id)) throw error;
      await call.wait(AGAIN_AFTER_MS);
      return routes.getServer(call, id);
    }
  }

  /** What is no id of the API goes into no path; the list says that there is no such server. */
  async function missing(call: Call, id: string): Promise<never> {
    const { complete } = await routes.listServers(call);
    if (complete) throw call.error('NotFound', `there is no server ${id}`);
    throw call.error('PartialListing', `server ${id} may have been left out`);
  }

  async function get(call: Call, id: string): Promise<Seen> {
    const server = await read(call, id);
    const { project } = server;
    if (project?.id !== undefined && project.id !== config.projectId) {
      throw call.error('NotFound', `server ${id} is in another project now`);
    }
    const userOf = await systems.users(call);
    if (!isNamed(server.hostname)) {
      const owner: Owner = { kind: 'disputed' };
      return { server, owner, machine: show(server, owner, userOf) };
    }
    const table = await records.of(call, server.hostname!);
    const owners = await ownership.ownersOf(call, [server], table.of(server.hostname!));
    const owner = owners.get(id)!;
    if (owner.kind === 'untagged' && !table.complete) {
      throw call.error('PartialListing', `the record of server ${id} may have been left out`);
    }
    return { server, owner, machine: show(server, owner, userOf) };
  }

  async function requireProved(call: Call, server: Server, record: MarkRecord): Promise<void> {
    if (await ownership.isInstalledWith(call, server, record)) return;
    throw new ProviderError(
      'auth',
      `server ${server.id} is not ours to change: it was not installed with our record ${record.id}; ` +
        'if it is ours all the same, delete that record and take the server in',
    );
  }

  return {
    slotOf,
    isNamed,
    show,
    get,
    requireProved,
    async getOurs(call, id, { requireOurs }) {
      const seen = await get(call, id);
      requireOurs(seen.machine);
      const { owner } = seen;
      if (owner.kind === 'ours') {
        await requireProved(call, seen.server, owner.record);
        return { ...seen, record: owner.record };
      }
      throw new ProviderError('auth', `server ${id} is not ours to change (${owner.kind})`);
    },
    noteChange: (id) => void changed.set(id, clock.monotonic()),
  };
}
