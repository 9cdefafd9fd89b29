import { fromPromise } from 'xstate';
import { sleep } from '../../adapters/clock/port.ts';
import type { BmdbSession, Lease } from '../../adapters/bmdb/port.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { GONE, madeAs } from '../../domain/balancing/pool-row.ts';
import { resyncMs, retryMs, waitMs, HURRY_MS } from '../../domain/balancing/waiting.ts';
import { explain, RemoteFailure, Throttled } from '../../domain/errors.ts';
import { balancer } from '../../machines/balancer.ts';
import type { PoolPlace, PoolStanding } from '../../machines/balancer-setup.ts';
import { WRITES, tellPending, balancerJob, poolJob, type BalancingDeps } from './deps.ts';
import type { PoolService } from './pool-service.ts';
import { check, create, destroy, poll, recover } from './objects.ts';
import { stepAll } from './step-members.ts';

/** Interval of checks until the fleet is known. */
const KNOWN_MS = 500;

/** The chart of a pool at a balancer with its services, which work on the pool's desk. */
export function provideBalancer(deps: BalancingDeps, deskOf: (place: PoolPlace) => PoolService) {
  const { clock, random, log } = deps;
  type PoolStep<Output> = (
    deps: BalancingDeps,
    desk: PoolService,
    signal: AbortSignal,
  ) => Promise<Output>;
  const step = <Output>(act: PoolStep<Output>) =>
    fromPromise<Output, PoolPlace>(({ input, signal }) => act(deps, deskOf(input), signal));
  return balancer.provide({
    actors: {
      takeLease: step(takeLease),
      observe: step<void>(async (_, desk, signal) => void (await desk.look(signal))),
      check: step(check),
      recover: step(recover),
      destroy: step(destroy),
      create: step(create),
      poll: fromPromise(
        ({ input, signal }: { input: PoolPlace & { looks: number }; signal: AbortSignal }) =>
          poll(deps, deskOf(input), { looks: input.looks, signal }),
      ),
      stepMembers: step(stepAll),
    },
    actions: {
      reportSettled: (_, { generation, ...place }) => {
        const desk = deskOf(place);
        const isComplete = desk.plan?.isComplete === true;
        endRun(deps, desk);
        const reason = isComplete ? null : whyIncomplete(desk);
        const settled = isComplete ? ({ settled: true } as const) : {};
        const state = isComplete && isGone(desk) ? GONE : 'settled';
        const patch = { state, generation, failures: 0, retryInMs: null, reason };
        writeNote(deps, desk, { ...patch, ...settled, observed: true });
      },
      reportFailure: (_, { error, failures, ...place }) => {
        const desk = deskOf(place);
        endRun(deps, desk);
        tellPending(deps, desk, { create: 0, destroy: 0 });
        const cause = explain(error);
        log.warn({ ...place, failures, cause }, 'the pool is retried later');
        // The next daemon starts at once, except for a pause that the balancer requested.
        const retryInMs = throttledMs(error, clock.now());
        writeNote(deps, desk, { state: 'failed', failures, retryInMs, reason: cause });
      },
      reportStepFailure: (_, { error, ...place }) =>
        log.warn(
          { ...place, err: error },
          'members of the pool could not take their next step yet',
        ),
    },
    delays: {
      wait: ({ context }) => waitMs(context.looks, random.next()),
      resync: ({ context }) => Math.min(context.againMs ?? Infinity, resyncMs(random.next())),
      retry: ({ context }) => {
        const { failures, retryAtMs, isHurried } = context;
        if (isHurried) return HURRY_MS;
        return retryMs(failures, retryAtMs === null ? null : retryAtMs - clock.now());
      },
    },
  });
}

