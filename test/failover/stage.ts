import { appendFileSync, mkdtempSync, chmodSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { vi } from 'vitest';
import { silentLog } from '../../src/adapters/log/port.ts';
import { ANSWERED_HEARTBEATS, type AnsweredHeartbeat } from '../../emulators/hosts/light/agent.ts';
import { writeSimConfig } from '../../emulators/sim/config-file.ts';
import { openSimWorld, type EquinixWorld } from '../../emulators/sim/world.ts';
import { shepherd, WAIT, type StartedCommand } from '../e2e/commands.ts';
import type { Operator } from './load.ts';
import type { Replication } from './patroni.ts';
import { memoryOfRun } from './processes.ts';

export const MACHINES = 50;
/** The session interval of the daemons: their period. */
export const PERIOD_MS = 5_000;

/** A daemon that is restarted as its unit in deploy/systemd says. */
export interface DaemonUnit {
  readonly name: string;
  /** Of its present process; throws while there is none. */
  readonly consoleUrl: () => string;
  readonly agentPort: () => number | null;
  /** Of all its processes so far: logged lines of level error. */
  readonly errors: readonly string[];
  /** Slots with a device whose creation the database has lost: it is reported, and left alone. */
  readonly orphans: ReadonlySet<string>;
  /** Reboots that it asked the provider for because of an order. */
  readonly ordered: readonly (readonly [slot: string, order: string])[];
  /** Starts that followed an end by itself. */
  readonly restarts: () => number;
  /** `systemctl restart`, also of another program. Resolves when the new process listens. */
  restart(launcher?: string): Promise<void>;
  stop(): Promise<void>;
}

export interface FailoverStage {
  /** File of the daemons' configuration. */
  readonly config: string;
  readonly world: EquinixWorld;
  readonly units: readonly DaemonUnit[];
  /** Heartbeats that a daemon acknowledged to an agent. */
  readonly answered: readonly AnsweredHeartbeat[];
  /** Greatest sum so far, and its parts. MiB. */
  readonly memory: () => { readonly sum: number; readonly parts: Readonly<Record<string, number>> };
  /** For the console, with all rights. */
  readonly token: string;
}

export interface StageOptions {
  /** For daemons. */
  readonly databaseUrl: string;
  readonly dir: string;
  readonly heartbeatDeadline: string;
  readonly launcher?: string;
  /** Called with the configuration before the daemons start. */
  readonly prepare?: (config: string) => Promise<void>;
  /** Called in reverse order at the end. */
  readonly cleanups: (() => Promise<void> | void)[];
}

/** A directory that the servers' account may enter. It stays after a failure, with all logs. */
export function openDirectory(
  cleanups: StageOptions['cleanups'],
  hasFailed: () => boolean,
): string {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-failover-'));
  chmodSync(dir, 0o711);
  cleanups.push(() => {
    if (hasFailed()) console.log(`kept: ${dir}`);
    else rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });
  return dir;
}

/** Fifty machines, and two daemons that find the database by one URL. */
export async function setStage(options: StageOptions): Promise<FailoverStage> {
  const { cleanups, databaseUrl, dir } = options;
  const answered: AnsweredHeartbeat[] = [];
  const hear = (message: unknown) => void answered.push(message as AnsweredHeartbeat);
  subscribe(ANSWERED_HEARTBEATS, hear);
  cleanups.push(() => void unsubscribe(ANSWERED_HEARTBEATS, hear));
  const world = await openSimWorld({ machines: MACHINES, light: true, log: silentLog });
  cleanups.push(() => world.close());
  const units: DaemonUnit[] = [];
  const door = await startDoor(() => units.flatMap((unit) => unit.agentPort() ?? []));
  cleanups.push(() => void door.close());
  const file = join(dir, 'database-url');
  writeFileSync(file, databaseUrl, { mode: 0o600 });
  const config = writeSimConfig(world, {
    database: { url: `file:${file}` },
    session: { interval: `${PERIOD_MS / 1_000}s` },
    agent: {
      endpoint: `127.0.0.1:${(door.address() as AddressInfo).port}`,
      heartbeatPeriod: '2s',
      heartbeatDeadline: options.heartbeatDeadline,
      firstHeartbeatDeadline: '60s',
    },
    mirror: { scanInterval: '5s', listInterval: '5s' },
    console: { listen: '127.0.0.1:0' },
  });
  await options.prepare?.(config);
  for (const name of ['one', 'two']) {
    const unit = createUnit(name, join(dir, `daemon-${name}.log`), config, options.launcher);
    cleanups.push(() => unit.stop());
    units.push(unit);
    await unit.restart();
  }
  const made = await shepherd([
    ...['token', 'create', 'ann', '--role', 'admin', '--for', '720h', '--config', config],
  ]).ended;
  if (made.code !== 0) throw new Error(`no token: ${made.stderr}`);
  const peak = { sum: 0, parts: {} as Readonly<Record<string, number>> };
  const watch = setInterval(() => {
    const parts = memoryOfRun();
    const sum = Object.values(parts).reduce((all, each) => all + each, 0);
    if (sum > peak.sum) Object.assign(peak, { sum, parts });
  }, 3_000);
  cleanups.push(() => clearInterval(watch));
  const token = /shp_\S+/.exec(made.stdout)?.[0] ?? made.stdout.trim().split('\n').at(-1)!;
  return { config, world, units, answered, memory: () => peak, token };
}

/** One address of all daemons for the agents, as a name with several addresses gives. */
async function startDoor(ports: () => readonly number[]): Promise<Server> {
  let turn = 0;
  const door = createServer((agent) => {
    const open = ports();
    const port = open[turn++ % open.length];
    if (port === undefined) return void agent.destroy();
    const daemon = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [agent, daemon],
      [daemon, agent],
    ] as const) {
      from.on('error', () => undefined).on('close', () => to.destroy());
      from.pipe(to);
    }
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  return door;
}

/** `RestartSec` of the unit. */
const RESTART_MS = 2_000;

function createUnit(name: string, logFile: string, config: string, first?: string): DaemonUnit {
  const errors: string[] = [];
  const orphans = new Set<string>();
  const ordered: [string, string][] = [];
  let launcher = first;
  let restarts = 0;
  let next: NodeJS.Timeout | undefined;
  let now: {
    readonly command: StartedCommand;
    addresses?: Readonly<Record<string, string>>;
  } | null = null;
  const begin = async (): Promise<void> => {
    const command = shepherd(['run', '--config', config], {}, launcher);
    const mine: NonNullable<typeof now> = { command };
    now = mine;
    command.child.stderr!.on(
      'data',
      linesTo((line) => {
        appendFileSync(logFile, `${line}\n`);
        if (/"level":(50|60|"error"|"fatal")/.test(line)) errors.push(line);
        const orphan = /"slot":"([^"]+)".*"a device has our name, and no record refers to it"/.exec(
          line,
        );
        if (orphan) orphans.add(orphan[1]!);
        if (!line.includes('"reboot asked for"')) return;
        const { slot, order } = JSON.parse(line) as { slot: string; order: string | null };
        if (order !== null) ordered.push([slot, order]);
      }),
    );
    command.child.once('exit', (code, signal) => {
      if (now !== mine) return;
      now = null;
      errors.push(`it ended by itself with ${code ?? signal}`);
      // As `Restart=on-failure` and `RestartPreventExitStatus=2`.
      if (code === 0 || code === 2) return;
      restarts += 1;
      // If it cannot start it exits, which is counted above and leads here again.
      next = setTimeout(() => void (now === null && begin().catch(() => undefined)), RESTART_MS);
    });
    mine.addresses = await command.started();
  };
  const stop = async () => {
    clearTimeout(next);
    const old = now;
    now = null;
    // Otherwise it would be started again in a moment, or has just ended.
    if (!old || old.command.child.exitCode !== null) return;
    old.command.child.kill('SIGTERM');
    await old.command.ended;
  };
  return {
    name,
    errors,
    orphans,
    ordered,
    restarts: () => restarts,
    consoleUrl: () => {
      const url = now?.addresses?.['console'];
      if (url === undefined) throw new Error(`the daemon ${name} does not run`);
      return url;
    },
    agentPort: () => Number(now?.addresses?.['agents']?.split(':').at(-1) ?? NaN) || null,
    async restart(other) {
      launcher = other ?? launcher;
      await stop();
      await begin();
    },
    stop,
  };
}

