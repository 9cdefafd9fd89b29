import { NEVER, Subject } from 'rxjs';
import { createBoard, type BoardChange } from '../actors/fleet-state.ts';
import { createTaskPool } from '../actors/turns/turns.ts';
import { createPoolsBoard } from '../actors/balancing/pools-state.ts';
import { createDesiredMembers } from '../actors/balancing/desired-members.ts';
import { createLeases } from '../actors/leases.ts';
import { createLoops, loopingBmdb, type Loops } from '../actors/loops.ts';
import { createGuardWatch } from '../actors/guard/watch.ts';
import {
  createListingHealth,
  createListings,
  withListings,
  type ListingHealth,
} from '../actors/providers/listings.ts';
import { createRecords } from '../actors/providers/records.ts';
import { createMachineFinder } from '../actors/cell-pool.ts';
import { createMirror, type Mirror } from '../actors/mirror/mirror.ts';
import { interruptsNext } from '../actors/tasks/recovery/recovering.ts';
import { createPermitQueue } from '../actors/turns/permit-queue.ts';
import { createHoldKeeper } from '../actors/providers/holds.ts';
import { createSessionKeeper } from '../actors/session-keeper.ts';
import { createTakeoverProtocol } from '../adapters/agents/takeover-protocol.ts';
import type { Log } from '../adapters/log/port.ts';
import { acceptancePolicies, ladderOf, lossPolicyOf, poolsOf } from '../config.ts';
import { Denied, explain, isProviderError } from '../domain/errors.ts';
import { componentOf, type DaemonRoles } from '../domain/daemons.ts';
import { createStays } from '../domain/explanation/overdue.ts';
import type { ProviderName } from '../domain/ids.ts';
import { guardPolicyOf } from './tuning.ts';
import { createCallTimes } from './views/call-times.ts';
import { openBalancers } from './balancers.ts';
import type { Means, OpenedAgentServer, Ports } from './ports.ts';
import { createOverdueRule } from './views/overdue.ts';
import { createPlanner } from './planning.ts';
import { createPoolsView, watchStrangePools } from './views/pool-summaries.ts';
import { createSeries } from './views/last-hour.ts';
import { openProviders } from './providers.ts';
import { withTimeLimit } from '../adapters/clock/port.ts';

/** Maximum age of a reusable listing. */
const LISTING_AGE_MAX_MS = 30_000;
/**
 * The age limit as a share of the period. Others with the same period share the mirror's listings,
 * whose next one may be slightly late or early.
 */
const LISTING_AGE_SHARE = 0.9;
/** Simultaneous deprovisions; their long waits use nothing. */
const DEPROVISIONS_AT_ONCE = 10;

/** Another daemon may take over the count a little later. */
const STATISTICS_RETRY_MS = 30_000;

/**
 * All parts of a daemon except the supervisor and the console, with their inputs: the source of the
 * charts' services and of the views.
 */
export type DaemonParts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens the parts from the leaves up; the given closer closes them.
 * @throws {FleetError} a fault of configuration, database, provider or port.
 */
