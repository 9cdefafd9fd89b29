import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../../src/adapters/bmdb/embedded/embedded-postgres.ts';
import { migrate } from '../../../src/adapters/bmdb/schema/migrate.ts';
import { sleep } from '../../../src/adapters/clock/port.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { Log } from '../../../src/adapters/log/port.ts';
import type { Config } from '../../../src/config.ts';
import { createCloser } from '../../../src/daemon/closer.ts';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import { startDaemon, type Daemon } from '../../../src/daemon/daemon.ts';
import { realPorts } from '../../../src/daemon/real-ports.ts';
import { openSimWorld, parseSimConfig, poolOf, type EquinixWorld } from '../world.ts';
import { fastInput, fastTuning, FAST } from './fast.ts';
import type { Scenario, Stage } from './scenario.ts';
import { watchWorld } from './truth.ts';
import { openAudit, type Audit } from './audit.ts';

export interface StageOptions {
  readonly machines: number;
  readonly scenario: Scenario;
  readonly consolePort: number;
  readonly version: string;
  readonly log: Log;
  /** Aborts what is waited for. */
  readonly signal: AbortSignal;
  /** Told of the world as soon as there is one, for an end in the same instant. */
  readonly onWorld: (world: EquinixWorld) => void;
}

const POLL_MS = 100;

/**
 * Opens everything, from the leaves up; what was opened is closed again when `use` has ended.
 * @throws {RemoteFailure} the daemon ended by itself.
 */
export async function withStage<T>(
  options: StageOptions,
  use: (stage: Omit<Stage, 'mark'>) => Promise<T>,
): Promise<T> {
  const { machines, scenario, log, signal } = options;
  const closer = createCloser(log);
  try {
    const perLocation = scenario.perLocation(machines);
    const { pool } = scenario;
    const world = await openSimWorld({
      machines,
      perLocation,
      light: true,
      log,
      ...(pool && { pool: { ...pool, isNeeded: true } }),
    });
    closer.add('simulated world', () => world.close());
    options.onWorld(world);
    const postgres = await startEmbeddedPostgres({ dataDir: join(world.dir, 'postgres'), log });
    closer.add('embedded database', () => postgres.stop());
    await migrate(postgres.ownerUrl, log, { grantTo: postgres.role });
    const audit = await openAudit(postgres.ownerUrl);
    closer.add('audit', () => audit.close());
    const config = configOf(world, postgres.url, options);
    const daemon = await startIn(config, options);
    closer.add('daemon', () => daemon.stop());
    const ended = daemon.stopped.then(() => {
      throw new RemoteFailure('the daemon ended before the scenario was over');
    });
    return await Promise.race([use(stageOf({ world, audit, daemon, signal })), ended]);
  } finally {
    await closer.close();
  }
}

function configOf(world: EquinixWorld, databaseUrl: string, options: StageOptions): Config {
  const { scenario, machines, consolePort } = options;
  const profile = scenario.profile(machines);
  const input = { ...fastInput(world, profile), console: { listen: `127.0.0.1:${consolePort}` } };
  return parseSimConfig(world, input, { [FAST.databaseVariable]: databaseUrl });
}

const startIn = async (config: Config, { version, log }: StageOptions): Promise<Daemon> =>
  startDaemon({
    config,
    ports: await realPorts({ version, log }),
    version,
    tuning: fastTuning,
    consoleOption: '--console-port',
  });

interface Opened {
  readonly world: EquinixWorld;
  readonly audit: Audit;
  readonly daemon: Daemon;
  readonly signal: AbortSignal;
}

function stageOf({ world, audit, daemon, signal }: Opened): Omit<Stage, 'mark'> {
  const { hosts, machines } = world;
  const entries = () => [...daemon.board.entries.values()];
  const now = () => systemClock.monotonic();
  const pass = (ms: number) => sleep(systemClock, ms, signal);
  return {
    machines,
    hosts,
    daemon,
    audit,
    now,
    pass,
    truth: watchWorld(world),
    times: FAST,
    signal,
    pool() {
      const pool = poolOf(world);
      if (pool) return pool;
      throw new Error('this scenario has no pool');
    },
    host: (deviceId) => hosts.list().find((host) => host.deviceId === deviceId)!,
    shown: (state, substate) =>
      new Set(
        entries()
          .filter((entry) => entry.state === state)
          .filter((entry) => substate === undefined || entry.substate === substate)
          .flatMap(({ view }) => view.providerId ?? []),
      ),
    healthy: () =>
      entries().filter(({ state, substate }) => state === 'Running' && substate === 'healthy')
        .length,
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
