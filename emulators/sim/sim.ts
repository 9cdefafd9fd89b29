import { asyncScheduler, filter, firstValueFrom, map, merge, of, raceWith, timer } from 'rxjs';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import type { ConfigInput } from '../../src/config.ts';
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts';
import { realPorts } from '../../src/daemon/real-ports.ts';
import { withTimeLimit } from '../../src/adapters/clock/port.ts';
import { RemoteFailure, UsageError } from '../../src/domain/errors.ts';
import { headlineText } from '../../src/domain/headline.ts';
import { providerName } from '../../src/domain/ids.ts';
import { startChaos } from './chaos.ts';
import { claimedName } from '../../src/commands/bootstrap.ts';
import { loginLink } from '../../src/commands/bootstrap.ts';
import { addSimContext, type SimContext } from './commands-context.ts';
import { writeSimConfig } from './config-file.ts';
import { NO_HAPROXY } from './pool.ts';
import { equinixKind } from './providers/equinix.ts';
import { hetznerRobotKind, usedRobotKind } from './providers/hetzner-robot.ts';
import { latitudeKind } from './providers/latitude.ts';
import type { SimProviderName } from './providers/names.ts';
import type { SimKind } from './providers/provider.ts';
import { redfishKind, usedRedfishKind } from './providers/redfish.ts';
import { openWorldOn, simConfig, type SimWorld } from './world.ts';
import { withTerminal, type Terminal } from './terminal.ts';

export interface SimOptions {
  readonly provider: SimProviderName;
  /** The machines of `redfish` or `hetzner-robot` already run a system, and are adopted unchanged. */
  readonly adopt: boolean;
  /** Default: the data directory's number, otherwise 12. */
  readonly machines?: number;
  readonly chaos: boolean;
  readonly exitWhenRunning: boolean;
  readonly json: boolean;
  /** Agents without their own processes: for many machines. */
  readonly light?: boolean;
  readonly dataDir?: string;
  readonly consolePort: number;
  readonly inspectPort?: number;
  /** With `exitWhenRunning`: gives up after this time. */
  readonly timeoutMs: number;
  readonly version: string;
}

/** The result of one run: the line that `--json` prints. */
export interface SimReport {
  readonly machines: number;
  readonly running: number;
  readonly seconds: number;
  readonly devicesCreated: number;
  readonly recoveries: number;
  /** Number of created or claimed devices without a machine and without an open intent. */
  readonly leaked: number;
}

/** The daemon's inner periods, as fast as the simulated world. */
export const SIM_TUNING = {
  ladderResetMs: 15_000,
  askAgainMs: 10_000,
  assessMs: 1_000,
  setbackMaxMs: 2_000,
  sweepMs: 2_000,
  scanGapMs: 100,
  sessionRetryMs: 200,
};

/**
 * `shepherd sim`: a simulated fleet with a daemon, until a signal or until all machines run.
 * @throws {RemoteFailure} not all machines ran in time.
 */
export async function sim(options: SimOptions): Promise<void> {
  const stopping = new AbortController();
  let world: SimWorld | undefined;
  const ends = { stop: () => stopping.abort(), abandon: () => world?.abandon() };
  await withTerminal(options.json ? 'warn' : 'info', ends, async ({ live, log }) => {
    // A kept fleet keeps its size.
    const spares = options.chaos && !options.adopt && options.dataDir === undefined ? 1 : 0;
    const given = { ...options, spares, pool: { needsHaproxy: false }, log };
    world = await openWorldOn(kindOf(options), given);
    try {
      await simIn(world, options, { live, log, stopping: stopping.signal });
    } finally {
      live.end();
      await world.close();
    }
  });
}

const KINDS: Readonly<Record<SimProviderName, SimKind>> = {
  equinix: equinixKind,
  'hetzner-robot': hetznerRobotKind,
  latitude: latitudeKind,
  redfish: redfishKind,
};

/** @throws {UsageError} machines of this provider are created, and cannot exist before. */
function kindOf({ provider, adopt }: SimOptions): SimKind {
  if (!adopt) return KINDS[provider];
  if (provider === 'redfish') return usedRedfishKind;
  if (provider === 'hetzner-robot') return usedRobotKind;
  throw new UsageError('--adopt is for --provider redfish and hetzner-robot');
}

async function simIn(
  world: SimWorld,
  options: SimOptions,
  around: Pick<SimSession, 'live' | 'log' | 'stopping'>,
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
  ...(inspectPort !== undefined && { inspect: { port: inspectPort, console: true } }),
});

interface SimSession extends Terminal {
  readonly world: SimWorld;
  readonly daemon: Daemon;
  /** For commands. */
  readonly configFile: string;
  readonly startedAt: number;
  /** Wall clock at the start, epoch ms. The local database has the same clock. */
  readonly openedMs: number;
  readonly stopping: AbortSignal;
}

