import { createActor, toPromise, type ActorRefFrom, type InspectionEvent } from 'xstate';
import type { FleetState } from '../actors/fleet-state.ts';
import type { GuardView } from '../actors/guard/watch.ts';
import { provideFleet } from '../actors/provide.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import type { Inspection } from '../adapters/inspector/port.ts';
import type { InspectorRelay } from '../adapters/inspector/relay.ts';
import { mayEraseDisks, retirementOf, type Config } from '../config.ts';
import { givingBackOf } from '../config/giving-back.ts';
import type { SubmissionMeans } from '../console/api/submit/submit.ts';
import type { Console, ConsoleDeps } from '../console/console.ts';
import type { DaemonsView } from '../console/views.ts';
import type { FleetView } from '../console/port.ts';
import { needsMirror } from '../domain/daemons.ts';
import { explain } from '../domain/errors.ts';
import { headlineText } from '../domain/headline.ts';
import type { ProviderName } from '../domain/ids.ts';
import type { BudgetUse } from '../domain/recovery/permits.ts';
import { accessMeans, createLogControl } from './console-means.ts';
import { createCloser, tellDaily } from './closer.ts';
import { countFleet, STATISTICS_JOB } from '../actors/statistics.ts';
import { startCases } from './cases.ts';
import { createExplainer, type Explainer } from './views/explaining.ts';
import { fleetDeps } from './fleet-deps.ts';
import { fleetView } from './views/fleet-view.ts';
import { guardLook } from './views/guard-insight.ts';
import { TUNING, type Tuning } from './tuning.ts';
import { healthOf } from './health.ts';
import { createMachineHistory } from './views/machine-history.ts';
import { openParts, type DaemonParts } from './parts.ts';
import type { Means, Ports } from './ports.ts';
import { fleetPlan } from './views/plan-view.ts';
import { createProvidersView } from './views/providers-view.ts';
import { createStateGauges } from './views/state-gauges.ts';
import { withTimeLimit } from '../adapters/clock/port.ts';
import { startRolls } from './rolls.ts';
import { startWebhooks, webhooksView } from './webhooks.ts';

export interface DaemonOptions {
  readonly config: Config;
  /** The outside world; `realPorts` for users. */
  readonly ports: Ports;
  /** Version of this program. */
  readonly version: string;
  /** Deviations from the design's figures. */
  readonly tuning?: Partial<Tuning>;
  /** The option for the console's address, named if the address is taken. */
  readonly consoleOption?: string;
}

/** This daemon's view of the guard. */
export interface GuardSnapshot extends GuardView {
  /** Largest observed number of simultaneous permits since start. */
  readonly maxRecovering: number;
  /** Use of the recovery budget by scope. */
  readonly budget: readonly BudgetUse[];
}

/** A running daemon. */
export interface Daemon {
  readonly consoleUrl: string;
  readonly inspectorUrl: string | null;
  readonly board: FleetState;
  readonly fleet: FleetView;
  /** Explains machines' states and shows their actors. */
  readonly insight: Explainer;
  readonly bmdb: Bmdb;
  /** Current state of the fleet guard. */
  guard(): GuardSnapshot;
  /** Resolves when all is stopped and closed; rejects after a crash of the supervisor. */
  readonly stopped: Promise<void>;
  /**
   * Reloads external data: first our SSH keys, then the inventories and keys of providers, and the
   * agent server's certificate. Logs what is unreadable; never fails.
   */
  reload(): Promise<void>;
  /** Whether the supervisor handles an event; a crashed one does not. */
  takesTurns(): boolean;
  /** Completes or cancels work, closes the session and everything else. Idempotent. */
  stop(): Promise<void>;
  /** Its parts, for tests, simulations and benchmarks. */
  readonly parts: DaemonParts;
  /** Its supervisor, the root of all actors. */
  readonly supervisor: ActorRefFrom<ReturnType<typeof provideFleet>>;
}

/**
 * The only composition of a daemon: builds every part from the leaves up over the given ports, and
 * starts the supervisor. Several daemons may share a process. After a failure, closes everything
 * opened before.
 * @throws {FleetError} a fault of configuration, database, provider or port.
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

/** No part needs the option for the console's address. */
type Built = Means & Pick<DaemonOptions, 'ports' | 'consoleOption'>;

