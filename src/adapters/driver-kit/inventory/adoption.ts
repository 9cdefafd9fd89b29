import { BlockList, isIP } from 'node:net';
import { ProviderError } from '../../../domain/errors.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Secret } from '../../../settings/secret.ts';
import type {
  CallOptions,
  Capabilities,
  DriverContext,
  DriverMachine,
  OperationRef,
  Provider,
} from '../../provider/port.ts';
import { nullIfGone } from '../errors.ts';
import { adoptedParser, type AdoptedEntry, type ServerNaming } from './adopted-list.ts';
import { requireListedKey, targetOf } from './entries.ts';
import { createInventory, createSource } from './inventory.ts';

/**
 * Servers of a vendor that already run something. A list names them, and is the mark of ownership:
 * nothing at the vendor is changed to mark them. They are watched and reset; they are never
 * reinstalled, wiped or given back.
 */

/** A server as the vendor reports it. */
export interface VendorServer extends Pick<
  DriverMachine,
  'plan' | 'location' | 'hostname' | 'status' | 'power'
> {
  /** The vendor's name of it. */
  readonly server: string;
  /** IPv4 or IPv6 for SSH; null: none. */
  readonly host: string | null;
  /** Its addresses, and networks such as `2001:db8::/64`. */
  readonly addresses: readonly string[];
  /** This provider installed the server, or gives it back: then it is not adopted. */
  readonly isInstalled: boolean;
}

/** The vendor's part in adoption. */
export interface AdoptionVendor<Server extends VendorServer> {
  readonly naming: ServerNaming;
  /** @param beganMs monotonic time of the listing: a later list is new enough. */
  list(
    call: CallOptions,
    beganMs: number,
  ): Promise<{
    readonly servers: readonly Server[];
    /** Servers with malformed entries. */
    readonly unreadable: readonly string[];
    readonly complete: boolean;
  }>;
  /** Current state before a change, otherwise at most a minute old. @throws `not-found`. */
  get(server: string, use: 'look' | 'change', call: CallOptions): Promise<Server>;
  reboot(server: Server, mode: 'graceful' | 'force', call: CallOptions): Promise<OperationRef>;
  setPower(server: Server, want: 'on' | 'off', call: CallOptions): Promise<OperationRef>;
  /** Server of an entry of the provider's own listing. */
  serverOf(machine: DriverMachine): string | null;
}

export interface AdoptionOptions {
  /** An absolute path, or an http(s) URL. */
  readonly adopt: string;
  readonly sshUser: string;
  readonly sshPasswords: Readonly<Record<string, Secret>>;
  /** SSH port of servers whose entry names none. */
  readonly sshPort: number;
  /** The driver's own queue and limits. */
  readonly limits: Pick<Capabilities, 'announces' | 'maxConcurrency'>;
}

const REFRESH_MS = 5 * 60_000;
/** A caller that reads a single machine wants to know whether it is still listed. */
const FRESH_MS = 10_000;

const LEFT_ALONE =
  'an adopted server is only watched and reset; to have it installed, let go of it (machine deprovision), ' +
  'take it off the list of adopt, and mark it as free as the documentation of the driver says';

