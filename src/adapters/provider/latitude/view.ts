import { isIPv4, isIPv6 } from 'node:net';
import { ProviderError } from '../../../domain/errors.ts';
import { lookup } from '../../../lib/data.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import {
  DISPUTED,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
} from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { isNotFound } from '../../driver-kit/errors.ts';
import type { Log } from '../../log/port.ts';
import type { DriverMachine, CallOptions } from '../port.ts';
import { isId, type Server } from './api.ts';
import type { Owner, MarkRecord, Ownership } from './ownership.ts';
import type { StoredRecords } from './records.ts';
import type { Routes } from './routes.ts';
import type { ServerSlot, LatitudeConfig } from './settings.ts';
import type { Systems } from './systems.ts';

interface ServerCondition {
  readonly status: ProviderStatus;
  readonly failed: boolean;
  readonly power: NonNullable<DriverMachine['power']>;
}

const standing = (
  status: ProviderStatus,
  power: ServerCondition['power'] = 'unknown',
  failed = false,
): ServerCondition => ({ status, power, failed });

const STANDINGS: Readonly<Record<string, ServerCondition>> = {
  starting_deploy: standing('Provisioning'),
  deploying: standing('Provisioning'),
  disk_erasing: standing('Provisioning'),
  on: standing('Running', 'on'),
  ready: standing('Running', 'on'),
  off: standing('Stopped', 'off'),
  failed_deployment: standing('ProvisioningFailedPermanent', 'unknown', true),
  failed_disk_erasing: standing('ProvisioningFailedPermanent', 'unknown', true),
  rescue_mode: standing('Unknown', 'on'),
  unknown: standing('Unknown'),
};

/** Whether a state is documented or has been observed. */
export const isKnownState = (state: string): boolean => lookup(STANDINGS, state) !== undefined;

/**
 * Fleet status of a server's state. `on` means power, never "installed": other checks show whether
 * the system runs.
 * @param isNew an installation was requested a moment ago: `on` may describe the former system, or
 *   the installer.
 */
export function standingOf(state: string, isNew: boolean): ServerCondition {
  const found = lookup(STANDINGS, state) ?? STANDINGS['unknown']!;
  return isNew && state === 'on' ? { ...found, status: 'Provisioning' } : found;
}

/** Transient states, in which no action is taken. */
const PASSING: ReadonlySet<string> = new Set(['starting_deploy', 'deploying', 'disk_erasing']);
export const isPassing = (state: string): boolean => PASSING.has(state);

/** Marks a server given back, to be deleted at the end of its billing cycle: not ours. */
export const LEAVING_TAG = `${TAG_PREFIX}leaving`;

/** What is known about a server besides its own data. */
export interface ServerFacts {
  /** Null: the name belongs to no slot, and no record of ours names the slot. */
  readonly slot: string | null;
  readonly owner: Owner;
  readonly remoteUser: string;
  readonly nowMs: number;
  readonly staleOnMs: number;
}

/** A server in the port's form. */
export function toMachine(server: Server, known: ServerFacts): DriverMachine {
  const { owner, slot } = known;
  const { status: state = 'unknown', plan } = server;
  const isNew = owner.kind === 'ours' && known.nowMs - owner.record.writtenAtMs < known.staleOnMs;
  const { status, failed, power } = standingOf(state, isNew);
  return {
    id: server.id,
    reservationId: slot ?? (owner.kind === 'ours' ? owner.record.mark.slot || null : null),
    hostname: server.hostname?.toLowerCase() ?? null,
    plan: plan?.slug ?? slot?.split('/')[0] ?? '',
    location: server.region?.site?.slug ?? server.site ?? slot?.split('/')[1] ?? null,
    address: state === 'starting_deploy' ? null : addressOf(server),
    remoteUser: known.remoteUser,
    availability: 'KnownUsed',
    failed,
    status: isLeaving(owner) ? 'Missing' : status,
    power,
    tags: tagsOf(owner),
    ...leavingAt(server, owner),
  };
}

export const isLeaving = (owner: Owner): boolean =>
  owner.kind === 'ours' && owner.record.mark.tags[LEAVING_TAG] !== undefined;

/** End date of a give-back of ours, if the vendor reports it. */
function leavingAt({ scheduled_deletion_at: at = '' }: Server, owner: Owner) {
  const leavesAtMs = Date.parse(at);
  return isLeaving(owner) && !Number.isNaN(leavesAtMs) ? { leavesAtMs } : {};
}

function tagsOf(owner: Owner): Tags {
  if (owner.kind === 'untagged') return {};
  if (owner.kind === 'disputed') return { [SET_ID_TAG]: DISPUTED };
  const { tags } = owner.record.mark;
  return isLeaving(owner) ? { ...tags, [SET_ID_TAG]: DISPUTED } : tags;
}

