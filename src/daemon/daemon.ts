import { createActor, toPromise, type ActorRefFrom, type InspectionEvent } from 'xstate';
import type { Board } from '../actors/board.ts';
import type { GuardView } from '../actors/guard/watch.ts';
import { provideFleet } from '../actors/provide.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import type { InspectorRelay } from '../adapters/inspector/relay.ts';
import { mayEraseDisks, type Config } from '../config.ts';
import type { FleetView } from '../console/port.ts';
import { explain } from '../domain/errors.ts';
import type { Slot } from '../domain/ids.ts';
import type { BudgetUse } from '../domain/recovery/permits.ts';
import { createCloser } from './closer.ts';
import { fleetDeps } from './fleet-deps.ts';
import { fleetView } from './fleet-view.ts';
import { healthOf } from './health.ts';
import { openParts, type Parts } from './parts.ts';
import type { Means, Ports } from './ports.ts';
import { withTimeLimit } from './time-limit.ts';
import { TUNING, type Tuning } from './tuning.ts';

export interface DaemonOptions {
  readonly config: Config;
  /** The world around it; `realPorts` for users. */
  readonly ports: Ports;
  /** Of this program. */
  readonly version: string;
  /** What differs from the figures of the design. */
  readonly tuning?: Partial<Tuning>;
  /** How the operator sets the console's address, for the message when it is taken. */
  readonly consoleOption?: string;
}

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
  /** What it is made of, for whoever looks inside: tests, simulations and benchmarks. */
  readonly parts: Parts;
  /** Its supervisor, the root of all that it does. */
  readonly supervisor: ActorRefFrom<ReturnType<typeof provideFleet>>;
}

/**
 * The one composition of a daemon: builds every part from the leaves up, over the ports it is given,
 * and starts the supervisor. Several daemons may live in one process. What was opened before a
 * failure is closed again.
 * @throws {FleetError} what is wrong with configuration, database, provider or port.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { clock, random, log, metrics } = options.ports;
  const closer = createCloser(log);
  const tuning = { ...TUNING, ...options.tuning };
  try {
    return await build({ ...options, clock, random, log, metrics, closer, tuning });
  } catch (error) {
    await closer.close();
    throw error;
  }
}

type Built = Means & Pick<DaemonOptions, 'ports' | 'consoleOption'>;

async function build(means: Built): Promise<Daemon> {
  const { log } = means;
  const parts = await openParts(means, means.ports);
  const { board, taskPool, keeper, mirror } = parts;
  const fleet = fleetView({
    board,
    changes$: parts.changes,
    guard: parts.watch.view,
    unlisted: parts.health.unlisted,
    guardChanges$: parts.guardChanges,
    budget: parts.permits.use,
    pools: parts.poolsView.pools,
    poolChanges$: parts.poolsView.changes$,
    facts: (slot) => mirror.facts().get(slot as Slot),
    self: () => keeper.current()?.sessionId ?? null,
    nowMs: mirror.nowMs,
  });
  const inspector = await openInspector(means);
  const consoleUrl = await openConsole(means, parts, fleet, inspector);
  const { stopped, supervisor } = startSupervisor(means, parts, inspector);
  warnOfErasing(means, parts);
  log.info({ console: consoleUrl, agents: parts.server.address }, 'daemon started');

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    log.info({ busy: taskPool.busy }, 'stopping');
    supervisor.send({ type: 'fleet.stop' });
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
    reload: () => reload(parts, means),
    stop: () => (stopping ??= stop()),
    parts,
    supervisor,
  };
}

const guardSnapshot = ({ watch, permits }: Parts): GuardSnapshot => ({
  ...watch.view(),
  maxRecovering: permits.heldMax,
  budget: permits.use(),
});

const RELOAD_MS = 60_000;

async function reload(parts: Parts, { clock, log }: Means): Promise<void> {
  const { providers, renewCertificate, renewKeys } = parts;
  // First, as it is what providers have new machines let in.
  await renewKeys();
  const looks = [...providers.values()].map(async (provider) => {
    const fields = { provider: provider.name };
    try {
      await withTimeLimit(clock, RELOAD_MS, (signal) => provider.prepare({ signal }));
      log.info(fields, 'the provider was read again');
    } catch (error) {
      log.error({ ...fields, cause: explain(error) }, 'the provider could not be read again');
    }
  });
  await Promise.all([...looks, renewCertificate()]);
}

function startSupervisor(means: Built, parts: Parts, inspector: Inspector) {
  const { config, tuning, clock, log, closer, ports } = means;
  const inspectRoot = allOf(inspector?.inspect, ports.inspect);
  const logic = provideFleet(
    fleetDeps(means, parts, {
      // The inspector watches only the first cell.
      inspectCell: (cellId) => allOf(cellId === 'cell-0' && inspector?.inspect, ports.inspect),
      inspectRoot,
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
    ...(inspectRoot && { inspect: inspectRoot }),
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
  return { stopped, supervisor: actor };
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
  const { config, clock, log, version, closer, ports } = means;
  const { metrics } = ports;
  const { board, keeper, mirror, permits, health } = parts;
  const web = await ports.startConsole({
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

type Inspector = InspectorRelay | null;

async function openInspector({ config, clock, log, closer, ports }: Built): Promise<Inspector> {
  const { port } = config.inspect;
  if (port === undefined) return null;
  const inspector = await ports.startInspector({
    host: '127.0.0.1',
    port,
    clock,
    log: log.child({ component: 'inspector' }),
    select: () => true,
  });
  closer.add('inspector', () => inspector.close());
  return inspector;
}

type Inspect = (event: InspectionEvent) => void;

/** One observer that tells all that there are; none costs nothing. */
function allOf(...observers: readonly (Inspect | false | null | undefined)[]): Inspect | undefined {
  const there = observers.filter((each) => typeof each === 'function');
  if (there.length < 2) return there[0];
  return (event) => {
    for (const inspect of there) inspect(event);
  };
}
