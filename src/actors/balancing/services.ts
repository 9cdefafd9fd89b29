import { fromPromise } from 'xstate';
import { sleep } from '../../adapters/clock/port.ts';
import type { BmdbSession, Lease } from '../../adapters/bmdb/port.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { GONE, madeAs } from '../../domain/balancing/pool-row.ts';
import { resyncMs, retryMs, waitMs, HURRY_MS } from '../../domain/balancing/waiting.ts';
import { explain, RemoteFailure, Throttled } from '../../domain/errors.ts';
import { balancer } from '../../machines/balancer.ts';
import type { BalancedPool, PoolStatus } from '../../machines/balancer-setup.ts';
import { WRITES, tellPending, balancerJob, poolJob, type BalancingDeps } from './deps.ts';
import type { PoolService } from './pool-service.ts';
import { check, create, destroy, poll, recover } from './objects.ts';
import { stepAll } from './step-members.ts';

/** Interval of checks until the fleet is known. */
const KNOWN_MS = 500;

/** The chart of a pool at a balancer with its services, which work on its `PoolService`. */
export function provideBalancer(
  deps: BalancingDeps,
  serviceOf: (place: BalancedPool) => PoolService,
) {
  const { clock, random, log } = deps;
  type PoolStep<Output> = (
    deps: BalancingDeps,
    service: PoolService,
    signal: AbortSignal,
  ) => Promise<Output>;
  const step = <Output>(act: PoolStep<Output>) =>
    fromPromise<Output, BalancedPool>(({ input, signal }) => act(deps, serviceOf(input), signal));
  return balancer.provide({
    actors: {
      takeLease: step(takeLease),
      observe: step<void>(async (_, service, signal) => void (await service.look(signal))),
      check: step(check),
      recover: step(recover),
      destroy: step(destroy),
      create: step(create),
      poll: fromPromise(
        ({ input, signal }: { input: BalancedPool & { looks: number }; signal: AbortSignal }) =>
          poll(deps, serviceOf(input), { looks: input.looks, signal }),
      ),
      stepMembers: step(stepAll),
    },
    actions: {
      reportSettled: (_, { generation, ...place }) => {
        const service = serviceOf(place);
        const isComplete = service.plan?.isComplete === true;
        endRun(deps, service);
        const reason = isComplete ? null : whyIncomplete(service);
        const settled = isComplete ? ({ settled: true } as const) : {};
        const state = isComplete && isGone(service) ? GONE : 'settled';
        const patch = { state, generation, failures: 0, retryInMs: null, reason };
        writeNote(deps, service, { ...patch, ...settled, observed: true });
      },
      reportFailure: (_, { error, failures, ...place }) => {
        const service = serviceOf(place);
        endRun(deps, service);
        tellPending(deps, service, { create: 0, destroy: 0 });
        const cause = explain(error);
        log.warn({ ...place, failures, cause }, 'the pool is retried later');
        // The next daemon starts at once, except for a pause that the balancer requested.
        const retryInMs = throttledMs(error, clock.now());
        writeNote(deps, service, { state: 'failed', failures, retryInMs, reason: cause });
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
  service: PoolService,
  signal: AbortSignal,
): Promise<PoolStatus> {
  const { clock, keeper, leases, mirror, isKnown } = deps;
  const ends = AbortSignal.any([signal, keeper.require().signal]);
  while (!isKnown()) await sleep(clock, KNOWN_MS, ends);
  const lease = await leases.take(balancerJob(service.name.balancer), ends);
  await leases.take(poolJob(service.name), ends);
  service.lease();
  service.forgetAll();
  const { machines } = await mirror.readFleet(ends);
  for (const { members } of machines) {
    for (const row of members) {
      const { pool, balancer: at } = row;
      if (pool === service.name.pool && at === service.name.balancer)
        service.rows.set(row.machineId, row);
    }
  }
  await requireSameMark(deps, service, lease);
  const note = { state: 'retrieving', madeAs: madeAs(service.pool) };
  await deps.keeper.require().balancing.note(lease, service.name, note);
  for (const counter of WRITES) deps.metrics.count(counter, service.labels, 0);
  tellPending(deps, service, { create: 0, destroy: 0 });
  deps.metrics.set('shepherd_lb_frozen', service.labels, 0);
  // Must be last: otherwise the chart would hear twice of a pause that comes meanwhile.
  const { failures, generation, retryAtMs, paused, frozen } = service.standing();
  service.frozenAs = frozen?.snapshot ?? null;
  return { failures, generation, retryAtMs, isPaused: paused !== null };
}

/** Records the crash of the pool's actor for people; nothing else reports it until the restart. */
export const noteCrash = (deps: BalancingDeps, service: PoolService, error: unknown): void =>
  writeNote(deps, service, { state: 'failed', reason: `its actor crashed: ${explain(error)}` });

/**
 * Refuses to manage a pool whose objects have an old uid or fleet: they would serve machines that we
 * let be interrupted. @throws {RemoteFailure} such members exist.
 */
async function requireSameMark(
  deps: BalancingDeps,
  service: PoolService,
  lease: Lease,
): Promise<void> {
  const before = service.standing().madeAs;
  const now = madeAs(service.pool);
  if (before === null || before === now || ![...service.rows.values()].some(mayServe)) return;
  const reason =
    `its members serve under ${before}, but the configuration says ${now}: restore uid and fleet, ` +
    'and tear it down before they change; or remove it from the configuration, and let ' +
    '"shepherd lb forget" remove its records, while its objects at the balancer continue to serve';
  await deps.keeper.require().balancing.note(lease, service.name, { state: 'failed', reason });
  throw new RemoteFailure(`pool ${service.name.pool} cannot be managed: ${reason}`);
}

/** Writes a note for people and the next daemon. A failed write is repeated next time. */
function writeNote(
  deps: BalancingDeps,
  service: PoolService,
  patch: Parameters<BmdbSession['balancing']['note']>[2],
): void {
  const write = async () =>
    deps.keeper.require().balancing.note(service.lease(), service.name, patch);
  write().catch((error: unknown) => {
    const fields = { ...service.name, cause: explain(error) };
    deps.log.warn(fields, 'the state of the pool could not be recorded');
  });
}

function endRun({ clock, metrics }: BalancingDeps, service: PoolService): void {
  if (service.runBeganAtMs !== null) {
    metrics.observe(
      'shepherd_lb_reconcile_total_duration_seconds',
      service.labels,
      (clock.monotonic() - service.runBeganAtMs) / 1_000,
    );
  }
  service.runBeganAtMs = null;
  service.cycles = 0;
}

/** The pool was torn down, and the last look found nothing of it. */
const isGone = (service: PoolService): boolean =>
  service.standing().tornDown !== null && service.seen()?.objects.length === 0;

function whyIncomplete({ plan, alarms }: PoolService): string | null {
  if (alarms.members || alarms.objects) return 'it is frozen: too many members would leave at once';
  if (!plan) return null;
  if (plan.shelved.length > 0) return `given up for a while: ${plan.shelved.join(', ')}`;
  return plan.isComplete ? null : 'some objects are not ready, or failed';
}

const throttledMs = (error: unknown, clockMs: number): number | null =>
  error instanceof Throttled ? Math.max(0, error.retryAtMs - clockMs) : null;