export function addressOf({ primary_ipv4: v4 = '', primary_ipv6: v6 = '' }: Server): string | null {
  if (isIPv4(v4)) return v4;
  const [bare = ''] = v6.split('/');
  return isIPv6(bare) && !bare.includes('%') ? `[${bare}]` : null;
}

/** A free place in the port's form. */
export const toFreeCapacity = ({ slot, plan, site }: ServerSlot): DriverMachine => ({
  id: null,
  reservationId: slot,
  plan,
  location: site,
  availability: 'KnownUnused',
});

/** A server, its owner, and its form for the port. */
export interface OwnedServer {
  readonly server: Server;
  readonly owner: Owner;
  readonly machine: DriverMachine;
}
export interface ObservedServer extends OwnedServer {
  readonly record: MarkRecord;
}

/** Delay of the second read before a recently changed server counts as gone. */
const AGAIN_AFTER_MS = 5_000;

/** Reads current servers. */
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
) {
  const { routes, records, ownership, systems, clock, log } = deps;
  const slots = new Map(config.places.map(({ hostname, slot }) => [hostname, slot]));
  const told = new Set<string>();
  const changed = new Map<string, number>();

  /** Slot of the machine with this name; null if the configuration has none. */
  const slotOf = (hostname = ''): string | null => slots.get(hostname.toLowerCase()) ?? null;
  /** Whether the name has our prefix. */
  const isNamed = (hostname = ''): boolean => hostname.toLowerCase().startsWith(config.namePrefix);

  function tellOnce(key: string, fields: object, message: string): void {
    if (told.has(key)) return;
    told.add(key);
    log.warn({ provider: config.name, ...fields }, message);
  }

  function show(
    server: Server,
    owner: Owner,
    userOf: (system: string | undefined) => string,
  ): DriverMachine {
    const { id: providerId, status: state = 'unknown', scheduled_deletion_at: until } = server;
    if (!isKnownState(state))
      tellOnce(state, { providerId, state }, 'a server is in an unknown state');
    const machine = toMachine(server, {
      owner,
      slot: slotOf(server.hostname),
      remoteUser: userOf(server.operating_system?.slug),
      nowMs: clock.now(),
      staleOnMs: config.staleOn,
    });
    if (until !== undefined && owner.kind === 'ours' && machine.status !== 'Missing') {
      const message = 'somebody has scheduled the deletion of a machine of ours';
      tellOnce(`${providerId} ${until}`, { providerId, until }, message);
    }
    return machine;
  }

  function wasChanged(id: string): boolean {
    const atMs = changed.get(id);
    changed.delete(id);
    return atMs !== undefined && clock.monotonic() - atMs < config.settle;
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

  /** A malformed id goes into no path; the list proves that there is no such server. */
  async function missing(call: Call, id: string): Promise<never> {
    const { complete } = await routes.listServers(call);
    if (complete) throw call.error('not-found', `there is no server ${id}`);
    throw call.error('transient', `the listing may lack server ${id}`);
  }

  /** @throws {ProviderError} `not-found`: it is gone, or moved to another project. */
  async function get(call: Call, id: string): Promise<OwnedServer> {
    const server = await read(call, id);
    const { project } = server;
    if (project?.id !== undefined && project.id !== config.project) {
      throw call.error('not-found', `server ${id} is in another project now`);
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
      throw call.error('transient', `the listing may lack the record of server ${id}`);
    }
    return { server, owner, machine: show(server, owner, userOf) };
  }

  /** @throws {ProviderError} `auth`: it has our name, but was not installed with our record. */
  async function requireProved(call: Call, server: Server, record: MarkRecord): Promise<void> {
    if (await ownership.isInstalledWith(call, server, record)) return;
    throw new ProviderError(
      'auth',
      `server ${server.id} is not ours to change: it was not installed with our record ${record.id}; ` +
        'if it is ours nevertheless, delete that record and assimilate the server',
    );
  }

  return {
    slotOf,
    isNamed,
    show,
    get,
    requireProved,
    /**
     * Reads a server that will be changed.
     * @throws {ProviderError} see `CallOptions.requireOurs`; `auth`: it is not ours.
     */
    async getOurs(
      call: Call,
      id: string,
      { requireOurs }: Pick<CallOptions, 'requireOurs'>,
    ): Promise<ObservedServer> {
      const seen = await get(call, id);
      requireOurs(seen.machine);
      const { owner } = seen;
      if (owner.kind === 'ours') {
        await requireProved(call, seen.server, owner.record);
        return { ...seen, record: owner.record };
      }
      throw new ProviderError('auth', `server ${id} is not ours to change (${owner.kind})`);
    },
    /** We have just changed the server: a following "not found" is not believed at once. */
    noteChange: (id: string): void => void changed.set(id, clock.monotonic()),
  };
}
export type ServerView = ReturnType<typeof createServerView>;
