import { createActor, fromCallback, type InspectionEvent } from 'xstate';
import { MEMBER_STATES } from '../../domain/balancing/members.ts';
import { POOL_STATES } from '../../domain/balancing/pool-row.ts';
import type { Pool } from '../../domain/balancing/pools.ts';
import type { FleetEvent } from '../../machines/fleet.ts';
import type { PoolsState } from './pools-state.ts';
import type { BalancingDeps, OpenBalancer } from './deps.ts';
import { createPoolService, type PoolService } from './pool-service.ts';
import { noteCrash, provideBalancer } from './services.ts';

export interface BalancersDeps extends BalancingDeps {
  readonly board: PoolsState;
  /** Calls back when pool rows change; returns an unsubscribe function. */
  readonly onPools: (callback: () => void) => () => void;
  /** Observer of the actor systems of pools; undefined adds no cost. */
  readonly inspect?: ((event: InspectionEvent) => void) | undefined;
}

/**
 * Runs one root actor per pool and balancer while a session is alive. Objects at the balancers stay
 * when the actors end. Without pools it does nothing.
 */
export function balancers(deps: BalancersDeps) {
  return fromCallback<FleetEvent, void>(() => {
    const session = deps.keeper.current();
    const tended = placesOf(deps).map((place) => tendAlways(deps, place));
    return () => {
      for (const { stop } of tended) stop();
      // A newer session that took the jobs meanwhile keeps them.
      const idle = Promise.all(tended.map((each) => each.idle()));
      void idle.then(() => deps.leases.releaseAll(session));
    };
  });
}

interface PoolBalancer {
  readonly pool: Pool;
  readonly open: OpenBalancer;
}

const placesOf = ({ pools, balancers: open }: BalancingDeps): readonly PoolBalancer[] =>
  pools.flatMap((pool) =>
    pool.balancers.flatMap((name) => {
      const found = open.get(name);
      return found ? [{ pool, open: found }] : [];
    }),
  );

const RESPAWN_FIRST_MS = 1_000;
const RESPAWN_MAX_MS = 300_000;

interface Tended {
  /** Resolves when all work under way has ended. */
  idle(): Promise<unknown>;
  stop(): void;
}

/**
 * Manages a pool at a balancer. Restarts a crashed actor with a growing pause, after all of its work
 * has ended; other pools are not affected. After a long life, the pause is the first one again.
 */
function tendAlways(deps: BalancersDeps, place: PoolBalancer): Tended {
  const { clock, log, metrics } = deps;
  let crashes = 0;
  let timer: unknown;
  let isOver = false;
  let idle: Promise<unknown> = Promise.resolve();
  const begin = (): Tended => {
    const beganMs = clock.monotonic();
    return tend(deps, place, (error, service) => {
      crashes = clock.monotonic() - beganMs > RESPAWN_MAX_MS ? 1 : crashes + 1;
      const waitMs = Math.min(RESPAWN_MAX_MS, RESPAWN_FIRST_MS * 2 ** Math.min(crashes - 1, 20));
      log.error({ ...service.name, err: error, crashes, waitMs }, CRASHED);
      metrics.count('shepherd_service_crashes_total', { service: 'pool' });
      noteCrash(deps, service, error);
      now.stop();
      idle = service.idle().then(() => {
        if (!isOver) timer = clock.setTimeout(() => void (now = begin()), waitMs);
      });
    });
  };
  let now = begin();
  return {
    idle: () => Promise.all([idle, now.idle()]),
    stop() {
      isOver = true;
      clock.clearTimeout(timer);
      now.stop();
    },
  };
}

const CRASHED =
  'the actor of a pool crashed; it restarts after a growing pause, and other pools continue';

function tend(
  deps: BalancersDeps,
  { pool, open }: PoolBalancer,
  onCrash: (error: unknown, service: PoolService) => void,
): Tended {
  const { clock, inspect, board } = deps;
  const stopping = new AbortController();
  const service = createPoolService(deps, pool, open, stopping.signal);
  const name = { pool: pool.pool, balancer: open.name };
  const ref = createActor(
    provideBalancer(deps, () => service),
    {
      id: `balancer-${name.balancer}-${name.pool}`,
      clock,
      input: name,
      ...(inspect && { inspect }),
    },
  );
  ref.subscribe({
    next: ({ value }) => show(deps, service, value),
    error: (error) => onCrash(error, service),
  });
  let isPaused = service.standing().paused !== null;
  const tellStanding = () => {
    const { paused } = service.standing();
    if ((paused !== null) !== isPaused) {
      // Other processes may have changed the balancer meanwhile.
      service.distrust();
      ref.send({ type: paused ? 'pool.pause' : 'pool.resume' });
    }
    isPaused = paused !== null;
    ref.send({ type: 'members.changed' });
  };
  const unsubscribe = [
    deps.wishes.onChange(pool.pool, () => ref.send({ type: 'members.changed' })),
    deps.onPools(tellStanding),
  ];
  board.put(service);
  ref.start();
  return {
    idle: service.idle,
    stop() {
      for (const end of unsubscribe) end();
      ref.stop();
      // XState leaves the services of a crashed actor running.
      stopping.abort();
      board.remove(service);
      for (const gauge of POOL_GAUGES) deps.metrics.clear(gauge, service.labels);
    },
  };
}

/** Updates the daemon's public state of the pool. */
function show({ metrics }: BalancersDeps, service: PoolService, value: unknown): void {
  const state = stateOf(value);
  service.state = state;
  if (!POOL_STATES.some((each) => each === state)) return;
  const { labels, rows } = service;
  const { frozen, settledAtMs } = service.standing();
  for (const each of POOL_STATES) {
    metrics.set('shepherd_lb_state', { ...labels, state: each }, each === state ? 1 : 0);
  }
  for (const each of MEMBER_STATES) {
    const count = [...rows.values()].filter((row) => row.state === each).length;
    metrics.set('shepherd_lb_members', { ...labels, state: each }, count);
  }
  metrics.set('shepherd_lb_frozen', labels, frozen === null ? 0 : 1);
  if (settledAtMs === null) return;
  metrics.set('shepherd_lb_last_settled_timestamp_seconds', labels, settledAtMs / 1_000);
}

/** Gauges that are removed with the pool, so that nobody sums outdated values. */
const POOL_GAUGES = [
  'shepherd_lb_reconcile_resources_pending',
  'shepherd_lb_state',
  'shepherd_lb_members',
  'shepherd_lb_frozen',
  'shepherd_lb_last_settled_timestamp_seconds',
] as const;

/** The state of the objects while the pool is managed, else the state of the whole chart. */
function stateOf(value: unknown): string {
  let at = value;
  while (typeof at === 'object' && at !== null) {
    const inner = at as Readonly<Record<string, unknown>>;
    if ('waiting' in inner) return 'waiting';
    at = inner['tending'] ?? inner['objects'] ?? Object.values(inner)[0];
  }
  return String(at);
}