async function build({ ports, consoleOption, ...means }: Built): Promise<Daemon> {
  const { log } = means;
  const parts = await openParts(means, ports);
  const { board, taskPool, mirror } = parts;
  const fleet = fleetView(parts);
  const watchers = await openWatchers(parts);
  const insight = createExplainer(parts);
  const web = await openConsole(parts, { fleet, insight, option: consoleOption }, watchers);
  const { stopped, supervisor } = startSupervisor(parts, watchers);
  warnOfErasing(parts);
  if (parts.roles.has('loops')) startWebhooks(parts);
  if (parts.roles.has('loops')) startCases(parts);
  const daily = () => ({ headline: headlineText(board.headline()), ...board.counts() });
  if (parts.roles.has('loops')) tellDaily(daily, means);
  if (parts.roles.has('loops')) startRolls(parts);
  if (parts.roles.has('stats')) startCounting(parts);
  parts.series.begin({ ...board, nowMs: mirror.nowMs });
  log.info({ console: web.url, agents: parts.server.address }, 'daemon started');

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    log.info({ busy: taskPool.busy }, 'stopping');
    supervisor.send({ type: 'fleet.stop' });
    await stopped;
    log.info({}, 'stopped');
  };
  return {
    consoleUrl: web.url,
    inspectorUrl: watchers.relay?.url ?? null,
    board,
    fleet,
    insight,
    bmdb: parts.bmdb,
    guard: () => guardSnapshot(parts),
    stopped,
    reload: () => {
      web.reload();
      return reload(parts);
    },
    takesTurns: () => takesTurn(supervisor),
    stop: () => (stopping ??= stop()),
    parts,
    supervisor,
  };
}

function takesTurn(supervisor: Daemon['supervisor']): boolean {
  let turns = 0;
  const watching = supervisor.subscribe({ next: () => (turns += 1), error: () => undefined });
  supervisor.send({ type: 'fleet.watched' });
  watching.unsubscribe();
  return turns > 0;
}

const guardSnapshot = ({ watch, permits }: DaemonParts): GuardSnapshot => ({
  ...watch.view(),
  maxRecovering: permits.heldMax,
  budget: permits.use(),
});

const RELOAD_MS = 60_000;

async function reload({ clock, log, ...parts }: DaemonParts): Promise<void> {
  const { providers, renewCertificate, renewKeys } = parts;
  // First, because providers give these keys to new machines.
  await renewKeys();
  const looks = [...providers.values()].map(async (provider) => {
    const fields = { provider: provider.name };
    try {
      await withTimeLimit(clock, { ms: RELOAD_MS }, (signal) => provider.prepare({ signal }));
      log.info(fields, 'the provider was reloaded');
    } catch (error) {
      log.error({ ...fields, cause: explain(error) }, 'the provider could not be reloaded');
    }
  });
  await Promise.all([...looks, renewCertificate()]);
}

