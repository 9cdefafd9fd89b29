import { createActor, toPromise, type InspectionEvent } from 'xstate';
import type { Board } from '../actors/board.ts';
import type { GuardView } from '../actors/guard/watch.ts';
import { provideFleet } from '../actors/provide.ts';
import { latestMigration } from '../adapters/bmdb/schema/migrate.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import { startInspectorRelay } from '../adapters/inspector/relay.ts';
import type { Log } from '../adapters/log/port.ts';
import { createPromMetrics } from '../adapters/metrics/prom-metrics.ts';
import { mayEraseDisks, type Config } from '../config.ts';
import { startConsole } from '../console/console.ts';
import type { FleetView } from '../console/port.ts';
import { explain } from '../domain/errors.ts';
import type { Slot } from '../domain/ids.ts';
import type { BudgetUse } from '../domain/recovery/permits.ts';
import type { Means, StandIns } from './adapters.ts';
import { createCloser } from './closer.ts';
import { fleetDeps } from './fleet-deps.ts';
import { fleetView } from './fleet-view.ts';
import { healthOf } from './health.ts';
import { openParts, type Parts } from './parts.ts';
import { TUNING, type Tuning } from './tuning.ts';

export interface DaemonOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  readonly tuning?: Partial<Tuning>;
  /** How the operator sets the console's address, for the message when it is taken. */
  readonly consoleOption?: string;
  /** Parts of the world that are played; the real ones when absent. */
  readonly standIns?: StandIns;
}

export type { StandIns } from './adapters.ts';

/** The guard as this daemon sees it. */
export interface GuardSnapshot extends GuardView {
  /** The most machines that held a permit at once since start, as far as was seen. */
  readonly maxRecovering: number;
  /** How the recovery budget is used, by scope. */
  readonly budget: readonly BudgetUse[];
}