function linesTo(take: (line: string) => void): (chunk: Buffer) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop()!;
    lines.forEach(take);
  };
}

/** All orphans that a daemon reported. */
export const orphansOf = ({ units }: FailoverStage): ReadonlySet<string> =>
  new Set(units.flatMap(({ orphans }) => [...orphans]));

/**
 * The slot of each reboot that repeats an earlier one under the same order: the database had lost the
 * record of the earlier. This may happen only with asynchronous replication.
 */
export function repeatedOf({ units }: FailoverStage): readonly string[] {
  const all = units.flatMap(({ ordered }) => ordered);
  return [...Map.groupBy(all, ([, order]) => order).values()].flatMap((same) =>
    same.slice(1).map(([slot]) => slot),
  );
}

/**
 * How many machines can run. Asynchronous replication may lose records: a device without a record is
 * an orphan, and a machine that was given back without a record has no device.
 */
export const ableMachines = (stage: FailoverStage, mode: Replication): number =>
  mode === 'strict' ? MACHINES : stage.world.emulator.devices().length - orphansOf(stage).size;

/** Waits until each daemon shows that all machines run that can run. */
export async function allRun(
  stage: FailoverStage,
  operator: Operator,
  mode: Replication = 'strict',
): Promise<void> {
  const { units, world } = stage;
  for (const unit of units) {
    await vi.waitUntil(async () => {
      const shown = await operator.machines(unit).catch(() => []);
      const running = shown.filter(({ state }) => state === 'Running');
      const isWhole = mode !== 'strict' || world.emulator.devices().length === MACHINES;
      return isWhole && running.length >= ableMachines(stage, mode);
    }, WAIT);
  }
}
