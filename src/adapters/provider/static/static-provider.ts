import { ProviderError } from '../../../domain/errors.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Secret } from '../../../settings/secret.ts';
import { createLifetime } from '../../driver-kit/time-limit.ts';
import type { DriverContext, DriverMachine, Provider } from '../port.ts';
import { targetOf, requireListedKey } from '../../driver-kit/inventory/entries.ts';
import { createInventory, createSource } from '../../driver-kit/inventory/inventory.ts';
import { createProbes, type ProbeLimits, type Target } from '../../driver-kit/inventory/probes.ts';
import { type InventoryEntry, parseInventory } from './entries.ts';

export interface StaticOptions {
  /** An absolute path, or an http(s) URL. */
  readonly inventory: string;
  readonly refreshMs: number;
  /** Default for entries without a user. */
  readonly sshUser: string;
  /** By the name in entries. */
  readonly sshPasswords: Readonly<Record<string, Secret>>;
  /** Default port of probes; only used to tell whether a machine is up. */
  readonly probePort: number;
  readonly probes: ProbeLimits;
}

/** A caller that reads a single machine wants to know whether it still exists. */
const FRESH_MS = 10_000;

/** A list of machines that somebody else maintains. The list is the mark: all are ours. */
export function createStaticProvider(options: StaticOptions, context: DriverContext): Provider {
  const { clock, log, name, instanceSetId } = context;
  const lifetime = createLifetime();
  const source = createSource(options.inventory, context);
  const passwords = new Set(Object.keys(options.sshPasswords));
  const inventory = createInventory({
    name,
    source,
    refreshMs: options.refreshMs,
    clock,
    log,
    parse: (content) => parseInventory(content, passwords),
  });
  const probes = createProbes(options.probes, context, lifetime.signal);

  const sshOf = ({ address, sshPort }: InventoryEntry): Target => ({
    host: address,
    port: sshPort ?? options.probePort,
  });

  function show(entry: InventoryEntry): DriverMachine {
    return {
      id: entry.id,
      reservationId: null,
      availability: 'PossiblyUsed',
      plan: 'static',
      location: entry.location,
      address: targetOf(entry),
      remoteUser: entry.sshUser ?? options.sshUser,
      // A machine that does not answer may be off, starting, or unplugged.
      status: probes.answers(sshOf(entry)) === true ? 'Running' : 'Unknown',
      tags: { [SET_ID_TAG]: instanceSetId },
      ...(entry.hostKey !== null && { hostKey: entry.hostKey }),
      ...(entry.sshPassword !== null && { sshPassword: options.sshPasswords[entry.sshPassword]! }),
    };
  }

  async function entryOf(id: string, signal: AbortSignal): Promise<InventoryEntry> {
    const entry = (await inventory.entries(signal, FRESH_MS)).get(id);
    if (entry) return entry;
    throw new ProviderError('not-found', `the inventory has no machine ${id}`);
  }

  const refuse = (what: string) =>
    Promise.reject(new ProviderError('not-implemented', `an inventory cannot ${what}`));

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, call) =>
      lifetime.run(
        call,
        async (signal) => {
          const entries = [...(await inventory.entries(signal)).values()];
          const targets = entries.map(sshOf);
          probes.keep(targets);
          await probes.look(targets, signal);
          return { machines: entries.map(show), complete: true };
        },
        true,
      ),
    getMachine: (id, call) =>
      lifetime.run(
        call,
        async (signal) => {
          const entry = await entryOf(id, signal);
          await probes.look([sshOf(entry)], signal);
          return show(entry);
        },
        true,
      ),
    createMachine: () => refuse('make machines'),
    deprovisionMachine: () => refuse('give machines back'),
    rebootMachine: () => refuse('reboot machines'),
    reinstallMachine: () => refuse('reinstall machines'),
    setTags: () => refuse('change tags'),
    verifyHostKey: ({ id }, key, call) =>
      lifetime.run(
        call,
        async (signal) => {
          requireListedKey(name, await entryOf(id ?? '', signal), key);
        },
        true,
      ),
    capacityGroup: ({ name: plan }) => plan,
    prepare: (call) =>
      lifetime.run(call, async (signal) => void (await inventory.entries(signal, 0)), true),
    stop: () => lifetime.stop(),
  };
}

const CAPABILITIES = {
  create: false,
  deprovision: false,
  reboot: false,
  reinstall: false,
  power: false,
  tags: false,
  hostKey: true,
  consistentList: true,
  maxConcurrency: 16,
} as const;
