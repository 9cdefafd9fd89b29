import { startConsole } from '../../src/console/console.ts';
import { parseConfig, type ConfigInput } from '../../src/config.ts';
import { createHttpTransport, type Transport } from '../../src/commands/remote/client.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { Provider } from '../../src/adapters/provider/port.ts';
import type { BalancerDriver } from '../../src/adapters/balancer/port.ts';
import { digestOf, makeToken } from '../../src/console/access/secrets.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { memoryDriver } from '../doubles/mem-provider.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { scripted } from '../doubles/scripted-driver.ts';
import { advance } from '../doubles/simulated-clock.ts';
import { memPorts } from '../support/mem-ports.ts';
import { machineStand, type MachineStand } from './machine-stand.ts';
import { runThrough, type CommandResult, type RunMeans } from './run-through.ts';

export interface ShownOptions {
  /** What differs from a fleet of one provider `metal`, which lists nothing. */
  readonly config?: Partial<ConfigInput>;
  readonly balancerDrivers?: readonly BalancerDriver[];
  readonly listMachines?: Provider['listMachines'];
}

/** Command lines of Ann's at that console. */
export type CommandStand = Awaited<ReturnType<typeof commandStand>>;

/** @param stand what is there already when that daemon starts. */
export async function commandStand(
  options: ShownOptions = {},
  stand: MachineStand = machineStand(),
) {
  const shown = await startShown(stand, options);
  const { clock } = stand;
  let runs = 0;
  return {
    ...stand,
    ...shown,
    async run(args: readonly string[], change: Partial<RunMeans> = {}): Promise<CommandResult> {
      await shown.look();
      const keysUsed = (runs += 1) * 100;
      const sleep = (ms: number) => advance(clock, ms);
      const means = {
        transport: shown.transport,
        monotonic: () => clock.monotonic(),
        sleep,
        keysUsed,
      };
      return runThrough({ ...means, ...change }, args);
    },
  };
}

const nothing: Provider['listMachines'] = async () => ({ machines: [], complete: true });

/**
 * The console of a daemon that does nothing else, as `shepherd run --roles console` starts it, and a transport to it
 * for a token of Ann's, who is an admin. No answer is waited for in the console itself.
 */
async function startShown(
  { bmdb, clock, random }: MachineStand,
  { config: changes, balancerDrivers = [], listMachines = nothing }: ShownOptions,
) {
  const drivers = [memoryDriver(() => scripted({ listMachines }))];
  const config = parseConfig(
    {
      database: { url: 'postgresql://nowhere/fleet' },
      providers: { metal: { driver: 'memory', instanceSetId: 'aaaaa-bbbbb-ccccccccccccccc' } },
      agent: { endpoint: '192.0.2.1:8080' },
      ssh: { keyPath: 'key' },
      agentServer: { devCertificates: { dir: 'certificates' } },
      console: { listen: '127.0.0.1:0' },
      roles: ['console'],
      ...changes,
    },
    { baseDirectory: '/nonexistent' },
    { providers: driverTable(drivers), balancers: driverTable(balancerDrivers) },
  );
  const shell = () => Promise.reject(new Error('it reaches no machine'));
  const ports = memPorts({
    ...{ clock, random, bmdb, drivers, balancerDrivers, log: recordingLog() },
    shell: { connect: shell },
  });
  const daemon = await startDaemon({
    config,
    ports: { ...ports, startConsole },
    version: '0.0.0',
    tuning: { scanGapMs: 0 },
  });
  await advance(clock, 0);
  const { id, token } = makeToken(random);
  await bmdb.access.tokens.add({
    ...{ id, digest: digestOf(token), name: 'ann', owner: 'test', role: 'admin' },
    ...{ providers: null, forMs: 30 * 86_400_000 },
  });
  const transport = createHttpTransport({
    url: daemon.consoleUrl,
    token,
    version: '0.0.0',
    advice: 'look',
  });
  return {
    config,
    transport: {
      ...transport,
      send({ headers: { prefer: _, ...headers } = {}, ...question }) {
        return transport.send({ ...question, headers });
      },
    } satisfies Transport,
    /** The daemon takes in what the database has now. */
    async look() {
      const read = daemon.parts.mirror.readFleet(new AbortController().signal);
      await Promise.all([read, advance(clock, 0)]);
    },
    async close() {
      await Promise.all([daemon.stop(), advance(clock, 60_000)]);
    },
  };
}