export async function openParts(given: Means, ports: Ports) {
  const series = createSeries(given);
  const means = { ...given, metrics: series.heeding(given.metrics) };
  const { config, tuning, clock, log, metrics } = means;
  const guardPolicy = guardPolicyOf(config, tuning);
  const { ladderResetMs, handOutMs, escalation } = tuning;
  const loss = { ...lossPolicyOf(config), ladderResetMs, handOutMs, escalation };
  const roles: DaemonRoles = new Set(config.roles);
  const files = await ports.loadAgent(config);
  const { keys, shell, driverShell, renewKeys } = await ports.openShell(means);
  // Before the first read of the database, no other daemon is known.
  let daemons = () => 1;
  // Drivers keep records in the database, so they close before it.
  const loops = createLoops(clock, () => mirror.nowMs(), metrics);
  const acceptance = acceptancePolicies(config.providers);
  const policies = { loss, budget: config.guard, guard: guardPolicy, acceptance };
  const opened = await ports.openBmdb(means, policies);
  const bmdb = loopingBmdb(opened, loops, {
    sessionMs: config.session.interval / 2,
    readMs: config.mirror.pollInterval,
    assessMs: tuning.assessMs,
    sweepMs: tuning.sweepMs,
  });
  /** This daemon's address, once it is known. */
  const self = { consoleUrl: null as string | null };
  const keeper = createSessionKeeper({
    bmdb,
    component: componentOf(roles),
    runtimeInfo: `host ${ports.hostname}`,
    about: () => ({
      ...{ version: means.version, schema: ports.schema, roles: config.roles },
      ...{ consoleUrl: self.consoleUrl, logLevel: config.log.level },
    }),
    log: log.child({ component: 'session' }),
  });
  const repository = () => keeper.require().records;
  const callTimes = createCallTimes(clock);
  const providers = openProviders(
    { ...means, metrics: callTimes.heeding(metrics) },
    {
      keys,
      driverShell,
      drivers: ports.drivers,
      daemons: () => daemons(),
      records: (name) => createRecords(name, { bmdb, repository }),
      events: bmdb.events,
    },
  );
  await prepareProviders(providers, means, roles.has('loops'));
  const pools = poolsOf(config);
  const balancers = openBalancers(means, ports.balancerDrivers);
  const isReady = () => keeper.current() !== null;
  const agents = roles.has('agent-server')
    ? await ports.openAgentServer(means, { store: bmdb.heartbeats, isReady })
    : await noAgentServer(means, ports);
  const { server, caCertificate, renewCertificate } = agents;
  means.closer.add('agent server', () => server.close(tuning.agentServerGraceMs));
  const endpoint = config.agent.endpoint ?? server.address;
  const protocol = createTakeoverProtocol({ endpoint, caCertificate });
  const changes = new Subject<BoardChange>();
  const stays = createStays();
  const board = createBoard({
    nowMs: () => mirror.nowMs(),
    metrics,
    changes,
    onStay: ({ view: { provider, slot }, state, substate }, forMs) => {
      const plan = mirror.facts().get(slot)?.listed?.plan ?? null;
      stays.note({ provider, plan, state, substate }, forMs);
    },
  });
  const watch = createGuardWatch({
    policy: guardPolicy,
    heartbeatMs: loss.heartbeatMs,
    nowMs: () => mirror.nowMs(),
    clock,
    metrics,
    log: log.child({ component: 'guard' }),
    onChange: () => {
      permits.reconsider();
      wishes.onGuard();
      guardChanges.next();
    },
  });
  const guardChanges = new Subject<void>();
  const poolChanges = new Subject<void>();
  const permits = createPermitQueue({
    budget: config.guard,
    barOf: watch.barOf,
    interrupts: (facts) =>
      interruptsNext(
        {
          providers,
          facts: mirror.facts,
          nowMs: mirror.nowMs,
          ladder: (provider) => ladderOf(config, provider),
          askAgainMs: tuning.askAgainMs,
        },
        facts,
      ),
  });
  const holds = createHoldKeeper({
    repository: bmdb.providerHolds,
    rows: () => mirror.providerHolds(),
    nowMs: () => mirror.nowMs(),
    clock,
    log: log.child({ component: 'provider holds' }),
  });
  const health = createListingHealth({
    repository: bmdb.listings,
    keeper,
    nowMs: () => mirror.nowMs(),
    log: log.child({ component: 'listings' }),
    onChange: () => guardChanges.next(),
  });
  const listings = createListings({
    providers,
    holds,
    health: loopingListings(health, [...providers.keys()], {
      loops,
      periodMs: config.mirror.listInterval,
    }),
    nowMs: () => mirror.nowMs(),
    clock,
    maxAgeMs: Math.min(LISTING_AGE_MAX_MS, LISTING_AGE_SHARE * config.mirror.listInterval),
  });
  const mirror: Mirror = createMirror({
    bmdb,
    providers: new Map(
      [...providers].map(([name, provider]) => [name, withListings(provider, listings)]),
    ),
    heard$: server.heard$,
    loss,
    conditions: { effects: config.conditions, guard: config.guard },
    acceptance,
    scanMs: config.mirror.scanInterval,
    scanGapMs: tuning.scanGapMs,
    // The end of a session sends no wake, so changes are polled even with wakes.
    pollMs: config.mirror.pollInterval,
    listMs: config.mirror.listInterval,
    clock,
    scheduler: ports.scheduler,
    random: means.random,
    log: log.child({ component: 'mirror' }),
    onFacts: (facts, changed) => {
      permits.offer(facts, changed);
      wishes.onFacts(facts, changed);
      tellStrangePools();
    },
    onView: (view) => {
      board.onView(view);
      // Without an actor for the machine, its rows alone are shown.
      if (!roles.has('loops')) board.onShown({ ...view, working: false });
      wishes.onView(view);
    },
    onVanished: (slot) => {
      board.onVanished(slot);
      wishes.onVanished(slot);
    },
    onPools: () => poolChanges.next(),
  });
  const planner = createPlanner({ config, providers, listings, mirror, clock });
  const wishes = createDesiredMembers({
    pools,
    facts: mirror.facts,
    viewOf: (slot) => board.entries.get(slot)?.view,
    moment: () => ({ nowMs: mirror.nowMs(), loss, standings: watch.view().standings }),
    clock,
  });
  means.closer.add('wishes', () => wishes.stop());
  const poolsBoard = createPoolsBoard();
  const poolSummaries = createPoolsView({
    pools,
    balancers: config.balancers,
    mirror,
    board: poolsBoard,
  });
  const tellStrangePools = watchStrangePools({
    pools,
    mirror,
    log: log.child({ component: 'balancing' }),
  });
  daemons = () => Math.max(1, mirror.sessions().length);
  const openLeases = (retryMs = tuning.leaseRetryMs) =>
    createLeases({
      keeper,
      holderOf: (job) => mirror.leases().find(({ name }) => name === job)?.sessionId ?? null,
      clock,
      random: means.random,
      log: log.child({ component: 'leases' }),
      retryMs,
    });
  const taskPool = createTaskPool({
    places: {
      agentStart: config.initializer.loopParallelism,
      recovery: config.recoverer.loopParallelism,
      deprovision: DEPROVISIONS_AT_ONCE,
    },
    unusedMs: tuning.turnUnusedMs,
    clock,
    log: log.child({ component: 'task-pool' }),
  });
  return {
    ...means,
    ports,
    guardPolicy,
    roles,
    loss,
    series,
    loops,
    self,
    finder: createMachineFinder(),
    stays,
    isOverdue: createOverdueRule({
      ...{ stays, loss, facts: mirror.facts },
      ladderOf: (provider) => ladderOf(config, provider),
    }),
    files,
    shell,
    renewKeys,
    providers,
    callTimes,
    planner,
    bmdb,
    keeper,
    server,
    protocol,
    renewCertificate,
    changes,
    board,
    permits,
    watch,
    guardChanges,
    mirror,
    taskPool,
    holds,
    listings,
    health,
    leases: openLeases(),
    pools,
    balancers,
    wishes,
    poolsBoard,
    poolSummaries,
    poolChanges,
    /** Balancer jobs are released after the work under way has ended. */
    balancerLeases: openLeases(),
    statisticsLeases: openLeases(STATISTICS_RETRY_MS),
    rollLeases: openLeases(),
    certificateNotAfterMs: agents.notAfterMs,
  };
}

