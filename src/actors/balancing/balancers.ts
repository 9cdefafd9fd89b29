import { createActor, fromCallback, type InspectionEvent } from 'xstate';
import { explain } from '../../domain/errors.ts';
import type { MemberState } from '../../domain/balancing/members.ts';
import { POOL_STATES } from '../../domain/balancing/pool-states.ts';
import type { BalancerContext } from '../../machines/balancer-setup.ts';
import type { FleetEvent } from '../../machines/fleet.ts';
import type { OpenPoolsBoard } from './board.ts';
import type { BalancingDeps } from './deps.ts';
import { createDesk, type PoolDesk } from './desk.ts';
import { provideBalancer } from './services.ts';

export interface BalancersDeps extends BalancingDeps {
  readonly board: OpenPoolsBoard;
  /** Calls back when pools stand differently in the database; returns how to end that. */
  readonly onPools: (callback: () => void) => () => void;
  /** Observer of the actor systems of pools; undefined costs nothing. */
  readonly inspect?: ((event: InspectionEvent) => void) | undefined;
}

/**
 * One root actor for each pool at each of its balancers, while a session is alive. What is at the
 * balancers stays when they end. Without pools nothing is done at all.
 */
export function balancers(deps: BalancersDeps) {
  return fromCallback<FleetEvent, void>(({ sendBack }) => {
    const stopping = new AbortController();
    const tended = placesOf(deps).map((place) => tend(deps, place, stopping.signal, sendBack));
    return () => {
      for (const { stop } of tended) stop();
      stopping.abort();
      void Promise.all(tended.map(({ desk }) => desk.idle())).then(() => deps.leases.releaseAll());
    };
  });
}

const placesOf = ({ pools, balancers: open }: BalancingDeps) =>
  pools.flatMap((pool) =>
    pool.balancers.flatMap((name) => {
      const found = open.get(name);
      return found ? [{ pool, open: found }] : [];
    }),
  );

function tend(
  deps: BalancersDeps,
  { pool, open }: ReturnType<typeof placesOf>[number],
  stopping: AbortSignal,
  sendBack: (event: FleetEvent) => void,
): { readonly desk: PoolDesk; readonly stop: () => void } {
  const { clock, log, inspect, board } = deps;
  const desk = createDesk(deps, pool, open, stopping);
  const name = { pool: pool.pool, balancer: open.name };
  const ref = createActor(
    provideBalancer(deps, () => desk),
    {
      id: `balancer-${name.balancer}-${name.pool}`,
      clock,
      input: name,
      ...(inspect && { inspect }),
    },
  );
  ref.subscribe({
    next: ({ value, context }) => show(deps, desk, value, context),
    error: (error) => {
      log.error({ ...name, cause: explain(error) }, 'the actor of a pool crashed');
      sendBack({ type: 'service.crashed', error });
    },
  });
  let isPaused = desk.standing().paused !== null;
  const tellStanding = () => {
    const { paused } = desk.standing();
    if ((paused !== null) !== isPaused) {
      // Somebody may have worked at the balancer meanwhile.
      desk.distrust();
      ref.send({ type: paused ? 'pool.pause' : 'pool.resume' });
    }
    isPaused = paused !== null;
    ref.send({ type: 'members.changed' });
  };
  const unsubscribe = [
    deps.wishes.onChange(pool.pool, () => ref.send({ type: 'members.changed' })),
    deps.onPools(tellStanding),
  ];
  board.put(desk);
  ref.start();
  return {
    desk,
    stop() {
      for (const end of unsubscribe) end();
      ref.stop();
      board.remove(desk);
      deps.metrics.poolLeft(desk.labels);
    },
  };
}

/** Keeps what the daemon shows of the pool. */
function show(
  { nowMs, metrics }: BalancersDeps,
  desk: PoolDesk,
  value: unknown,
  { generation }: BalancerContext,
): void {
  const state = stateOf(value);
  const isSame = desk.shown.state === state;
  desk.shown = { state, sinceMs: isSame ? desk.shown.sinceMs : nowMs(), generation };
  const members: Partial<Record<MemberState, number>> = {};
  for (const row of desk.rows.values()) members[row.state] = (members[row.state] ?? 0) + 1;
  const known = POOL_STATES.find((each) => each === state);
  if (!known) return;
  const { frozen, settledAtMs } = desk.standing();
  const figures = { state: known, isFrozen: frozen !== null, settledAtMs, members };
  metrics.poolStanding(desk.labels, figures);
}

/** The state of the objects, while the pool is tended; else that of the whole. */
function stateOf(value: unknown): string {
  let at = value;
  while (typeof at === 'object' && at !== null) {
    const inner = at as Readonly<Record<string, unknown>>;
    if ('waiting' in inner) return 'waiting';
    at = inner['tending'] ?? inner['objects'] ?? Object.values(inner)[0];
  }
  return String(at);
}
