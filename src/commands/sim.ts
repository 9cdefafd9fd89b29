import { asyncScheduler, filter, firstValueFrom, map, merge, of, raceWith, timer } from 'rxjs';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { createPinoLog } from '../adapters/log/pino-log.ts';
import type { Log } from '../adapters/log/port.ts';
import type { ConfigInput } from '../config.ts';
import { startDaemon, type Daemon } from '../daemon/daemon.ts';
import { realPorts } from '../daemon/real-ports.ts';
import { withTimeLimit } from '../daemon/time-limit.ts';
import { RemoteFailure } from '../domain/errors.ts';
import { slot } from '../domain/ids.ts';
import { startChaos } from '../simulator/chaos.ts';
import { countsLine } from './counts-line.ts';
import { watchForEnd } from './signals.ts';
import { writeSimConfig } from './sim-config-file.ts';
import { NO_HAPROXY } from './sim-pool.ts';
import { openSimWorld, SIM_PROVIDER, simConfig, type SimWorld } from './sim-world.ts';
import { createLiveLine, type LiveLine } from './terminal.ts';

export interface SimOptions {
  /** Without it, as many as the data directory holds, else 12. */
  readonly machines?: number;
  readonly chaos: boolean;
  readonly exitWhenRunning: boolean;
  readonly json: boolean;
  /** Agents are no processes of their own: for many machines. */
  readonly light?: boolean;
  readonly dataDir?: string;
  readonly consolePort: number;
  readonly inspectPort?: number;
  /** With `exitWhenRunning`: gives up after this. */
  readonly timeoutMs: number;
  readonly version: string;
}

/** What one run came to; the line that `--json` prints. */
export interface SimReport {
  readonly machines: number;
  readonly running: number;
  readonly seconds: number;
  readonly devicesCreated: number;
  readonly recoveries: number;
  /** Devices of ours that no machine and no open intent refers to. */
  readonly leaked: number;
}

const CHAOS_MEAN_MS = 8_000;
/** The daemon's inner periods, as quick as the simulated world. */
export const SIM_TUNING = {
  ladderResetMs: 20_000,
  askAgainMs: 10_000,
  assessMs: 1_000,
  setbackMaxMs: 2_000,
  sweepMs: 2_000,
  scanGapMs: 100,
  sessionRetryMs: 200,
};

/**
 * `shepherd sim`: a simulated fleet and a daemon that keeps it alive, until a signal or until all
 * machines run. @throws {RemoteFailure} they did not all run in time.
 */
export async function sim(options: SimOptions): Promise<void> {
  const live = createLiveLine(process.stderr, systemClock);
  const log = createPinoLog({
    level: options.json ? 'warn' : 'info',
    format: 'auto',
    write: live.write,
    isTerminal: process.stderr.isTTY ?? false,
  });
  const stopping = new AbortController();
  let world: SimWorld | undefined;
  const release = watchForEnd(systemClock, {
    stop: () => stopping.abort(),
    abandon: () => world?.abandon(),
  });
  try {
    world = await openSimWorld({ ...options, pool: { isNeeded: false }, log });
    await simIn(world, options, { live, log, stopping: stopping.signal });
  } finally {
    live.end();
    await world?.close();
    release();
  }
}

async function simIn(
  world: SimWorld,
  options: SimOptions,
  around: Pick<Scene, 'live' | 'log' | 'stopping'>,
): Promise<void> {
  const startedAt = systemClock.monotonic();
  const openedMs = systemClock.now();
  const configFile = writeSimConfig(world, overridesOf(options));
  const { version } = options;
  const daemon = await startDaemon({
    config: simConfig(world, overridesOf(options)),
    ports: await realPorts({ version, log: around.log }),
    version,
    tuning: SIM_TUNING,
    consoleOption: '--console-port',
  });
  try {
    await watch(options, { ...around, world, daemon, configFile, startedAt, openedMs });
  } finally {
    around.live.end();
    await daemon.stop();
  }
}

const overridesOf = ({ consolePort, inspectPort }: SimOptions): Partial<ConfigInput> => ({
  console: { listen: `127.0.0.1:${consolePort}` },
  ...(inspectPort !== undefined && { inspect: { port: inspectPort } }),
});

interface Scene {
  readonly world: SimWorld;
  readonly daemon: Daemon;
  /** For commands. */
  readonly configFile: string;
  readonly live: LiveLine;
  readonly log: Log;
  readonly startedAt: number;
  /** Wall clock (which the database on this machine shares) at the start, epoch ms. */
  readonly openedMs: number;
  readonly stopping: AbortSignal;
}

