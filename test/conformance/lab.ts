import type { Driver, DriverContext, Provider } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import type { ProviderTestAround } from '../../src/commands/provider-test.ts';
import { createFakeShell } from '../doubles/fake-shell.ts';
import { createMemMachines } from '../doubles/mem-machines.ts';
import { createMemProvider, type MemProviderConfig } from '../doubles/mem-provider.ts';
import type { ScriptedFault } from '../doubles/provider/faults.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  runOut,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { type ConformanceRun, runFor, type RunOptions } from './stand.ts';

export interface LabOptions extends Partial<MemProviderConfig> {
  readonly faults?: readonly ScriptedFault[];
  /** The driver's deviation; may remember state between calls. */
  readonly change?: (provider: Provider, context: DriverContext) => Partial<Provider>;
}

/** A provider and machines that answer SSH, in virtual time. */
export interface Lab {
  readonly clock: VirtualClock;
  /** Of the provider. */
  readonly section: object;
  readonly shell: RemoteShell;
  readonly around: ProviderTestAround;
}

/** A lab of a provider in memory. */
export function createLab({ faults = [], change = () => ({}), ...config }: LabOptions = {}): Lab {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const report = () => Promise.reject(new Error('nobody starts an agent'));
  const machines = createMemMachines({ clock, random, report, bootMs: 20 });
  let publicKey = '';
  const provider = createMemProvider(
    {
      ...{ devicePrefix: 'lab-', instanceSetId: 'lab', reservations: 4 },
      ...{ provisioningMs: 20, deprovisioningMs: 20, latencyMs: 0, ...config },
    },
    {
      clock,
      random,
      onUp(device, initCommand) {
        const address = machines.raise(device, initCommand);
        const { installation } = provider.world.need(device.id!);
        const isOurs = installation.publicKey === publicKey;
        machines.hosts.get(`${address}:22`)!.refusesKey = !isOurs;
        return address;
      },
      onReboot: ({ address }) => machines.reboot(address!),
      onDown: ({ address }) => address && machines.down(address),
      onUpAgain: ({ address }, initCommand) => machines.up(address!, initCommand),
      hostKeyAt: (address) => machines.hosts.get(`${address}:22`)?.hostKey,
    },
  );
  for (const rule of faults) provider.inject(rule);
  const driver: Driver = {
    ...provider.driver,
    open(settings, context) {
      ({ publicKey } = context);
      const driven = provider.driver.open(settings, context);
      return { ...driven, ...change(driven, context) };
    },
  };
  const shell = createFakeShell({ hosts: machines.hosts, clock });
  const drivers = new Map([[driver.name, driver]]);
  const section = { driver: driver.name, callsPerSecond: 0 };
  return { clock, section, shell, around: { clock, random, drivers } };
}

type LabAround = ProviderTestAround & {
  /** More keys of the provider's section. */
  readonly section?: object;
};

/** Runs the command on the provider in the lab. */
export function textInLab(
  { clock, shell, around, ...lab }: Lab,
  options: RunOptions,
  { section, overShell = (same) => same, ...more }: LabAround = {},
): ReturnType<typeof runFor> {
  const inLab = { ...around, ...more, overShell: () => overShell(shell) };
  return runOut(clock, runFor({ ...lab.section, ...section }, options, inLab));
}

/** The same, parsed from JSON. */
export async function runInLab(
  lab: Lab,
  options: RunOptions = {},
  more?: LabAround,
): Promise<ConformanceRun> {
  const { exitCode, text } = await textInLab(lab, options, more);
  return { exitCode, report: JSON.parse(text) as ConformanceRun['report'] };
}

/** A lab whose driver deviates. */
export const labWith = (change: NonNullable<LabOptions['change']>): LabOptions => ({ change });

/** The same, with its own lab. */
export const runLab = (
  lab: LabOptions = {},
  options?: RunOptions,
  more?: LabAround,
): Promise<ConformanceRun> => runInLab(createLab(lab), options, more);
