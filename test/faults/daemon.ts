import type { Provider } from '../../src/adapters/provider/port.ts';
import { formatDuration, parseConfig, type Config } from '../../src/config.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import type { Ports } from '../../src/daemon/ports.ts';
import type { ProviderName } from '../../src/domain/ids.ts';
import { MEMORY_DRIVERS, memoryDriver } from '../doubles/mem-provider.ts';
import { memPorts, type MemPortsOptions } from '../support/mem-ports.ts';
import type { Pace } from './pace.ts';

export { AGENT_PATH } from '../doubles/mem-machines.ts';

/** Marks our devices at the providers. */
export const INSTANCE_SET = 'fault-tests-000000000000000';

/** The parts of a daemon. */
export interface DaemonWorld extends Omit<MemPortsOptions, 'drivers'> {
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** Instead of metrics that only record. */
  readonly metrics?: Ports['metrics'];
  /** The daemon's name in its sessions. */
  readonly name: string;
  readonly pace: Pace;
}

/** A fast daemon over a given database, with simulated machines and providers. */
export function startHurriedDaemon(world: DaemonWorld): Promise<Daemon> {
  const { name, pace, providers, metrics, ...about } = world;
  const driver = memoryDriver((_, context) => providers.get(context.name)!);
  const { ladderResetMs, handOutMs, escalation } = pace.loss;
  const { assessMs, ingestGapMs } = pace.guard;
  const { sessionRetryMs, headStartMs, scanGapMs, sweepMs, drainMs, askAgainMs } = pace;
  return startDaemon({
    config: configOf(pace, [...providers.keys()]),
    ports: {
      ...memPorts({ ...about, drivers: [driver] }),
      ...(metrics && { metrics }),
      hostname: name,
    },
    version: '0.0.0',
    tuning: {
      ladderResetMs,
      handOutMs,
      escalation,
      assessMs,
      ingestGapMs,
      sessionRetryMs,
      headStartMs,
      scanGapMs,
      sweepMs,
      drainMs,
      askAgainMs,
    },
  });
}

function configOf(pace: Pace, providers: readonly ProviderName[]): Config {
  const time = formatDuration;
  const backoff = {
    initial: time(pace.backoff.initialMs),
    exponent: pace.backoff.exponent,
    maximum: time(pace.backoff.maximumMs),
  };
  const patience = time(pace.patienceMs);
  const none = { attempts: 0, patience };
  const { loss, budget, guard, places } = pace;
  const of = { driver: 'memory', instanceSetId: INSTANCE_SET, callsPerSecond: 0 };
  return parseConfig(
    {
      database: { embedded: { dataDir: 'unused' } },
      session: { interval: time(pace.sessionIntervalMs) },
      providers: Object.fromEntries(providers.map((name) => [name, of])),
      provisioner: { concurrentCreations: 1 },
      agent: {
        endpoint: '192.0.2.100:7000',
        heartbeatPeriod: time(loss.periodMs),
        heartbeatDeadline: time(loss.heartbeatMs),
        firstHeartbeatDeadline: time(loss.firstHeartbeatMs),
      },
      ssh: { keyPath: 'unused' },
      agentServer: { devCertificates: { dir: 'unused' } },
      initializer: { loopParallelism: places, backoff },
      recoverer: {
        loopParallelism: places,
        backoff,
        pollInterval: time(pace.pollMs),
        // The machines here have no other remedy.
        ladder: { restartingAgent: none, rebooting: { attempts: 3, patience }, powerCycling: none },
      },
      guard: {
        ...budget,
        silentPercent: guard.silentPercent,
        unreachablePercent: guard.unreachablePercent,
      },
      mirror: { scanInterval: time(pace.scanMs), listInterval: time(pace.listMs) },
    },
    { baseDirectory: '/nonexistent' },
    { providers: MEMORY_DRIVERS },
  );
}
