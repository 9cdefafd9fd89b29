import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createFakeHost, createFakeShell } from '../../doubles/fake-shell.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../../src/wire/codec.ts';
import type { Server } from './database.ts';
import { startBenchDaemon } from './daemon.ts';

export interface BringUpOptions {
  readonly server: Server;
  readonly machines: number;
  /** Agent starts at once. */
  readonly parallelism: number;
}

/** Of the provisioner, always: what is varied is who starts agents. */
const CREATIONS = 50;
const POLL_MS = 20;
const LIMIT_MS = 10 * 60_000;

/**
 * From reservations to started agents by a whole daemon: its intents, claims, notes and ends are
 * real and durable, while provider and machines answer at once and from memory. Counted by the
 * database, from the first intent to the last start.
 * @returns machines per second.
 */
export async function measureBringUp(options: BringUpOptions): Promise<number> {
  const { server, machines, parallelism } = options;
  const database = await server.database();
  const daemon = await startBenchDaemon({
    url: database.url,
    dir: server.dir,
    config: {
      providers: {
        memory: {
          driver: 'stub',
          instanceSetId: 'bench-fleet-000000000000001',
          plans: [{ name: 'bench', location: 'rack', reservations: machines }],
          provisioningTime: '0s',
          latency: '0s',
          callsPerSecond: 0,
        },
      },
      provisioner: {
        maxMachines: 0,
        reconcilerRate: '20ms',
        deviceCreationRate: '1ms',
        reservationChunkSize: machines,
        concurrentCreations: CREATIONS,
      },
      initializer: { loopParallelism: parallelism },
      mirror: { listInterval: '500ms' },
    },
    played: ({ openShell }) => ({
      openShell: async (means) => ({
        ...(await openShell(means)),
        shell: createFakeShell({ hosts: anyHost(), clock: systemClock }),
      }),
    }),
  });
  try {
    const startedMs = performance.now();
    await database.query(async (sql) => {
      for (;;) {
        const { rows } = await sql.query<{ n: number }>(
          'SELECT count(*)::int AS n FROM machine_agent_started',
        );
        if (rows[0]!.n >= machines) return;
        if (performance.now() - startedMs > LIMIT_MS) {
          throw new Error(`only ${rows[0]!.n} of ${machines} machines came up`);
        }
        await pause(POLL_MS);
      }
    });
    return machines / (await secondsOf(database));
  } finally {
    await daemon.stop();
  }
}

const secondsOf = ({ query }: Awaited<ReturnType<Server['database']>>): Promise<number> =>
  query(async (sql) => {
    const { rows } = await sql.query<{ seconds: number }>(
      `SELECT extract(epoch FROM
         (SELECT max(agent_started_at) FROM machine_agent_started)
         - (SELECT min(created_at) FROM provision_intents))::float8 AS seconds`,
    );
    return rows[0]!.seconds;
  });

/** A machine at every address; what runs on it answers as the agent's takeover does. */
function anyHost() {
  const host = createFakeHost({
    bootId: 'bench',
    run: ([command], stdin) => {
      if (command === 'cat') return { exitCode: 1 };
      const initMessage = takeoverInitCodec.decode(stdin);
      const key = randomBytes(32);
      return { stdout: takeoverResponseCodec.encode({ success: { initMessage, key } }) };
    },
  });
  return { get: () => ({ ...host, hostKey: createHash('sha256').digest('base64') }) };
}
