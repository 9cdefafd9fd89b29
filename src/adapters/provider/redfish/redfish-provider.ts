import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ReportedCondition } from '../../../domain/conditions.ts';
import { SET_ID_TAG } from '../../../domain/provisioning/provider-tags.ts';
import { hostnameOf, requireListedKey, targetOf } from '../../driver-kit/inventory/entries.ts';
import {
  createInventory,
  createSource,
  type Inventory,
} from '../../driver-kit/inventory/inventory.ts';
import { createProbes, listensAt, type Target } from '../../driver-kit/inventory/probes.ts';
import { inLifetime } from '../../driver-kit/in-lifetime.ts';
import { providerLog } from '../../driver-kit/provider-log.ts';
import { createLifetime } from '../../driver-kit/time-limit.ts';
import type {
  CallOptions,
  Capabilities,
  DriverContext,
  DriverMachine,
  OperationRef,
  Provider,
} from '../port.ts';
import { createBmcCare, checkIdentity, createRack } from './rack.ts';
import { createChanges } from './changes.ts';
import type { Bmc } from './client/bmc.ts';
import { healthOf, readHealth } from './client/health.ts';
import { readSystem, type System } from './client/system.ts';
import { createOwnerMark, parserFor, setIdIn, type BmcEntry } from './entries.ts';
import { createInstallMode, type InstallMode } from './install/install-mode.ts';
import { startPatience, type Settings } from './settings.ts';
import { isAtRest, powerOf, createPowerPoll, type Sighting, type Want } from './power.ts';

/** A caller that reads a single machine wants its current state. */
const FRESH_MS = 5_000;
const INVENTORY_FRESH_MS = 10_000;
/** A power state older than this many periods counts as unknown. */
const STALE_PERIODS = 3;
/** Share of concurrent BMC connections that recently failing BMCs may use. */
const ASIDE_SHARE = 0.25;
const PROBES = { intervalMs: 60_000, parallelism: 32, gapMs: 1, patienceMs: 300 };

/**
 * Machines of a rack, each behind a BMC. The inventory is the mark: every entry is ours.
 * @param listed the machines, for a driver whose list has others too; default: the settings' list.
 */
