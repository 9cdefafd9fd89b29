import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/adapters/bmdb/schema/migrate.ts';
import { sleep } from '../../../src/adapters/clock/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../../src/adapters/log/port.ts';
import { createCloser } from '../../../src/daemon/closer.ts';
import { startDaemon, type Daemon } from '../../../src/daemon/daemon.ts';
import { realPorts } from '../../../src/daemon/real-ports.ts';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import { openSimWorld, parseSimConfig, poolOf, type EquinixWorld } from '../world.ts';
import { openAudit, type Audit } from './audit.ts';
import { FAST, fastInput, fastTuning } from './fast.ts';
import type { Scenario, ScenarioStage } from './scenario.ts';
import { watchWorld } from './truth.ts';

export interface StageOptions {
  readonly machines: number;
  readonly scenario: Scenario;
  readonly consolePort: number;
  readonly version: string;
  readonly log: Log;
  /** Aborts all waits. */
  readonly signal: AbortSignal;
  /** Called with the world at its creation, for an immediate end. */
  readonly onWorld: (world: EquinixWorld) => void;
}

const POLL_MS = 100;

/**
 * Opens everything from the leaves up, and closes it after `use`.
 * @throws {RemoteFailure} the daemon ended by itself.
 */
export async function withStage<T>(
  options: StageOptions,
  use: (stage: Omit<ScenarioStage, 'mark'>) => Promise<T>,
): Promise<T> {
  const { machines, scenario, consolePort, version, log, signal } = options;
  const closer = createCloser(log);
  try {
    const { atOnce } = scenario;
    const world = await openSimWorld({
      machines,
      perLocation: scenario.perLocation(machines),
      light: true,
      log,
      ...(atOnce !== undefined && { pool: { needsHaproxy: true, atOnce } }),
    });
    closer.add('simulated world', () => world.close());
    options.onWorld(world);
    const postgres = await startEmbeddedPostgres({ dataDir: join(world.dir, 'postgres'), log });
    closer.add('embedded database', () => postgres.stop());
    await migrate(postgres.ownerUrl, log, { grantTo: postgres.role });
    const audit = await openAudit(postgres.ownerUrl);
    closer.add('audit', () => audit.close());
    const input = fastInput(world, scenario.recoverer);
    const daemon = await startDaemon({
      config: parseSimConfig(
        world,
        { ...input, console: { listen: `127.0.0.1:${consolePort}` } },
        { [FAST.databaseVariable]: postgres.url },
      ),
      ports: await realPorts({ version, log }),
      version,
      tuning: fastTuning,
      consoleOption: '--console-port',
    });
    closer.add('daemon', () => daemon.stop());
    const ended = daemon.stopped.then(() => {
      throw new RemoteFailure('the daemon ended before the scenario was over');
    });
    return await Promise.race([use(stageOf(world, { audit, daemon, signal })), ended]);
  } finally {
    await closer.close();
  }
}

interface OpenedDaemon {
  readonly audit: Audit;
  readonly daemon: Daemon;
  readonly signal: AbortSignal;
}

function stageOf(world: EquinixWorld, opened: OpenedDaemon): Omit<ScenarioStage, 'mark'> {
  const { daemon, signal } = opened;
  const { hosts, machines } = world;
  const entries = () => [...daemon.board.entries.values()];
  const now = () => systemClock.monotonic();
  const pass = (ms: number) => sleep(systemClock, ms, signal);
  const shown: ScenarioStage['shown'] = (state, substate) =>
    new Set(
      entries()
        .filter((entry) => entry.state === state)
        .filter((entry) => substate === undefined || entry.substate === substate)
        .flatMap(({ view }) => view.providerId ?? []),
    );
  return {
    ...opened,
    machines,
    hosts,
    now,
    pass,
    shown,
    truth: watchWorld(world),
    pool() {
      const pool = poolOf(world);
      if (pool) return pool;
      throw new Error('this scenario has no pool');
    },
    host: (deviceId) => hosts.list().find((host) => host.deviceId === deviceId)!,
    healthy: () => shown('Running', 'healthy').size,
    async until(question, withinMs) {
      for (const endAt = now() + withinMs; ;) {
        signal.throwIfAborted();
        if (await question()) return true;
        if (now() >= endAt) return false;
        await pass(POLL_MS);
      }
    },
  };
}