/** A provider whose machines are the list, and those of `creating` if that is not null. */
export function createAdoption<Server extends VendorServer>(
  vendor: AdoptionVendor<Server>,
  options: AdoptionOptions,
  context: DriverContext,
  creating: Provider | null,
): Provider {
  const { clock, log, name, instanceSetId } = context;
  const { announces = false, maxConcurrency } = options.limits;
  const inventory = createInventory({
    ...{ name, clock, log, refreshMs: REFRESH_MS },
    source: createSource(options.adopt, context),
    parse: adoptedParser(vendor.naming, options.sshPasswords),
  });
  let told = '';

  function show(entry: AdoptedEntry, server: Server): DriverMachine {
    const { plan, location, hostname = null, status = 'Unknown', power = 'unknown' } = server;
    const sshPassword = options.sshPasswords[entry.sshPassword ?? ''];
    const address = entry.address || server.host;
    const sshPort = entry.sshPort ?? (options.sshPort === SSH_PORT ? null : options.sshPort);
    return {
      ...{ id: entry.id, reservationId: null, availability: 'PossiblyUsed' },
      ...{ plan, location: entry.location ?? location ?? null, hostname, status, power },
      address: address === null ? null : targetOf({ address, sshPort }),
      remoteUser: entry.sshUser ?? options.sshUser,
      tags: { [SET_ID_TAG]: instanceSetId },
      ...(entry.hostKey !== null && { hostKey: entry.hostKey }),
      ...(sshPassword && { sshPassword }),
    };
  }

  const listNow = ({ signal }: CallOptions) => inventory.entries(signal, FRESH_MS);

  const notListed = (id: string) =>
    new ProviderError('not-found', `the list of adopted servers has no machine ${id}`);

  /**
   * The adopted machine; null: it is none. @throws {ProviderError} `conflict`: the server is
   * another one than the entry says. `not-found`: the vendor has no such server.
   */
  async function find(id: string, use: 'look' | 'change', call: CallOptions) {
    const entry = (await listNow(call)).get(id);
    if (!entry) return null;
    const server = await vendor.get(entry.server, use, call);
    if (server.isInstalled) return null;
    const fault = mismatch(entry, server);
    if (fault === null) return { entry, server, machine: show(entry, server) };
    throw new ProviderError('conflict', `machine ${id}: ${fault}`);
  }

  /** The adopted server, to be changed now; null: the machine is one of `creating`. */
  async function toChange(id: string, call: CallOptions): Promise<Server | null> {
    const found = await find(id, 'change', call);
    if (!found && !creating) throw notListed(id);
    if (found && announces) call.requireOurs(found.machine);
    return found && found.server;
  }

  /** A change that adopted machines never get. */
  async function unlessAdopted<Result>(
    id: string,
    call: CallOptions,
    made: (provider: Provider) => Promise<Result>,
  ): Promise<Result> {
    if (creating && !(await find(id, 'look', call))) return made(creating);
    throw new ProviderError('not-implemented', LEFT_ALONE);
  }

  async function get(id: string, call: CallOptions): Promise<DriverMachine> {
    const found = await find(id, 'look', call);
    if (found) return found.machine;
    const made = await creating?.getMachine(id, call);
    // It was adopted, and its entry is gone.
    if (!made || made.reservationId === null) throw notListed(id);
    return made;
  }

  function tellFaults(faults: readonly string[]): void {
    const text = faults.join('; ');
    if (text !== told && text !== '') {
      log.error({ provider: name, faults }, 'some adopted servers are not as their list says');
    }
    told = text;
  }

  const marked = (machine: DriverMachine, witness: string): DriverMachine => ({
    ...machine,
    tags: { ...machine.tags, [WITNESS_TAG]: witness },
  });
  const refuse = () => Promise.reject(new ProviderError('not-implemented', LEFT_ALONE));

  const adopted: Capabilities = {
    ...{ create: false, deprovision: false, reboot: true, reinstall: false, power: true },
    ...{ tags: false, hostKey: true, consistentList: true, announces, maxConcurrency },
  };
  return {
    ...creating,
    capabilities: creating ? { ...creating.capabilities, adopted } : adopted,
    async listMachines(filter, call) {
      const entries = [...(await inventory.entries(call.signal)).values()];
      const beganMs = clock.monotonic();
      const own = await creating?.listMachines(filter, call);
      const { servers, unreadable: unread, complete } = await vendor.list(call, beganMs);
      const known = new Map(servers.map((server) => [server.server, server]));
      const machines: DriverMachine[] = [];
      const unreadable = [...(own?.unreadable ?? [])];
      const faults: string[] = [];
      const taken = new Set<string>();
      for (const entry of entries) {
        const { id } = entry;
        const server = known.get(entry.server);
        if (server?.isInstalled) {
          faults.push(
            `${id}: server ${entry.server} is, by record or name, one that this provider installed`,
          );
          continue;
        }
        taken.add(entry.server);
        const fault = server ? mismatch(entry, server) : 'its entry is malformed';
        if (server && fault === null) machines.push(show(entry, server));
        else if (server || unread.includes(entry.server)) {
          unreadable.push({ id, reservationId: null, fault: fault! });
        } else if (complete) faults.push(`${id}: the account has no server ${entry.server}`);
      }
      tellFaults(faults);
      // A server on the list is in use, whatever its name says.
      const others = (own?.machines ?? []).filter(
        (machine) => machine.id !== null || !taken.has(vendor.serverOf(machine) ?? ''),
      );
      return {
        machines: [...others, ...machines],
        complete: complete && own?.complete !== false,
        unreadable,
      };
    },
    getMachine: get,
    async createMachine(request, call) {
      const { id, availability } = request.unused;
      if (availability !== 'PossiblyUsed' || id === null) {
        if (!creating) return refuse();
        const server = vendor.serverOf(request.unused);
        const entries = [...(await listNow(call)).values()];
        if (!entries.some((entry) => entry.server === server)) {
          return creating.createMachine(request, call);
        }
        throw new ProviderError('race-lost', `server ${server} is on the list of adopted servers`);
      }
      const found = await find(id, 'look', call);
      if (!found) throw new ProviderError('race-lost', `machine ${id} is no longer listed`);
      await request.onAttempt({ attempts: 1, ambiguous: false });
      return marked(found.machine, call.operationId);
    },
    async findByWitness(witness, slotId, call) {
      const found = await find(slotId, 'look', call).catch(nullIfGone);
      if (found) return marked(found.machine, witness);
      return (await creating?.findByWitness?.(witness, slotId, call)) ?? null;
    },
    async deprovisionMachine(id, call) {
      if (!creating) return refuse();
      const found = await find(id, 'look', call);
      if (!found) {
        // It may have been adopted until its entry was removed.
        if (announces) await get(id, call);
        return creating.deprovisionMachine(id, call);
      }
      // Letting go changes nothing at the vendor. Otherwise the core has checked both.
      if (!announces) return undefined;
      call.requireOurs(found.machine);
      return call.beforeSending?.();
    },
    async isReusable(slotId, call) {
      if ((await listNow(call)).has(slotId)) return true;
      return (await creating?.isReusable?.(slotId, call)) !== false;
    },
    async rebootMachine(id, mode, call) {
      const server = await toChange(id, call);
      return server ? vendor.reboot(server, mode, call) : creating!.rebootMachine(id, mode, call);
    },
    async setPower(id, want, call) {
      const server = await toChange(id, call);
      return server ? vendor.setPower(server, want, call) : creating!.setPower!(id, want, call);
    },
    reinstallMachine: (id, request, call) =>
      unlessAdopted(id, call, (provider) => provider.reinstallMachine(id, request, call)),
    setTags: (id, tags, call) =>
      unlessAdopted(id, call, (provider) => provider.setTags(id, tags, call)),
    async verifyHostKey(machine, key, call, session) {
      const found = await find(machine.id ?? '', 'look', call);
      if (found) return requireListedKey(name, found.entry, key);
      return creating ? creating.verifyHostKey(machine, key, call, session) : refuse();
    },
    capacityGroup: (plan) => creating?.capacityGroup(plan) ?? `${plan.location ?? ''} ${plan.name}`,
    async prepare(call) {
      await inventory.entries(call.signal, 0);
      if (creating) await creating.prepare?.(call);
      else await vendor.list(call, clock.monotonic());
    },
    stop: async () => creating?.stop(),
  };
}

const SSH_PORT = 22;

/** Why the vendor's server cannot be the listed one, for people; null: it can. */
function mismatch({ vendorAddress }: AdoptedEntry, { server, addresses }: VendorServer) {
  if (vendorAddress === null || isAmong(vendorAddress, addresses)) return null;
  return (
    `the vendor reports ${addresses.join(', ') || 'no address'} for server ${server}, and the list says ` +
    `${vendorAddress}; correct the entry, or give the address that the vendor reports as VendorAddr`
  );
}

/** Vendors also write masks such as `255.255.255.248`, which match nothing. */
const isPrefix = (bits: string, family: number): boolean =>
  /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);

/** @param ranges addresses, and networks such as `2001:db8::/64`. */
function isAmong(address: string, ranges: readonly string[]): boolean {
  const known = new BlockList();
  for (const range of ranges) {
    const [start = '', bits] = range.split('/');
    const family = isIP(start);
    if (family === 0) continue;
    const kind = `ipv${family as 4 | 6}` as const;
    if (bits === undefined) known.addAddress(start, kind);
    else if (isPrefix(bits, family)) known.addSubnet(start, Number(bits), kind);
  }
  return known.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}
