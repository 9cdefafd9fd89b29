import { hostname } from 'node:os';
import { Subject } from 'rxjs';
import { createBoard, type BoardChange } from '../actors/board.ts';
import { createDesk } from '../actors/turns/desk.ts';
import { createLeases } from '../actors/provisioning/leases.ts';
import { createGuardWatch } from '../actors/guard/watch.ts';
import { createListingHealth } from '../actors/providers/listing-health.ts';
import { createListings, withListings } from '../actors/providers/listings.ts';
import { createMirror, type Mirror } from '../actors/mirror/mirror.ts';
import { createPermitQueue } from '../actors/turns/permit-queue.ts';
import { createHoldKeeper } from '../actors/providers/holds.ts';
import { createSessionKeeper } from '../actors/session-keeper.ts';
import type { Log } from '../adapters/log/port.ts';
import { lossPolicyOf } from '../config.ts';
import { Denied, explain, isProviderError } from '../domain/errors.ts';
import { agentFiles, openAgentServer, openBmdb, openShell, type Means } from './adapters.ts';
import { guardPolicyOf } from './guard-policy.ts';
import { openProviders } from './providers.ts';

/** A listing answers for the moment if it is not older. */
const LISTING_AGE_MAX_MS = 30_000;
/** Machines given back at once; their long waits occupy nothing. */
const DEPROVISIONS_AT_ONCE = 10;

/** Everything a daemon is made of, but the supervisor and the console. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens the parts from the leaves up; the closer of `means` closes them again.
 * @throws {FleetError} what is wrong with configuration, database, provider or port.
 */
export async function openParts(means: Means) {
  const { config, tuning, clock, log, metrics } = means;
  const files = await agentFiles(config);
  const { keys, shell, renewKeys } = await openShell(means);
  // Before the first read of the database this daemon knows of no other.
  let daemons = () => 1;
  const providers = openProviders(means, keys, () => daemons());
  const bmdb = await openBmdb(means);
  await prepareProviders(providers, log);
  const keeper = createSessionKeeper({
    bmdb,
    component: 'shepherd',
    runtimeInfo: `host ${hostname() || 'UNKNOWN'}`,
    log: log.child({ component: 'session' }),
  });
  const isReady = () => keeper.current() !== null;
  const { server, protocol, certificate } = await openAgentServer(means, bmdb.heartbeats, isReady);
  const changes = new Subject<BoardChange>();
  const board = createBoard({ nowMs: () => mirror.nowMs(), metrics, changes });
  const watch = createGuardWatch({
    policy: guardPolicyOf(config, means.tuning),
    heartbeatMs: lossPolicyOf(config).heartbeatMs,
    nowMs: () => mirror.nowMs(),
    clock,
    metrics,
    log: log.child({ component: 'guard' }),
    onChange: () => {
      permits.reconsider();
      guardChanges.next();
    },
  });
  const guardChanges = new Subject<void>();
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
    maxAgeMs: Math.min(LISTING_AGE_MAX_MS, config.mirror.listInterval / 2),
  });
  const mirror: Mirror = createMirror({
    bmdb,
    providers: new Map(
      [...providers].map(([name, provider]) => [name, withListings(provider, listings)]),
    ),
    heard$: server.heard$,
    loss: lossPolicyOf(config),
    scanMs: config.mirror.scanInterval,
    scanGapMs: tuning.scanGapMs,
    // Sessions die without a wake, so changes are asked for even where wakes come.
    pollMs: config.mirror.pollInterval,
    listMs: config.mirror.listInterval,
    clock,
    random: means.random,
    log: log.child({ component: 'mirror' }),
    onFacts: permits.offer,
    onView: board.onView,
    onVanished: board.onVanished,
  });
  daemons = () => Math.max(1, mirror.sessions().length);
  const leases = createLeases({
    keeper,
    clock,
    random: means.random,
    log: log.child({ component: 'leases' }),
    retryMs: tuning.leaseRetryMs,
  });
  const desk = createDesk({
    places: {
      agentStart: config.initializer.loopParallelism,
      recovery: config.recoverer.loopParallelism,
      deprovision: DEPROVISIONS_AT_ONCE,
    },
    unusedMs: tuning.turnUnusedMs,
    clock,
    log: log.child({ component: 'desk' }),
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
    certificate,
    changes,
    board,
    permits,
    watch,
    guardChanges,
    mirror,
    desk,
    holds,
    listings,
    health,
    leases,
  };
}

/** A refused token is a mistake to be mended now; a provider that does not answer may come back. */
async function prepareProviders(
  providers: ReturnType<typeof openProviders>,
  log: Log,
): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  for (const [name, provider] of providers) {
    try {
      await provider.prepare({ signal });
    } catch (error) {
      if (isProviderError(error, 'transient', 'aborted')) {
        log.warn({ provider: name, cause: explain(error) }, 'the provider does not answer yet');
      } else if (isProviderError(error, 'auth')) {
        const mend = `check its credentials, such as providers.${name}.token, and what they are for`;
        throw new Denied(`provider ${name} refused our token; ${mend}`, { cause: error });
      } else {
        throw error;
      }
    }
  }
}