async function watch(options: SimOptions, scene: SimSession): Promise<void> {
  const { daemon, live, log, world, stopping } = scene;
  const { machines } = world;
  const context = options.json ? null : await addSimContext(daemon, log);
  if (!options.json) greet(scene, options, { link: await simLink(scene), context });
  const shown = daemon.fleet.entryChanges$.subscribe(() =>
    live.set(`${headlineText(daemon.board.headline())} · ${daemon.consoleUrl}`),
  );
  try {
    const inTime = await allRunning(options, scene);
    if (inTime) log.info({ seconds: secondsOf(scene) }, `${machines} of ${machines} Running`);
    if (inTime && !options.exitWhenRunning) {
      const chaos = options.chaos ? startChaos(world, daemon, log) : null;
      await Promise.race([aborted(stopping), daemon.stopped]);
      chaos?.stop();
    }
    if (!options.exitWhenRunning && !(options.json && stopping.aborted)) return;
    const report = await reportOf(scene);
    process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : sentenceOf(report));
    if (!inTime && !stopping.aborted) {
      throw new RemoteFailure(
        `only ${report.running} of ${machines} machines run after ${report.seconds} s`,
      );
    }
  } finally {
    shown.unsubscribe();
    await context?.remove();
  }
}

/** Seconds since the start, to a tenth. */
const secondsOf = ({ startedAt }: SimSession): number =>
  Math.round((systemClock.monotonic() - startedAt) / 100) / 10;

/** The simulation's user may do everything in it. */
const simLink = ({ daemon }: SimSession): Promise<string> =>
  loginLink(daemon.bmdb, daemon.consoleUrl, {
    ...{ name: claimedName(), role: 'admin', providers: null },
  });

interface Ways {
  readonly link: string;
  readonly context: SimContext | null;
}

function greet(
  { world, daemon, configFile }: SimSession,
  { chaos }: SimOptions,
  { link, context }: Ways,
): void {
  const { machines } = world;
  const { consoleUrl, inspectorUrl } = daemon;
  const lines = [
    `Simulating ${machines} machines on ${world.provider.name}${chaos ? ', some of which will die' : ''}. Ctrl-C ends it.`,
    `Console:   ${consoleUrl}`,
    `Log in:    ${link} (once, within ten minutes; later: shepherd ui)`,
    ...commandLines(context, configFile),
    ...clientsLines(world),
    ...(inspectorUrl ? [`Inspector: ${inspectorUrl}`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function commandLines(context: SimContext | null, configFile: string): string[] {
  if (context === null) {
    return [
      `Commands:  log in with what "shepherd token create me --config '${configFile}'" prints`,
    ];
  }
  const flag = context.isCurrent ? '' : ` --context ${context.name}`;
  return [`Commands:  shepherd machines${flag}   (in another terminal)`];
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

/** Runs, and has reported to this daemon: heartbeats of an earlier run prove nothing. */
const isHealthy = ({ daemon, world, openedMs }: SimSession): boolean => {
  const running = [...daemon.board.entries.values()].filter(
    ({ state, substate, view }) =>
      state === 'Running' && substate === 'healthy' && (view.lastHeartbeatAtMs ?? 0) > openedMs,
  );
  return running.length >= world.machines;
};

/** True when all machines run and have reported; false on timeout or signal. */
const allRunning = (options: SimOptions, scene: SimSession): Promise<boolean> =>
  firstValueFrom(
    merge(of(null), scene.daemon.fleet.entryChanges$).pipe(
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

/** Time limit of the last database read. */
const SCAN_MS = 10_000;

/** Ids of created or claimed devices without a machine and without an open creation. */
export async function leakedIn(
  { provider }: Pick<SimWorld, 'provider'>,
  { bmdb }: Pick<Daemon, 'bmdb'>,
): Promise<readonly string[]> {
  const records = await recordsIn(provider, bmdb);
  const made = [...provider.devices(records), ...provider.claims(records)];
  // Read after the devices: everything created until then was recorded earlier.
  const rows = await withTimeLimit(systemClock, { ms: SCAN_MS }, bmdb.scan);
  const known = new Set(rows.machines.map((row) => row.provided?.providerId));
  const witnesses = rows.intents.map((intent) => intent.witness as string);
  const leaked = made.filter(({ id, isOf }) => !known.has(id) && !witnesses.some(isOf));
  return [...new Set(leaked.map(({ id }) => id))];
}

const recordsIn = ({ name }: SimWorld['provider'], bmdb: Daemon['bmdb']) =>
  withTimeLimit(systemClock, { ms: SCAN_MS }, (signal) =>
    bmdb.records.all(providerName(name), signal),
  );

async function reportOf(scene: SimSession): Promise<SimReport> {
  const { daemon, world } = scene;
  const { machines, provider } = world;
  const leaked = await leakedIn(world, daemon);
  const records = await recordsIn(provider, daemon.bmdb);
  return {
    machines,
    running: daemon.board.counts().Running ?? 0,
    seconds: secondsOf(scene),
    devicesCreated: provider.devices(records).length,
    recoveries: daemon.board.recoveries(),
    leaked: leaked.length,
  };
}

const sentenceOf = (report: SimReport): string =>
  `${report.running} of ${report.machines} machines run after ${report.seconds} s; ` +
  `${report.devicesCreated} devices, ${report.recoveries} recoveries, ${report.leaked} leaked.\n`;
