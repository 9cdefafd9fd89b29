import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createFakeHost, createFakeShell } from '../../doubles/fake-shell.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../../src/wire/codec.ts';
import { cpuMs } from '../measure.ts';
import type { Database, BenchServer } from './database.ts';
import { benchProvider } from './provider.ts';
import { startBenchDaemon } from './daemon.ts';

interface BringUpOptions {
  readonly server: BenchServer;
  readonly machines: number;
  /** Concurrent agent starts. */
  readonly parallelism: number;
}

export interface BroughtUp {
  readonly machinesPerSecond: number;
  /** Statements of the daemon; BEGIN and COMMIT count as one each. */
  readonly statementsPerMachine: number;
  /** CPU time of the whole process, which does nothing else, without the daemon's start. */
  readonly cpuMsPerMachine: number;
}

/** The provisioner's concurrent creations, fixed: only the number of agent starts varies. */
const CREATIONS = 50;

/**
 * From reservations to started agents with a whole daemon. Its intents, claims, notes and ends are
 * real and durable; provider and machines answer at once from memory. The database gives the rate,
 * from the first intent to the last start.
 */
export async function measureBringUp(options: BringUpOptions): Promise<BroughtUp> {
  const { machines } = options;
  const database = await options.server.database();
  const statements = countStatements(database);
  try {
    const spent = await bringUp({ ...options, database });
    return {
      machinesPerSecond: machines / spent.seconds,
      statementsPerMachine: statements.sent() / machines,
      cpuMsPerMachine: spent.cpuMs / machines,
    };
  } finally {
    statements.stop();
  }
}

/**
 * @returns CPU time and seconds from the running daemon until all agents were started. The daemon
 * has stopped.
 */
async function bringUp({
  server,
  database,
  machines,
  parallelism,
}: BringUpOptions & { readonly database: Database }) {
  const provider = benchProvider(machines);
  const daemon = await startBenchDaemon({
    url: database.url,
    dir: server.dir,
    config: {
      providers: {
        memory: { driver: 'memory', instanceSetId: provider.instanceSetId, callsPerSecond: 0 },
      },
      provisioner: {
        maxMachines: 0,
        deviceCreationRate: '0s',
        reservationChunkSize: machines,
        concurrentCreations: CREATIONS,
      },
      initializer: { loopParallelism: parallelism },
    },
    played: ({ openShell }) => ({
      drivers: provider.drivers,
      openShell: async (means) => ({
        ...(await openShell(means)),
        shell: createFakeShell({ hosts: anyHost(), clock: systemClock }),
      }),
    }),
  });
  const beforeMs = cpuMs();
  try {
    const seconds = await database.started(machines);
    return { cpuMs: cpuMs() - beforeMs, seconds };
  } finally {
    await daemon.stop();
  }
}

/** Counts at the client, because a relay would cost the daemon time. */
function countStatements({ url }: Pick<Database, 'url'>) {
  const { username, pathname } = new URL(url);
  const { query } = pg.Client.prototype;
  let sent = 0;
  function counted(this: pg.Client, ...args: never) {
    if (this.user === username && `/${this.database}` === pathname) sent += 1;
    return query.apply(this, args) as unknown;
  }
  pg.Client.prototype.query = counted as typeof query;
  return { sent: () => sent, stop: () => void (pg.Client.prototype.query = query) };
}

/** A machine at every address. Its programs answer as the agent's start does. */
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
