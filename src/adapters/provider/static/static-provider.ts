import { ProviderError } from '../../../domain/errors.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import type { Secret } from '../../../settings/secret.ts';
import { inLifetime } from '../../driver-kit/in-lifetime.ts';
import { createLifetime } from '../../driver-kit/time-limit.ts';
import type {
  CallOptions,
  Capabilities,
  DriverContext,
  DriverMachine,
  OperationRef,
  Provider,
} from '../port.ts';
import type { SelfInstallSettings } from '../redfish/settings.ts';
import { hostnameOf, targetOf, requireListedKey } from '../../driver-kit/inventory/entries.ts';
import { createInventory, createSource } from '../../driver-kit/inventory/inventory.ts';
import { createProbes, type ProbeLimits, type Target } from '../../driver-kit/inventory/probes.ts';
import { parserFor, type InventoryEntry } from './entries.ts';
import { createSelfInstall } from './install/self-install.ts';
import type { PowerWish } from './resets/power-switch.ts';
import { createResets } from './resets/resets.ts';
import type { ResetSettings } from './resets/settings.ts';

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
  /** By the name in entries. */
  readonly resets: Readonly<Record<string, ResetSettings>>;
  /** Absent: machines are not reinstalled. */
  readonly install?: SelfInstallSettings | undefined;
}

/** A caller that reads a single machine wants to know whether it still exists. */
const FRESH_MS = 10_000;

/** A list of machines that somebody else maintains. The list is the mark: all are ours. */
export function createStaticProvider(options: StaticOptions, context: DriverContext): Provider {
  const { clock, log, name, instanceSetId } = context;
  const lifetime = createLifetime();
  const source = createSource(options.inventory, context);
  const inventory = createInventory({
    name,
    source,
    refreshMs: options.refreshMs,
    clock,
    log,
    parse: parserFor(options),
  });
  const probes = createProbes(options.probes, context, lifetime.signal);
  const resets = createResets(options.resets, { options, inventory }, context);
  const canReset = Object.keys(options.resets).length > 0;

  const install =
    options.install &&
    createSelfInstall(
      {
        options: options.install,
        lifetime: lifetime.signal,
        entries: async (signal) => [...(await inventory.entries(signal)).values()],
        userOf: ({ sshUser }) => sshUser ?? options.sshUser,
        sshPort: options.probePort,
      },
      context,
    );

  const sshOf = ({ address, sshPort }: InventoryEntry): Target => ({
    host: address,
    port: sshPort ?? options.probePort,
  });

  /** @param view what the entry's means of reset knows about the machine. */
  function show(entry: InventoryEntry, view: Partial<DriverMachine> = {}): DriverMachine {
    const answers = probes.answers(sshOf(entry));
    const isLost = answers === false && install?.isIdle(entry) === true;
    const lacks = [
      ...(canReset && entry.reset === null ? (['reboot', 'power'] as const) : []),
      // Its own system would start the installer.
      ...(isLost ? (['reinstall'] as const) : []),
    ];
    const machine: DriverMachine = {
      id: entry.id,
      reservationId: null,
      availability: 'PossiblyUsed',
      plan: 'static',
      location: entry.location,
      address: targetOf(entry),
      remoteUser: entry.sshUser ?? options.sshUser,
      // A machine that does not answer may be off, starting, or unplugged.
      status: answers === true ? 'Running' : 'Unknown',
      tags: { [SET_ID_TAG]: instanceSetId },
      ...(entry.hostKey !== null && { hostKey: entry.hostKey }),
      ...(entry.sshPassword !== null && { sshPassword: options.sshPasswords[entry.sshPassword]! }),
      ...(lacks.length > 0 && { lacks }),
      ...view,
    };
    return install?.show(entry, machine) ?? machine;
  }

  async function entryOf(id: string, signal: AbortSignal): Promise<InventoryEntry> {
    const entry = (await inventory.entries(signal, FRESH_MS)).get(id);
    if (entry) return entry;
    throw new ProviderError('not-found', `the inventory has no machine ${id}`);
  }

  async function change(id: string, wish: PowerWish, call: CallOptions): Promise<OperationRef> {
    if (!canReset) return refuse('reset machines without resets');
    const entry = await entryOf(id, call.signal);
    await install?.requireIdle(entry, call.signal);
    return resets.change(entry, wish, { call, show: (view) => show(entry, view) });
  }

  const refuse = (what: string) =>
    Promise.reject(new ProviderError('not-implemented', `an inventory cannot ${what}`));

  return inLifetime(lifetime, {
    capabilities: {
      ...CAPABILITIES,
      reboot: canReset,
      power: canReset,
      announces: canReset || install !== undefined,
      reinstall: install !== undefined,
    },
    async listMachines(_filter, call) {
      const entries = [...(await inventory.entries(call.signal)).values()];
      const targets = entries.map(sshOf);
      probes.keep(targets);
      await install?.list(entries, call.signal);
      const [views] = await Promise.all([
        resets.list(entries, call),
        probes.look(targets, call.signal),
      ]);
      return { machines: entries.map((entry) => show(entry, views.get(entry.id))), complete: true };
    },
    async getMachine(id, call) {
      const entry = await entryOf(id, call.signal);
      const [view] = await Promise.all([
        resets.look(entry, call),
        probes.look([sshOf(entry)], call.signal),
      ]);
      return show(entry, view);
    },
    createMachine: () => refuse('make machines'),
    deprovisionMachine: () => refuse('give machines back'),
    rebootMachine: (id, mode, call) =>
      change(id, mode === 'force' ? 'reboot by force' : 'reboot gracefully', call),
    setPower: (id, want, call) => change(id, want, call),
    async reinstallMachine(id, request, call) {
      if (!install) return refuse('reinstall machines without install');
      const entry = await entryOf(id, call.signal);
      return install.reinstall(entry, request, { call, show: () => show(entry) });
    },
    setTags: () => refuse('change tags'),
    async verifyHostKey({ id }, key, { signal }) {
      const entry = await entryOf(id ?? '', signal);
      if (await install?.isRenewed(entry, signal)) {
        const what = `the inventory has the host key of the system before for ${entry.id}`;
        throw new ProviderError('not-implemented', what);
      }
      requireListedKey(name, entry, key);
    },
    capacityGroup: ({ name: plan }) => plan,
    hostnameFor: hostnameOf,
    prepare: async ({ signal }) => void (await inventory.entries(signal, 0)),
    async stop() {
      await Promise.all([lifetime.stop(), resets.stop(), install?.stop()]);
    },
  });
}

const CAPABILITIES: Capabilities = {
  create: false,
  deprovision: false,
  reboot: false,
  reinstall: false,
  power: false,
  tags: false,
  hostKey: true,
  consistentList: true,
  maxConcurrency: 16,
};