/** A running daemon. */
export interface Daemon {
  readonly consoleUrl: string;
  readonly inspectorUrl: string | null;
  readonly board: Board;
  readonly fleet: FleetView;
  readonly bmdb: Bmdb;
  /** How the fleet guard stands now. */
  guard(): GuardSnapshot;
  /** Resolves when it has stopped and everything is closed; rejects when the supervisor crashed. */
  readonly stopped: Promise<void>;
  /**
   * Has every provider look again at what is kept outside: inventories, and keys at the provider;
   * the agent server at its certificate; and reads our SSH keys again, before all that.
   * Tells in the log what cannot be read; never fails.
   */
  reload(): Promise<void>;
  /** Ends work in time or cancels it, closes the session and everything else. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Builds every part from the leaves up and starts the supervisor. What was opened before a failure
 * is closed again.
 * @throws {FleetError} what is wrong with configuration, database, provider or port.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const closer = createCloser(options.log);
  try {
    return await build({
      ...options,
      closer,
      tuning: { ...TUNING, ...options.tuning },
      metrics: createPromMetrics({ version: options.version, schema: await latestMigration() }),
    });
  } catch (error) {
    await closer.close();
    throw error;
  }
}

type Built = Means &
  Pick<DaemonOptions, 'consoleOption'> & { readonly metrics: ReturnType<typeof createPromMetrics> };

async function build(means: Built): Promise<Daemon> {
  const { log } = means;
  const parts = await openParts(means);
  const { board, desk, keeper, mirror } = parts;
  const fleet = fleetView({
    board,
    changes$: parts.changes,
    guard: parts.watch.view,
    unlisted: parts.health.unlisted,
    guardChanges$: parts.guardChanges,
    budget: parts.permits.use,
    facts: (slot) => mirror.facts().get(slot as Slot),
    self: () => keeper.current()?.sessionId ?? null,
    nowMs: mirror.nowMs,
  });
  const inspector = await openInspector(means);
  const consoleUrl = await openConsole(means, parts, fleet, inspector);
  const { stopped, askToStop } = startSupervisor(means, parts, inspector);
  warnOfErasing(means, parts);
  log.info({ console: consoleUrl, agents: parts.server.address }, 'daemon started');

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    log.info({ busy: desk.busy }, 'stopping');
    askToStop();
    await stopped;
    log.info({}, 'stopped');
  };
  return {
    consoleUrl,
    inspectorUrl: inspector?.url ?? null,
    board,
    fleet,
    bmdb: parts.bmdb,
    guard: () => guardSnapshot(parts),
    stopped,
    reload: () => reload(parts, log),
    stop: () => (stopping ??= stop()),
  };
}

const guardSnapshot = ({ watch, permits }: Parts): GuardSnapshot => ({
  ...watch.view(),
  maxRecovering: permits.heldMax,
  budget: permits.use(),
});

const RELOAD_MS = 60_000;

async function reload({ providers, certificate, renewKeys }: Parts, log: Log): Promise<void> {
  // First, as it is what providers have new machines let in.
  await renewKeys();
  const looks = [...providers.values()].map(async (provider) => {
    const fields = { provider: provider.name };
    try {
      await provider.prepare({ signal: AbortSignal.timeout(RELOAD_MS) });
      log.info(fields, 'the provider was read again');
    } catch (error) {
      log.error({ ...fields, cause: explain(error) }, 'the provider could not be read again');
    }
  });
  await Promise.all([...looks, certificate.renew()]);
}

function startSupervisor(means: Built, parts: Parts, inspector: Inspector) {
  const { config, tuning, clock, log, closer } = means;
  const inspect = inspector ? { inspect: inspector.inspect } : {};
  const logic = provideFleet(
    fleetDeps(means, parts, {
      inspectCell: (cellId) =>
        observers(parts.board, { inspector, cellId, standIns: means.standIns }),
      ...(inspector && { inspectRoot: inspector.inspect }),
    }),
  );
  const actor = createActor(logic, {
    id: 'fleet',
    clock,
    input: {
      sessionIntervalMs: config.session.interval,
      sessionRetryMs: tuning.sessionRetryMs,
      assessMs: tuning.assessMs,
    },
    ...inspect,
  });
  closer.add('supervisor', () => void actor.stop());
  const stopped = toPromise(actor).then(
    () => closer.close(),
    async (cause: unknown) => {
      log.error({ err: cause }, 'the supervisor crashed');
      await closer.close();
      throw new Error('the supervisor crashed', { cause });
    },
  );
  // Whoever waits for the end is told; before anybody waits it is no unhandled rejection.
  stopped.then(undefined, () => undefined);
  actor.start();
  return { stopped, askToStop: () => actor.send({ type: 'fleet.stop' }) };
}

/** Providers whose machines recovery may reinstall, which erases their disks. */
const erasing = ({ config }: Built, { providers }: Parts): readonly string[] =>
  [...providers.values()].filter((each) => mayEraseDisks(config, each)).map(({ name }) => name);

function warnOfErasing(means: Built, parts: Parts): void {
  const providers = erasing(means, parts);
  if (providers.length === 0) return;
  means.log.warn({ providers }, 'recovery may reinstall machines, which erases their disks');
}

async function openConsole(
  means: Built,
  parts: Parts,
  fleet: FleetView,
  inspector: Inspector,
): Promise<string> {
  const { config, clock, log, metrics, version, closer } = means;
  const { board, keeper, mirror, permits, health } = parts;
  const web = await startConsole({
    listen: config.console.listen,
    token: config.console.token?.read(),
    allowedHosts: config.console.allowedHosts,
    fleet,
    metrics: {
      expose() {
        metrics.machines(board.census());
        metrics.recoveryBudget(permits.use());
        return metrics.expose();
      },
    },
    health: healthOf({
      keeper,
      mirror,
      clock,
      scanMs: config.mirror.scanInterval,
      unlisted: health.unlisted,
    }),
    clock,
    log: log.child({ component: 'console' }),
    version,
    mayEraseDisks: erasing(means, parts),
    option: means.consoleOption ?? 'console.listen',
    ...(inspector && { inspectorUrl: inspector.url }),
  });
  closer.add('console', () => web.close());
  return web.url;
}

type Inspector = Awaited<ReturnType<typeof startInspectorRelay>> | null;

async function openInspector({ config, clock, log, closer }: Means): Promise<Inspector> {
  const { port } = config.inspect;
  if (port === undefined) return null;
  const inspector = await startInspectorRelay({
    host: '127.0.0.1',
    port,
    clock,
    log: log.child({ component: 'inspector' }),
    select: () => true,
  });
  closer.add('inspector', () => inspector.close());
  return inspector;
}

/** The board watches every cell; the inspector only the first. */
function observers(
  board: Board,
  around: { inspector: Inspector; cellId: string; standIns: StandIns | undefined },
) {
  const { inspector, cellId, standIns } = around;
  const watching = cellId === 'cell-0' ? inspector : null;
  if (!watching && !standIns?.inspect) return board.inspect;
  return (event: InspectionEvent) => {
    board.inspect(event);
    watching?.inspect(event);
    standIns?.inspect?.(event);
  };
}