function startSupervisor(parts: DaemonParts, { inspection }: Watchers) {
  const { config, tuning, clock, log, closer, ports } = parts;
  const inspect = allOf(inspection?.inspect, ports.inspect);
  const logic = provideFleet(
    fleetDeps(parts, { inspectCell: () => inspect, inspectRoot: inspect }),
  );
  const actor = createActor(logic, {
    id: 'fleet',
    clock,
    input: {
      sessionIntervalMs: config.session.interval,
      sessionRetryMs: tuning.sessionRetryMs,
      assessMs: tuning.assessMs,
    },
    ...(inspect && { inspect }),
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
  // Prevents an unhandled rejection before anybody waits for the end.
  stopped.then(undefined, () => undefined);
  actor.start();
  return { stopped, supervisor: actor };
}

/** Providers whose machines recovery may reinstall, which erases their disks. */
const erasing = ({ config, providers }: DaemonParts): readonly string[] =>
  [...providers.values()].filter((each) => mayEraseDisks(config, each)).map(({ name }) => name);

function warnOfErasing(parts: DaemonParts): void {
  const providers = erasing(parts);
  if (providers.length === 0) return;
  parts.log.warn({ providers }, 'recovery may reinstall machines, which erases their disks');
}

interface ConsoleInputs extends Pick<Daemon, 'fleet' | 'insight'>, Pick<ConsoleDeps, 'option'> {}

async function openConsole(
  parts: DaemonParts,
  { fleet, insight, option = 'console.listen' }: ConsoleInputs,
  { relay, inspection }: Watchers,
): Promise<Console> {
  const { config, clock, log, version, closer, ports, bmdb, mirror } = parts;
  const { metrics } = ports;
  const health = healthOf({
    ...{ ...parts, unlisted: parts.health.unlisted },
    scanMs: needsMirror(parts.roles) ? config.mirror.scanInterval : null,
  });
  const tellStanding = createStateGauges(parts, {
    health,
    consoleNotAfterMs: () => web.certificateNotAfterMs(),
  });
  const web = await ports.startConsole({
    listen: config.console.listen,
    ...accessMeans(config, ports),
    accounts: { repository: bmdb.access, random: parts.random, events: bmdb.events },
    allowedHosts: config.console.allowedHosts,
    fleet,
    insight,
    history: createMachineHistory(
      bmdb.inspection,
      (slot) => mirror.facts().get(slot)?.row?.machineId ?? null,
    ),
    providers: createProvidersView(parts),
    series: parts.series,
    plan: () => fleetPlan(parts, insight),
    guard: () => guardLook(parts),
    metrics: {
      async expose() {
        await tellStanding();
        return metrics.expose();
      },
    },
    meters: metrics,
    health,
    clock,
    log: log.child({ component: 'console' }),
    version,
    mayEraseDisks: erasing(parts),
    events: bmdb.events,
    records: bmdb.inspection,
    acceptances: bmdb.acceptances,
    conditions: bmdb.conditions,
    cases: bmdb.cases,
    rolls: bmdb.rolls,
    webhooks: webhooksView(parts),
    submission: submissionMeans(parts),
    daemons: daemonsView(parts),
    isShown: parts.roles.has('console'),
    option,
    ...(relay && { inspectorUrl: relay.url }),
    ...(inspection && config.inspect.console && { inspector: inspection }),
    ...(ports.levels && {
      logControl: createLogControl({
        ...{ levels: ports.levels, events: bmdb.events, clock, host: ports.hostname },
        recent: ports.recentLog,
        log: log.child({ component: 'console' }),
      }),
    }),
  });
  closer.add('console', () => web.close());
  if (!parts.roles.has('console')) return web;
  parts.self.consoleUrl = reachableUrl(config.console.url ?? web.url, ports.hostname);
  return web;
}

const daemonsView = ({ bmdb, keeper, loops, mirror }: DaemonParts): DaemonsView => ({
  sessions: (signal) => bmdb.inspection.sessions(signal),
  self: () => keeper.current()?.sessionId ?? null,
  loops: loops.all,
  holderOf: (job) => mirror.leases().find(({ name }) => name === job)?.sessionId ?? null,
});

/** A listener on every address is reached by its host name. */
const reachableUrl = (url: string, hostname: string): string =>
  url.replace(/^(https?:\/\/)(\[::\]|0\.0\.0\.0|)(?=:)/, `$1${hostname}`);

/** Counts the fleet while the daemon runs and has the job; never stops the supervisor. */
function startCounting(parts: DaemonParts): void {
  const { config, clock, log, metrics, closer, bmdb, loops, mirror } = parts;
  const { statisticsLeases: leases } = parts;
  const stopping = new AbortController();
  const periodMs = config.statistics.interval;
  const counting = countFleet(
    {
      ...{ inspection: bmdb.inspection, leases, metrics, clock, periodMs, retryMs: RETRY_MS },
      loop: loops.of('statistics', periodMs, STATISTICS_JOB),
      log: log.child({ component: 'statistics' }),
      nowMs: mirror.nowMs,
    },
    stopping.signal,
  );
  closer.add('statistics', () => {
    stopping.abort();
    return counting;
  });
}
/** Without a session nothing is counted; a new session follows soon. */
const RETRY_MS = 5_000;

function submissionMeans({ mirror, ...parts }: DaemonParts): SubmissionMeans {
  const { bmdb, clock, config, loss, metrics, providers } = parts;
  return {
    onAsked: (verb, via, outcome) =>
      metrics.count('shepherd_requests_total', { verb, via, outcome }),
    ...{ requests: bmdb.requests, clock, loss, providers: Object.keys(config.providers) },
    ...{ guard: mirror.guard, pools: mirror.pools, nowMs: mirror.nowMs },
    givingBack: givingBackOf(config),
    givesBack: (name) => retirementOf(config, name).then === 'giveBack',
    means: async (name) => providers.get(name as ProviderName)?.capabilities ?? null,
  };
}

/** Observers of actors. */
interface Watchers {
  /** Relay to Stately's inspector. */
  readonly relay: InspectorRelay | null;
  /** Feeds the relay, and the console's inspector if enabled. */
  readonly inspection: Inspection | null;
}

async function openWatchers(parts: DaemonParts): Promise<Watchers> {
  const { port, console: isOnPage } = parts.config.inspect;
  if (port === undefined && !isOnPage) return { relay: null, inspection: null };
  const inspection = parts.ports.createInspection(parts);
  parts.closer.add('inspection', () => inspection.close());
  return {
    relay: port === undefined ? null : await openRelay(parts, port, inspection),
    inspection,
  };
}

async function openRelay({ log, closer, ports }: DaemonParts, port: number, inspector: Inspection) {
  const relay = await ports.startInspector({
    host: '127.0.0.1',
    port,
    log: log.child({ component: 'inspector' }),
    inspector,
  });
  closer.add('inspector', () => relay.close());
  return relay;
}

type Inspect = (event: InspectionEvent) => void;

/** Combines several observers into one; without any, there is no cost. */
function allOf(...observers: readonly (Inspect | null | undefined)[]): Inspect | undefined {
  const there = observers.filter((each) => typeof each === 'function');
  if (there.length < 2) return there[0];
  return (event) => {
    for (const inspect of there) inspect(event);
  };
}