/** Waits for the job and for a known fleet, then reads the rows of the previous daemon. */
async function takeLease(
  deps: BalancingDeps,
  desk: PoolService,
  signal: AbortSignal,
): Promise<PoolStanding> {
  const { clock, keeper, leases, mirror, isKnown } = deps;
  const ends = AbortSignal.any([signal, keeper.require().signal]);
  while (!isKnown()) await sleep(clock, KNOWN_MS, ends);
  const lease = await leases.take(balancerJob(desk.name.balancer), ends);
  await leases.take(poolJob(desk.name), ends);
  desk.lease();
  desk.forgetAll();
  const { machines } = await mirror.readFleet(ends);
  for (const { members } of machines) {
    for (const row of members) {
      const { pool, balancer: at } = row;
      if (pool === desk.name.pool && at === desk.name.balancer) desk.rows.set(row.machineId, row);
    }
  }
  await requireSameMark(deps, desk, lease);
  const note = { state: 'retrieving', madeAs: madeAs(desk.pool) };
  await deps.keeper.require().balancing.note(lease, desk.name, note);
  for (const counter of WRITES) deps.metrics.count(counter, desk.labels, 0);
  tellPending(deps, desk, { create: 0, destroy: 0 });
  deps.metrics.set('shepherd_lb_frozen', desk.labels, 0);
  // Must be last: otherwise the chart would hear twice of a pause that comes meanwhile.
  const { failures, generation, retryAtMs, paused, frozen } = desk.standing();
  desk.frozenAs = frozen?.snapshot ?? null;
  return { failures, generation, retryAtMs, isPaused: paused !== null };
}

/** Records the crash of the pool's actor for people; nothing else reports it until the restart. */
export const noteCrash = (deps: BalancingDeps, desk: PoolService, error: unknown): void =>
  writeNote(deps, desk, { state: 'failed', reason: `its actor crashed: ${explain(error)}` });

/**
 * Refuses to manage a pool whose objects have an old uid or fleet: they would serve machines that we
 * let be interrupted. @throws {RemoteFailure} such members exist.
 */
async function requireSameMark(
  deps: BalancingDeps,
  desk: PoolService,
  lease: Lease,
): Promise<void> {
  const before = desk.standing().madeAs;
  const now = madeAs(desk.pool);
  if (before === null || before === now || ![...desk.rows.values()].some(mayServe)) return;
  const reason =
    `its members serve under ${before}, but the configuration says ${now}: restore uid and fleet, ` +
    'and tear it down before they change; or remove it from the configuration, and let ' +
    '"shepherd lb forget" remove its records, while its objects at the balancer continue to serve';
  await deps.keeper.require().balancing.note(lease, desk.name, { state: 'failed', reason });
  throw new RemoteFailure(`pool ${desk.name.pool} cannot be managed: ${reason}`);
}

/** Writes a note for people and the next daemon. A failed write is repeated next time. */
function writeNote(
  deps: BalancingDeps,
  desk: PoolService,
  patch: Parameters<BmdbSession['balancing']['note']>[2],
): void {
  const write = async () => deps.keeper.require().balancing.note(desk.lease(), desk.name, patch);
  write().catch((error: unknown) => {
    const fields = { ...desk.name, cause: explain(error) };
    deps.log.warn(fields, 'the state of the pool could not be recorded');
  });
}

function endRun({ clock, metrics }: BalancingDeps, desk: PoolService): void {
  if (desk.runBeganAtMs !== null) {
    metrics.observe(
      'shepherd_lb_reconcile_total_duration_seconds',
      desk.labels,
      (clock.monotonic() - desk.runBeganAtMs) / 1_000,
    );
  }
  desk.runBeganAtMs = null;
  desk.cycles = 0;
}

/** The pool was torn down, and the last look found nothing of it. */
const isGone = (desk: PoolService): boolean =>
  desk.standing().tornDown !== null && desk.seen()?.objects.length === 0;

function whyIncomplete({ plan, alarms }: PoolService): string | null {
  if (alarms.members || alarms.objects) return 'it is frozen: too many members would leave at once';
  if (!plan) return null;
  if (plan.shelved.length > 0) return `given up for a while: ${plan.shelved.join(', ')}`;
  return plan.isComplete ? null : 'some objects are not ready, or failed';
}

const throttledMs = (error: unknown, clockMs: number): number | null =>
  error instanceof Throttled ? Math.max(0, error.retryAtMs - clockMs) : null;