export function createRedfishProvider(
  options: Settings,
  given: DriverContext,
  listed?: Inventory<BmcEntry>,
): Provider {
  const context = { ...given, log: providerLog(given.log, given.name) };
  const { clock, log, name, network, instanceSetId } = context;
  const lifetime = createLifetime();
  const inventory =
    listed ??
    createInventory({
      name,
      source: createSource(options.inventory, context),
      refreshMs: options.refresh,
      parse: parserFor(options),
      clock,
      log,
    });
  const { probeTimeout: timeoutMs, install: installing } = options;
  const probes = createProbes({ ...PROBES, timeoutMs }, context, lifetime.signal);
  const rack = createRack(options, context);
  const sightings = new Map<string, Sighting>();
  const unproved = new Set<string>();
  const ownerMark = createOwnerMark(options.ownerMark, context);
  const care = createBmcCare({ mayReset: options.bmcReset, listens: takesConnections }, context);
  const poll = createPowerPoll(
    {
      periodMs: options.powerPoll,
      asideMax: Math.max(1, Math.floor(options.bmcParallelism * ASIDE_SHARE)),
      look: lookBeside,
      onRound: (bmc) => care.attend(bmc, rack.all()),
    },
    context,
  );

  function takesConnections(url: string): Promise<boolean> {
    const { hostname, port } = new URL(url);
    const target = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 443) };
    return listensAt(target, { timeoutMs, clock, network, signal: lifetime.signal });
  }

  const sshOf = ({ address, sshPort }: BmcEntry): Target => ({
    host: address,
    port: sshPort ?? options.probePort,
  });

  /** Of an old state, only the mark counts. */
  function knownOf({ id }: BmcEntry): Sighting | null {
    const sighting = sightings.get(id) ?? null;
    const isStale =
      sighting !== null && clock.monotonic() - sighting.seenMs > STALE_PERIODS * options.powerPoll;
    return isStale ? { power: null, setId: sighting.setId, seenMs: sighting.seenMs } : sighting;
  }

  /** The power is unknown; the owner does not change. */
  const blind = ({ id }: BmcEntry): Sighting => ({
    power: null,
    setId: sightings.get(id)?.setId ?? null,
    seenMs: -Infinity,
  });

  /** The inventory is the mark, unless the machine carries another set's. */
  function show(entry: BmcEntry, sighting = knownOf(entry)): DriverMachine {
    const sshPassword = options.sshPasswords[entry.sshPassword ?? ''];
    const controller = care.shown(rack.of(entry));
    const isUp = probes.answers(sshOf(entry)) === true;
    const machine: DriverMachine = {
      ...{ id: entry.id, reservationId: null, availability: 'PossiblyUsed' },
      ...{ plan: entry.plan, location: entry.location, address: targetOf(entry) },
      remoteUser: entry.sshUser ?? options.sshUser,
      status: isAtRest(sighting) ? 'Stopped' : isUp ? 'Running' : 'Unknown',
      power: powerOf(sighting),
      tags: { [SET_ID_TAG]: sighting?.setId ?? instanceSetId },
      ...(entry.hostKey !== null && { hostKey: entry.hostKey }),
      ...(sshPassword && { sshPassword }),
      ...(controller && { controller }),
      ...(sighting?.conditions && { conditions: sighting.conditions }),
    };
    return install ? install.view(entry, machine, sighting) : machine;
  }

  /** Records what was read of a machine whose identity is verified. */
  function see(
    entry: BmcEntry,
    system: System,
    conditions: readonly ReportedCondition[] = healthOf(system),
  ): DriverMachine {
    care.answered(rack.of(entry));
    if (checkIdentity(entry, system) === 'unproved' && !unproved.has(entry.id)) {
      unproved.add(entry.id);
      const fields = { machine: entry.id, bmc: entry.bmc };
      log.warn(
        fields,
        'neither serial number nor UUID proves that the BMC belongs to this machine',
      );
    }
    const { power, assetTag } = system;
    const sighting = { power, setId: setIdIn(assetTag), seenMs: clock.monotonic(), conditions };
    sightings.set(entry.id, sighting);
    return show(entry, sighting);
  }

  async function lookBeside(entry: BmcEntry, signal: AbortSignal): Promise<void> {
    const bmc = rack.of(entry);
    await bmc
      .inTurn({ signal, beside: true }, async (wire) => {
        const system = await readSystem(bmc, wire, entry.system, clock.monotonic());
        see(entry, system);
        // Its log may be slow, and the power state is needed first.
        see(entry, system, await readHealth(bmc, wire, system));
        await care.prepare(bmc, wire, system);
        if (install && !install.isMarked(entry)) return;
        await ownerMark.put(wire, entry, system).catch((error: unknown) => {
          if (!isProviderError(error, 'transient')) throw error;
        });
      })
      .catch((error: unknown) => {
        sightings.set(entry.id, blind(entry));
        throw error;
      });
  }

  async function entries(signal: AbortSignal, ageMs?: number): Promise<BmcEntry[]> {
    const all = [...(await inventory.entries(signal, ageMs)).values()];
    rack.keep(all);
    const machines = new Map<Bmc, BmcEntry[]>();
    for (const entry of all) {
      const bmc = rack.of(entry);
      machines.set(bmc, [...(machines.get(bmc) ?? []), entry]);
    }
    poll.keep(machines);
    const kept = new Set(all.map(({ id }) => id));
    for (const id of sightings.keys()) if (!kept.has(id)) sightings.delete(id);
    probes.keep(all.map(sshOf));
    return all;
  }

  async function entryOf(id: string, signal: AbortSignal): Promise<BmcEntry> {
    if (install) return install.entryOf(id, signal);
    const found = (await entries(signal, INVENTORY_FRESH_MS)).find((entry) => entry.id === id);
    if (found) return found;
    throw new ProviderError('not-found', `the inventory has no machine ${id}`);
  }

  /** The machine's current state; its power is unknown if its BMC does not answer. */
  async function getMachine(id: string, call: CallOptions): Promise<DriverMachine> {
    const { signal } = call;
    const entry = install ? await install.lookUp(id, signal) : await entryOf(id, signal);
    if (!('bmc' in entry)) return entry;
    await probes.look([sshOf(entry)], signal);
    const known = sightings.get(entry.id);
    if (known && clock.monotonic() - known.seenMs <= FRESH_MS) return show(entry);
    const bmc = rack.of(entry);
    if (bmc.standing.restMs() > 0) return show(entry, blind(entry));
    const patience = startPatience(call, clock);
    try {
      return await bmc.inTurn({ signal: patience.signal }, async (wire) =>
        see(entry, await readSystem(bmc, wire, entry.system, clock.monotonic())),
      );
    } catch (error) {
      if (!isProviderError(error) || signal.aborted) throw error;
      if (isProviderError(error, 'not-found')) throw error;
      if (isProviderError(error, 'aborted') && !patience.isOver()) throw error;
      return show(entry, blind(entry));
    } finally {
      patience.end();
    }
  }

  const changes = createChanges({
    ...context,
    bmcOf: rack.of,
    see,
    allowFullPowerCycle: options.allowFullPowerCycle,
  });
  /** Whatever the result, the known power state becomes stale. */
  async function carryOut(entry: BmcEntry, want: Want, call: CallOptions): Promise<OperationRef> {
    try {
      return await changes.carryOut(entry, want, call);
    } finally {
      sightings.set(entry.id, blind(entry));
      poll.hurry(rack.of(entry));
    }
  }
  /** The machine cannot be read, so its last sighting counts. */
  async function restartBmc(id: string, call: CallOptions): Promise<OperationRef> {
    const entry = await entryOf(id, call.signal);
    const bmc = rack.of(entry);
    return care.restart({ bmc, rack: rack.all(), check }, call);

    async function check(): Promise<void> {
      const shared = (await entries(call.signal)).filter((one) => rack.of(one) === bmc);
      await install?.requireNoneUnderWay(shared, call.signal);
      call.requireOurs(show(entry, blind(entry)));
      await call.beforeSending?.();
    }
  }
  const change = async (id: string, want: Want, call: CallOptions) =>
    carryOut(await entryOf(id, call.signal), want, call);

  const install: InstallMode | null = installing
    ? createInstallMode(
        {
          options: installing,
          lifetime: lifetime.signal,
          entries: (signal) => entries(signal, INVENTORY_FRESH_MS),
          bmcOf: rack.of,
          show: (entry) => show(entry),
          see,
          carryOut,
        },
        context,
      )
    : null;

  const refuse = (what: string) =>
    Promise.reject(new ProviderError('not-implemented', `a rack of BMCs cannot ${what}`));

  return inLifetime(lifetime, {
    capabilities: {
      ...(install ? INSTALL_CAPABILITIES : CAPABILITIES),
      resetController: options.bmcReset,
    },
    async listMachines(_filter, { signal }) {
      const all = await entries(signal);
      const up = all.filter((entry) => show(entry).status !== 'Stopped');
      await probes.look(up.map(sshOf), signal);
      if (install) return install.list(all, signal);
      return { machines: all.map((entry) => show(entry)), complete: true };
    },
    getMachine,
    createMachine: (request, call) => install?.create(request, call) ?? refuse('make machines'),
    deprovisionMachine: (id, call) =>
      install?.deprovision(id, call) ?? refuse('give machines back'),
    reinstallMachine: (id, request, call) =>
      install?.reinstall(id, request, call) ?? refuse('reinstall machines'),
    setTags: (id, tags, call) => install?.setTags(id, tags, call) ?? refuse('change tags'),
    ...(install && { findByWitness: install.findByWitness, isReusable: install.isReusable }),
    rebootMachine: (id, mode, call) => change(id, { reboot: mode }, call),
    setPower: (id, want, call) => change(id, { power: want }, call),
    ...(options.bmcReset && { resetController: restartBmc }),
    async verifyHostKey({ id }, key, { signal }) {
      // An installation creates a new key, which the machine's secret proves.
      if (install) await refuse('provide the keys of systems that it installed');
      requireListedKey(name, await entryOf(id ?? '', signal), key);
    },
    capacityGroup: ({ name: plan, location }) => `${location ?? ''} ${plan}`.trim(),
    hostnameFor: hostnameOf,
    async prepare(call) {
      await entries(call.signal, 0);
      await install?.prepare(call);
    },
    async stop() {
      const polled = poll.stop();
      await Promise.all([lifetime.stop(), polled, install?.stop()]);
      await rack.close();
    },
  });
}

const CAPABILITIES: Capabilities = {
  create: false,
  deprovision: false,
  reboot: true,
  reinstall: false,
  power: true,
  tags: false,
  hostKey: true,
  consistentList: true,
  maxConcurrency: 64,
  announces: true,
};

const INSTALL_CAPABILITIES: Capabilities = {
  ...CAPABILITIES,
  create: true,
  deprovision: true,
  reinstall: true,
  tags: true,
  hostKey: false,
  throwAway: true,
};
