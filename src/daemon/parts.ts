import { Subject } from 'rxjs';
import { createBoard, type BoardChange } from '../actors/board.ts';
import { createTaskPool } from '../actors/turns/task-pool.ts';
import { createPoolsBoard } from '../actors/balancing/board.ts';
import { createWishBook } from '../actors/balancing/wishes.ts';
import { createLeases } from '../actors/leases.ts';
import { createGuardWatch } from '../actors/guard/watch.ts';
import { createListingHealth } from '../actors/providers/listing-health.ts';
import { createListings, withListings } from '../actors/providers/listings.ts';
import { createMirror, type Mirror } from '../actors/mirror/mirror.ts';
import { createPermitQueue } from '../actors/turns/permit-queue.ts';
import { createHoldKeeper } from '../actors/providers/holds.ts';
import { createSessionKeeper } from '../actors/session-keeper.ts';
import { createTakeoverProtocol } from '../adapters/agents/takeover-protocol.ts';
import type { Log } from '../adapters/log/port.ts';
import { lossPolicyOf, poolsOf } from '../config.ts';
import { Denied, explain, isProviderError } from '../domain/errors.ts';
import type { ProviderName } from '../domain/ids.ts';
import { guardPolicyOf } from './guard-policy.ts';
import { openBalancers } from './balancers.ts';
import type { Means, Ports } from './ports.ts';
import { createPoolsView } from './pools-view.ts';
import { openProviders } from './providers.ts';
import { watchStrangePools } from './strange-pools.ts';
import { withTimeLimit } from './time-limit.ts';

/** A listing answers for the moment if it is not older. */
const LISTING_AGE_MAX_MS = 30_000;
/**
 * So much of the period is the age limit: whoever else lists as often shares the mirror's listings,
 * and the mirror's next one is due a little late or early.
 */
const LISTING_AGE_SHARE = 0.9;
/** Machines given back at once; their long waits occupy nothing. */
const DEPROVISIONS_AT_ONCE = 10;

/** Everything a daemon is made of, but the supervisor and the console. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens the parts from the leaves up; the closer of `means` closes them again.
 * @throws {FleetError} what is wrong with configuration, database, provider or port.
 */
export async function openParts(means: Means, ports: Ports) {
  const { config, tuning, clock, log, metrics } = means;
  const guardPolicy = guardPolicyOf(config, tuning);
  const { ladderResetMs, handOutMs, escalation } = tuning;
  const loss = { ...lossPolicyOf(config), ladderResetMs, handOutMs, escalation };
  const files = await ports.loadAgent(config);
  const { keys, shell, renewKeys } = await ports.openShell(means);
  // Before the first read of the database this daemon knows of no other.
  let daemons = () => 1;
  const providers = openProviders(means, {
    keys,
    drivers: ports.drivers,
    daemons: () => daemons(),
  });
  const bmdb = await ports.openBmdb(means, { loss, budget: config.guard, guard: guardPolicy });
  await prepareProviders(providers, means);
  const pools = poolsOf(config);
  const balancers = openBalancers(means, ports.balancerDrivers);
  const keeper = createSessionKeeper({
    bmdb,
    component: 'shepherd',
    runtimeInfo: `host ${ports.hostname}`,
    log: log.child({ component: 'session' }),
  });
  const isReady = () => keeper.current() !== null;
  const agents = await ports.openAgentServer(means, { store: bmdb.heartbeats, isReady });
  const { server, caCertificate, renewCertificate } = agents;
  means.closer.add('agent server', () => server.close(tuning.agentServerGraceMs));
  const endpoint = config.agent.endpoint ?? server.address;
  const protocol = createTakeoverProtocol({ endpoint, caCertificate });
  const changes = new Subject<BoardChange>();
  const board = createBoard({ nowMs: () => mirror.nowMs(), metrics, changes });
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
  const permits = createPermitQueue({ budget: config.guard, barOf: watch.barOf });
  const holds = createHoldKeeper({
    book: bmdb.providerHolds,
    rows: () => mirror.providerHolds(),
    nowMs: () => mirror.nowMs(),
    clock,
    log: log.child({ component: 'provider holds' }),
  });
  const health = createListingHealth({
    book: bmdb.listings,
    keeper,
    nowMs: () => mirror.nowMs(),
    log: log.child({ component: 'listings' }),
    onChange: () => guardChanges.next(),
  });
  const listings = createListings({
    providers,
    holds,
    health,
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
    scanMs: config.mirror.scanInterval,
    scanGapMs: tuning.scanGapMs,
    // Sessions die without a wake, so changes are asked for even where wakes come.
    pollMs: config.mirror.pollInterval,
    listMs: config.mirror.listInterval,
    clock,
    scheduler: ports.scheduler,
    random: means.random,
    log: log.child({ component: 'mirror' }),
    onFacts: (facts, changed) => {
      permits.offer(facts, changed);
      wishes.onFacts(facts, changed);
      poolsView.onFacts(facts, changed);
      tellStrangePools();
    },
    onView: (view) => {
      board.onView(view);
      wishes.onView(view);
    },
    onVanished: (slot) => {
      board.onVanished(slot);
      wishes.onVanished(slot);
    },
    onPools: () => poolChanges.next(),
  });
  const wishes = createWishBook({
    pools,
    facts: mirror.facts,
    viewOf: (slot) => board.entries.get(slot)?.view,
    moment: () => ({ nowMs: mirror.nowMs(), loss, standings: watch.view().standings }),
    clock,
  });
  means.closer.add('wishes', () => wishes.stop());
  const poolsBoard = createPoolsBoard();
  const poolsView = createPoolsView({
    pools,
    balancers: config.balancers,
    mirror,
    board: poolsBoard,
    poolChanges$: poolChanges,
  });
  const tellStrangePools = watchStrangePools({
    pools,
    mirror,
    log: log.child({ component: 'balancing' }),
  });
  daemons = () => Math.max(1, mirror.sessions().length);
  const openLeases = () =>
    createLeases({
      keeper,
      holderOf: (job) => mirror.leases().find(({ name }) => name === job)?.sessionId ?? null,
      clock,
      random: means.random,
      log: log.child({ component: 'leases' }),
      retryMs: tuning.leaseRetryMs,
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
    files,
    shell,
    renewKeys,
    providers,
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
    poolsView,
    poolChanges,
    /** Jobs of balancers are given back when what is under way at them has ended. */
    balancerLeases: openLeases(),
  };
}

const PREPARE_MS = 30_000;

/** A refused token is a mistake to be mended now; a provider that does not answer may come back. */
const prepareProviders = (
  providers: ReturnType<typeof openProviders>,
  { clock, log }: Means,
): Promise<void> =>
  withTimeLimit(clock, PREPARE_MS, async (signal) => {
    for (const [name, provider] of providers) {
      try {
        await provider.prepare({ signal });
      } catch (error) {
        requireMayComeBack(name, error, log);
      }
    }
  });

function requireMayComeBack(name: ProviderName, error: unknown, log: Log): void {
  if (isProviderError(error, 'transient', 'aborted')) {
    log.warn({ provider: name, cause: explain(error) }, 'the provider does not answer yet');
    return;
  }
  if (!isProviderError(error, 'auth')) throw error;
  const mend = `check its credentials, such as providers.${name}.token, and what they are for`;
  throw new Denied(`provider ${name} refused our token; ${mend}`, { cause: error });
}
