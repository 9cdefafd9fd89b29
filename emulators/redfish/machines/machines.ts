import type { Network } from '../../kit/listen.ts';
import type { SimulatedHosts } from '../../hosts/options.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { BootedMachine, BootEnd, SystemHooks, SystemIdentity } from '../options.ts';
import type { Boot } from '../power.ts';
import { createActivity } from './activity.ts';
import { type Asker, fetchSeed, findSeed, report, type SeedData, SeedRefused } from './seed.ts';

export interface FishMachinesOptions {
  /** Of nobody else; the machine behind a system has the system's name. */
  readonly hosts: Pick<SimulatedHosts, 'assign' | 'reinstalled' | 'up' | 'down' | 'isHanging'>;
  /**
   * Without a slash at its end: where the site's boot images and its DHCP look for seeds. When
   * absent: where the image itself comes from, and a boot from the network finds nothing.
   */
  readonly seedUrl?: string;
  /** `authorized_keys` lines of the system that is on each disk at the start. When absent: none is. */
  readonly installed?: readonly string[];
  /** How often an installer asks for its seed while nobody answers, every ten seconds of its time. Default 12. */
  readonly seedAttempts?: number;
  readonly log: EmulatorLog;
  /** On which seed servers are; TCP if absent. */
  readonly network?: Network;
}

/** What is on a machine's disk: nothing, or one of two operating systems, which take turns. */
export type FishDisk = 'none' | 'os1' | 'os2';

export interface FishMachines {
  readonly hooks: SystemHooks;
  disk(system: string): FishDisk;
  /** Installations that put a system on the machine's disk. */
  installs(system: string): number;
}

interface Machine extends SystemIdentity {
  /** IPv4, in 127.0.0.0/8. */
  readonly address: string;
  disk: FishDisk;
  installs: number;
  /** Ends what was booted and is no system of the disk. */
  booted: AbortController | null;
}

const SEED_ATTEMPTS = 12;
const SEED_GAP_MS = 10_000;

/**
 * Machines behind the systems of a RedfishEmulator: they boot their disks, and the installer that virtual
 * media, HTTP or the network give them, which fetches its seed, installs, reports and reboots.
 */
export function createFishMachines(options: FishMachinesOptions): FishMachines {
  const { hosts, installed, log, network } = options;
  const { seedUrl = null, seedAttempts = SEED_ATTEMPTS } = options;
  const askerOf = ({ address: from }: Machine, { signal }: Booting): Asker => ({
    ...{ from, signal, network },
  });
  const machines = new Map<string, Machine>();
  const activity = createActivity();
  const machineOf = (system: string): Machine => {
    const found = machines.get(system);
    if (!found) throw new Error(`there is no machine behind ${system}`);
    return found;
  };
  const end = (machine: Machine) => {
    machine.booted?.abort(new Error('the machine was switched off'));
    machine.booted = null;
  };

  async function write({ name }: Machine, { hostname, authorizedKeys, userdata }: SeedData) {
    await hosts.reinstalled(name, { id: name, hostname, authorizedKeys, userdata });
  }

  /** The seed; null: what was booted is no installer. */
  async function fetched(machine: Machine, boot: Boot, at: Booting) {
    for (let attempt = 1; ; attempt++) {
      try {
        const { mac } = machine;
        const asker = askerOf(machine, at);
        const seed = await findSeed({ boot, mac, seedUrl, ...asker });
        return seed === null ? null : { seed, data: await fetchSeed(seed, asker) };
      } catch (error) {
        at.signal.throwIfAborted();
        if (error instanceof SeedRefused || attempt === seedAttempts) throw error;
        await activity.wait(at.clock, (SEED_GAP_MS * at.installMs) / REAL_INSTALL_MS, at.signal);
      }
    }
  }

  async function install(machine: Machine, boot: Boot, at: Booting): Promise<void> {
    const found = await fetched(machine, boot, at);
    if (!found || boot.installer === 'hangs') return;
    machine.disk = 'none';
    await activity.wait(at.clock, at.installMs, at.signal);
    if (boot.installer === 'fails') return report(found.seed, 'failed', askerOf(machine, at));
    await write(machine, found.data);
    at.signal.throwIfAborted();
    machine.installs += 1;
    machine.disk = machine.installs % 2 === 1 ? 'os1' : 'os2';
    if (boot.installer !== 'silent') await report(found.seed, 'done', askerOf(machine, at));
    at.restart();
  }

  async function bootDisk({ name, disk }: Machine): Promise<BootEnd> {
    if (disk === 'none') return 'nothing';
    await hosts.up(name);
    return undefined;
  }

  /** A boot from the network that finds nothing goes on with the disk. */
  async function bootNetwork(machine: Machine, boot: Boot, at: Booting): Promise<BootEnd> {
    const { mac } = machine;
    const search = { boot, mac, seedUrl, ...askerOf(machine, at) };
    const seed = await findSeed(search).catch(() => null);
    if (seed === null) return bootDisk(machine);
    runInstaller(machine, { ...boot, httpBootUri: seed }, at);
    return undefined;
  }

  function runInstaller(machine: Machine, boot: Boot, at: Booting): void {
    activity.run(() =>
      install(machine, boot, at).catch((err: unknown) => {
        if (!at.signal.aborted) log.warn({ machine: machine.name, err }, 'an installer has failed');
      }),
    );
  }

  return {
    disk: (system) => machineOf(system).disk,
    installs: (system) => machineOf(system).installs,
    hooks: {
      async assign(identity) {
        const { name } = identity;
        const isInstalled = installed !== undefined;
        const disk = isInstalled ? 'os1' : 'none';
        const installs = isInstalled ? 1 : 0;
        const device = { id: name, hostname: name, authorizedKeys: installed ?? [] };
        const { address } = await hosts.assign(device);
        machines.set(name, { ...identity, address, disk, installs, booted: null });
      },
      async down(system) {
        end(machineOf(system));
        await hosts.down(system);
      },
      async boot(system, boot, { restart, clock, installMs }) {
        const machine = machineOf(system);
        if (boot.source === 'Hdd') return bootDisk(machine);
        end(machine);
        const booted = new AbortController();
        machine.booted = booted;
        const at = { restart, clock, installMs, signal: booted.signal };
        if (boot.source === 'Pxe') return bootNetwork(machine, boot, at);
        runInstaller(machine, boot, at);
        return undefined;
      },
      heeds: (system) => !hosts.isHanging(system),
      settled: activity.settled,
      close() {
        for (const machine of machines.values()) end(machine);
      },
    },
  };
}

/** The gap between two attempts keeps pace with an installation, which takes so long in fact. */
const REAL_INSTALL_MS = 240_000;

type Booting = BootedMachine & { readonly signal: AbortSignal };
