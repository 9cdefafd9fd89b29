import type { Network } from '../../kit/listen.ts';
import type { SimulatedHosts } from '../../hosts/options.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { BootedMachine, SystemHooks } from '../options.ts';
import { createActivity } from '../../kit/activity.ts';
import { type Asker, fetchSeed, report, seedOf, SeedRefused } from './seed.ts';

export interface RackMachinesOptions {
  /** Used by this rack alone; the machine has its system's name. */
  readonly hosts: Pick<SimulatedHosts, 'assign' | 'reinstalled' | 'up' | 'down' | 'isHanging'>;
  /** `authorized_keys` lines of the system on each disk at the start; default: empty disks. */
  readonly installed?: readonly string[];
  readonly log: EmulatorLog;
  /** Network of seed servers; default TCP. */
  readonly network?: Network;
}

export interface RackMachines {
  readonly hooks: SystemHooks;
  /** Number of the machine's installations, including one at the start. */
  installs(system: string): number;
}

interface Machine {
  readonly name: string;
  /** IPv4, in 127.0.0.0/8. */
  readonly address: string;
  /** Whether the disk has a system. */
  isInstalled: boolean;
  installs: number;
  /** Ends a booted program that is not the disk's system. */
  booted: AbortController | null;
}

type Booting = BootedMachine & { readonly signal: AbortSignal };

/** Pause between an installer's requests for its seed, and an installation's actual duration. */
const SEED_GAP_MS = 10_000;
const REAL_INSTALL_MS = 240_000;

/**
 * Machines behind an emulator's systems. They boot their disks, or an installer from virtual media
 * or HTTP. The installer fetches its seed, installs, reports and reboots.
 */
export function createRackMachines(options: RackMachinesOptions): RackMachines {
  const { hosts, installed, log, network } = options;
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

  /** Asks until it gets an answer; the pauses scale with an installation's duration. */
  async function seedFrom(seed: string, asker: Asker, { clock, installMs, signal }: Booting) {
    for (;;) {
      try {
        return await fetchSeed(seed, asker);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof SeedRefused) throw error;
        await activity.wait(clock, (SEED_GAP_MS * installMs) / REAL_INSTALL_MS, signal);
      }
    }
  }

  async function install(machine: Machine, address: string, at: Booting): Promise<void> {
    const seed = seedOf(address);
    if (seed === null) return;
    const { name, address: from } = machine;
    const { signal } = at;
    const asker = { from, signal, network };
    const data = await seedFrom(seed, asker, at);
    machine.isInstalled = false;
    await activity.wait(at.clock, at.installMs, signal);
    await hosts.reinstalled(name, { id: name, ...data });
    signal.throwIfAborted();
    machine.installs += 1;
    machine.isInstalled = true;
    await report(seed, asker);
    at.restart();
  }

  async function bootDisk({ name, isInstalled }: Machine) {
    if (!isInstalled) return 'nothing' as const;
    await hosts.up(name);
    return undefined;
  }

  return {
    installs: (system) => machineOf(system).installs,
    hooks: {
      async assign({ name }) {
        const device = { id: name, hostname: name, authorizedKeys: installed ?? [] };
        const { address } = await hosts.assign(device);
        const isInstalled = installed !== undefined;
        const installs = isInstalled ? 1 : 0;
        machines.set(name, { name, address, isInstalled, installs, booted: null });
      },
      async down(system) {
        end(machineOf(system));
        await hosts.down(system);
      },
      async boot(system, { address }, at) {
        const machine = machineOf(system);
        if (address === null) return bootDisk(machine);
        end(machine);
        const { signal } = (machine.booted = new AbortController());
        activity.run(() =>
          install(machine, address, { ...at, signal }).catch((err: unknown) => {
            if (!signal.aborted) log.warn({ machine: system, err }, 'an installer has failed');
          }),
        );
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