/** Agents report to other daemons; agents started here must trust those daemons' authority. */
async function noAgentServer(means: Means, ports: Ports): Promise<OpenedAgentServer> {
  const authority = await ports.readAuthority(means);
  return {
    server: {
      address: 'none',
      heard$: NEVER,
      isTakingIn: () => false,
      present: () => undefined,
      close: async () => undefined,
    },
    caCertificate: () => authority,
    notAfterMs: () => null,
    renewCertificate: async () => undefined,
  };
}

/** The same listings, whose results reach each provider's loop. */
function loopingListings(
  health: ListingHealth,
  providers: readonly ProviderName[],
  { loops, periodMs }: { readonly loops: Loops; readonly periodMs: number },
): Pick<ListingHealth, 'succeeded' | 'failed'> {
  const known = new Map(providers.map((name) => [name, loops.of(`listing ${name}`, periodMs)]));
  return {
    succeeded(name) {
      known.get(name)?.succeeded();
      return health.succeeded(name);
    },
    failed(name, error) {
      known.get(name)?.failed(error);
      return health.failed(name, error);
    },
  };
}

const PREPARE_MS = 30_000;

/** A refused token is a mistake to fix now; a provider that does not answer may come back. */
const prepareProviders = (
  providers: ReturnType<typeof openProviders>,
  { clock, log }: Means,
  works: boolean,
): Promise<void> =>
  withTimeLimit(clock, { ms: PREPARE_MS }, async (signal) => {
    for (const [name, provider] of providers) {
      try {
        await provider.prepare({ signal });
      } catch (error) {
        // A daemon that only shows machines works without the provider.
        if (works || !isProviderError(error)) requireMayComeBack(name, error, log);
        else log.warn({ provider: name, cause: explain(error) }, 'the provider is not ready');
      }
    }
  });

function requireMayComeBack(name: ProviderName, error: unknown, log: Log): void {
  // A foreign object is in our way: creations wait, recovery need not.
  if (isProviderError(error, 'conflict')) {
    log.error({ provider: name, cause: explain(error) }, 'the provider is not ready for creations');
    return;
  }
  if (isProviderError(error, 'transient', 'aborted')) {
    log.warn({ provider: name, cause: explain(error) }, 'the provider does not answer yet');
    return;
  }
  if (!isProviderError(error, 'auth')) throw error;
  const mend = `check its credentials, such as providers.${name}.token, and their rights`;
  throw new Denied(`provider ${name} refused our token; ${mend}`, { cause: error });
}