async function watch(options: SimOptions, scene: Scene): Promise<void> {
  const { daemon, live, log, world, stopping } = scene;
  const { machines } = world;
  if (!options.json) greet(scene, options);
  const shown = daemon.fleet.changes$.subscribe(({ counts }) => live.set(countsLine(counts)));
  try {
    const inTime = await allRunning(options, scene);
    const seconds = Math.round((systemClock.monotonic() - scene.startedAt) / 100) / 10;
    if (inTime) log.info({ seconds }, `${machines} of ${machines} Running`);
    if (options.exitWhenRunning || (options.json && stopping.aborted)) {
      const report = await reportOf(scene, seconds);
      process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : sentenceOf(report));
      if (!inTime && !stopping.aborted) {
        throw new RemoteFailure(
          `only ${report.running} of ${machines} machines run after ${seconds} s`,
        );
      }
      return;
    }
    const chaos = options.chaos ? startChaosIn(world, log) : null;
    await Promise.race([aborted(stopping), daemon.stopped]);
    chaos?.stop();
  } finally {
    shown.unsubscribe();
  }
}

function greet({ world, daemon, configFile }: Scene, { chaos }: SimOptions): void {
  const { machines } = world;
  const { consoleUrl, inspectorUrl } = daemon;
  const lines = [
    `Simulating ${machines} machines${chaos ? ', some of which will die' : ''}. Ctrl-C ends it.`,
    `Console:   ${consoleUrl}`,
    `Commands:  SHEPHERD_CONFIG='${configFile}' shepherd machines`,
    ...clientsLines(world),
    ...(inspectorUrl ? [`Inspector: ${inspectorUrl}`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function clientsLines({ pool }: SimWorld): string[] {
  if (pool === null) return [];
  if ('missing' in pool) return [`Clients:   nothing leads them to the machines: ${pool.missing}`];
  const { host, port } = pool.clients;
  if (pool.haproxy)
    return [`Clients:   http://${host}:${port}/ (HAProxy leads them to machines that run)`];
  return [
    `Balancer:  an emulator of the Anexia Engine, which leads no clients anywhere: ${NO_HAPROXY}`,
  ];
}

/** Runs, and has reported to this daemon: a heartbeat of an earlier run proves nothing. */
const isHealthy = ({ daemon, world, openedMs }: Scene): boolean => {
  const running = [...daemon.board.entries.values()].filter(
    ({ state, substate, view }) =>
      state === 'Running' && substate === 'healthy' && (view.lastHeartbeatAtMs ?? 0) > openedMs,
  );
  return running.length >= world.machines;
};

/** True when all machines run and have reported; false when time is over or a signal came. */
const allRunning = (options: SimOptions, scene: Scene): Promise<boolean> =>
  firstValueFrom(
    merge(of(null), scene.daemon.fleet.changes$).pipe(
      filter(() => isHealthy(scene)),
      map(() => true),
      raceWith(
        merge(
          aborted(scene.stopping),
          scene.daemon.stopped,
          options.exitWhenRunning ? timer(options.timeoutMs, asyncScheduler) : [],
        ).pipe(map(() => false)),
      ),
    ),
  );

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const slotOfDevice = ({ devices }: SimWorld['fakequinix'], deviceId: string): string => {
  const device = devices().find(({ id }) => id === deviceId);
  return slot(SIM_PROVIDER, device?.reservationId ?? deviceId);
};

function startChaosIn({ hosts, fakequinix }: SimWorld, log: Log) {
  const chaosLog = log.child({ component: 'chaos' });
  return startChaos({
    hosts,
    chance: systemRandom.next,
    meanMs: CHAOS_MEAN_MS,
    onFault: ({ kind, deviceId }) =>
      chaosLog.warn({ slot: slotOfDevice(fakequinix, deviceId) }, kind),
    onError: (err) => chaosLog.error({ err }, 'a fault could not be made'),
  });
}

/** The last look at the database may take so long. */
const SCAN_MS = 10_000;

async function reportOf({ daemon, world }: Scene, seconds: number): Promise<SimReport> {
  const { machines } = world;
  const rows = await withTimeLimit(systemClock, SCAN_MS, daemon.bmdb.scan);
  const known = new Set(rows.machines.map((row) => row.provided?.providerId));
  const witnesses = rows.intents.map((intent) => intent.witness as string);
  const devices = world.fakequinix.devices();
  const leaked = devices.filter(
    ({ id, tags }) => !known.has(id) && !witnesses.some((w) => tags.some((t) => t.endsWith(w))),
  );
  return {
    machines,
    running: daemon.board.counts().Running ?? 0,
    seconds,
    devicesCreated: devices.length,
    recoveries: daemon.board.recoveries(),
    leaked: leaked.length,
  };
}

const sentenceOf = (report: SimReport): string =>
  `${report.running} of ${report.machines} machines run after ${report.seconds} s; ` +
  `${report.devicesCreated} devices, ${report.recoveries} recoveries, ${report.leaked} leaked.\n`;
