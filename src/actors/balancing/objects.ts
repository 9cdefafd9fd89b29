import pLimit from 'p-limit';
import { machineOf } from '../../domain/balancing/desired.ts';
import { keyOf, type Observed, type Phase, type Ref } from '../../domain/balancing/objects.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/pool-row.ts';
import {
  planOf,
  type Action,
  type PlanInput,
  type PoolStage,
  changeKey,
  changeText,
  forgetOld,
  refusedAgain,
} from '../../domain/balancing/plan.ts';
import { callRefused } from '../../domain/balancing/member-readings.ts';
import { NO_TROUBLE, recovered, replaced } from '../../domain/balancing/matches.ts';
import { WAIT } from '../../domain/balancing/waiting.ts';
import { codeOf, explain, RemoteFailure, TimedOut } from '../../domain/errors.ts';
import type { Checked, Polled } from '../../machines/balancer-setup.ts';
import { tellPending, type BalancingDeps } from './deps.ts';
import { carryOut, type Made } from './carry-out.ts';
import type { Changed, PoolService } from './pool-service.ts';
import { PASSING, settleAlarm } from './step-members.ts';

/** A run is given up after this many rounds or this long. */
const CYCLES_MAX = 20;
const RUN_MS = 30 * 60_000;
/** An object whose wait timed out holds up nothing for this long. */
const STUCK_MS = 30 * 60_000;
const REFRESHES_AT_ONCE = 4;

/** In these stages, deletions depend on object contents or on large losses. */
const NEEDS_FULL_LOOK: ReadonlySet<PoolStage> = new Set(['frozen', 'clashing', 'leaving']);

/**
 * Plans the next step from the last look and the current rows. Reads all objects anew before it
 * deletes any because of their contents.
 */
export async function check(
  deps: BalancingDeps,
  service: PoolService,
  signal: AbortSignal,
): Promise<Checked> {
  const { clock } = deps;
  const nowMs = deps.nowMs();
  let seen = service.seen();
  if (!seen) throw new Error('nothing was seen yet');
  const began = (service.runBeganAtMs ??= clock.monotonic());
  const standing = service.standing();
  forgetOld(service.refusals, nowMs);
  const letGo = {
    has: (machine: ReturnType<typeof machineOf>) => {
      const state = service.rows.get(machine)?.state;
      return state === 'draining' || state === 'drained';
    },
  };
  let input: PlanInput = {
    desired: service.desired(),
    observed: seen.objects,
    capabilities: service.balancer.capabilities,
    troubles: service.troubles,
    refusals: service.refusals,
    nowMs,
    letGo,
    mayDropAll: standing.tornDown !== null,
  };
  let plan = planOf(input);
  if (!seen.isFull && NEEDS_FULL_LOOK.has(plan.stage)) {
    seen = await service.look(signal, { full: true });
    input = { ...input, desired: service.desired(), observed: seen.objects };
    plan = planOf(input);
  }
  if (plan.stage === 'frozen' && isAccepted(standing, plan.dropping, nowMs)) {
    plan = planOf({ ...input, mayDropAll: true });
  }
  const alarm =
    plan.stage === 'frozen'
      ? alarmAfter(service.alarms.objects, plan.dropping.join(' '), nowMs)
      : null;
  if (alarm && isBelieved(alarm, nowMs)) plan = planOf({ ...input, mayDropAll: true });
  service.alarms.objects = plan.stage === 'frozen' ? alarm : null;
  service.plan = plan;
  await settleAlarm(deps, service);
  tellPending(deps, service, plan.pending);
  service.awaited = awaitedOf(plan.unready, seen.objects);
  service.waitBeganAtMs = clock.monotonic();
  const isFrozen = plan.stage === 'frozen' || service.alarms.members !== null;
  if (isFrozen) {
    const againAtMs = alarm ? nextLookMs(alarm) : null;
    return { stage: 'frozen', againMs: againAtMs && Math.max(1_000, againAtMs - nowMs) };
  }
  if (plan.stage !== 'settled') {
    service.cycles += 1;
    if (service.cycles > CYCLES_MAX || clock.monotonic() - began > RUN_MS) {
      throw new TimedOut(
        `the pool is still not in its desired state after ${service.cycles - 1} rounds`,
      );
    }
  }
  if (plan.stage === 'settled' && plan.refused.length > 0) {
    const [{ what, why }] = plan.refused as [{ what: string; why: string }];
    const others =
      plan.refused.length === 1 ? '' : `, and ${plan.refused.length - 1} other changes`;
    throw new RemoteFailure(`the balancer refuses to ${what}${others}: ${why}`);
  }
  const againMs = plan.retryAtMs === null ? null : Math.max(1_000, plan.retryAtMs - nowMs);
  return { stage: plan.stage, againMs };
}

function awaitedOf(refs: readonly Ref[], objects: readonly Observed[]): PoolService['awaited'] {
  if (refs.length === 0) return [];
  const names = new Map(objects.map(({ ref, spec }) => [keyOf(ref.kind, ref.id), spec.name]));
  return refs.map((ref) => {
    const name = names.get(keyOf(ref.kind, ref.id));
    return { ref, key: name === undefined ? '' : keyOf(ref.kind, name) };
  });
}

/** Submits each failed object again; a refusal does not hold up the others. */
export async function recover(
  deps: BalancingDeps,
  service: PoolService,
  signal: AbortSignal,
): Promise<void> {
  for (const action of service.plan?.actions ?? []) {
    if (action.act !== 'update') continue;
    const { ref, spec } = action.object;
    const key = keyOf(ref.kind, spec.name);
    service.troubles.set(key, recovered(service.troubles.get(key), deps.nowMs()));
    await carryOut(service, [action], signal, (_, end) => {
      if (end.status === 'fulfilled') {
        service.awaited = [...service.awaited, { ref, key }];
        return;
      }
      const fields = { ...service.name, object: spec.name, cause: explain(end.reason) };
      deps.log.warn(fields, 'a failed object cannot be submitted again');
    });
  }
}

/**
 * Deletes in passes: repeats failed deletions as long as the previous pass deleted something. The
 * rest counts as refused and holds up nothing.
 */
export async function destroy(
  deps: BalancingDeps,
  service: PoolService,
  signal: AbortSignal,
): Promise<void> {
  const { metrics } = deps;
  let left = service.plan?.actions ?? [];
  while (left.length > 0) {
    const failed: (readonly [Action, string])[] = [];
    await carryOut(service, left, signal, (action, end) => {
      if (end.status === 'fulfilled') {
        if (end.value) destroyed(deps, service, action);
        return;
      }
      keepsMember(deps, service, action, end.reason);
      if (codeOf(end.reason) === 'remote-failure') {
        metrics.count('shepherd_lb_reconcile_delete_retries_total', service.labels);
        failed.push([action, explain(end.reason)]);
      }
    });
    if (failed.length === left.length) {
      metrics.count('shepherd_lb_reconcile_delete_errors_total', service.labels, failed.length);
      for (const [action, why] of failed)
        if (!block(service, action)) refuse(deps, service, action, why);
      return;
    }
    left = failed.map(([action]) => action);
  }
}

/** A request that waits for the last server's removal is answered, so that it ends. */
function keepsMember(
  { nowMs }: BalancingDeps,
  { memory: { refusing } }: PoolService,
  action: Action,
  error: unknown,
): void {
  if (action.act !== 'destroy' || action.object.ref.kind !== 'server') return;
  if (PASSING.has(codeOf(error))) return;
  const machine = machineOf(action.object.spec.name);
  refusing.set(machine, callRefused(refusing.get(machine), 'off', explain(error), nowMs()));
}

function destroyed(deps: BalancingDeps, service: PoolService, action: Action): void {
  if (action.act !== 'destroy') return;
  const { ref, spec, phase } = action.object;
  service.refusals.delete(changeKey(action));
  if (ref.kind === 'server') service.memory.refusing.delete(machineOf(spec.name));
  deps.metrics.count('shepherd_lb_reconcile_deleted_total', service.labels);
  const key = keyOf(ref.kind, spec.name);
  if (service.plan?.stage === 'clashing' && phase === 'failed') {
    service.troubles.set(key, replaced(service.troubles.get(key), deps.nowMs()));
  }
}

/**
 * Marks an object that could not be deleted alone: next time its dependents are deleted with it.
 * @returns false: this does not apply, or was already tried.
 */
function block(service: PoolService, action: Action): boolean {
  if (action.act !== 'destroy' || action.object.phase !== 'failed') return false;
  const key = keyOf(action.object.ref.kind, action.object.spec.name);
  const trouble = service.troubles.get(key) ?? NO_TROUBLE;
  if (trouble.isBlocked) return false;
  service.troubles.set(key, { ...trouble, isBlocked: true });
  return true;
}

/** The balancer understood and refused the change: it is submitted again later. */
function refuse(
  { nowMs, log }: BalancingDeps,
  service: PoolService,
  action: Action,
  why: string,
): void {
  const key = changeKey(action);
  const before = service.refusals.get(key);
  service.refusals.set(key, refusedAgain(before, why, nowMs()));
  if (!before) log.warn({ ...service.name, what: changeText(action), cause: why }, REFUSED);
}

const REFUSED = 'the balancer refuses a change; it is retried later, and other changes continue';

/**
 * Creates the planned objects. A refusal does not hold up the others; any other failure ends the
 * step.
 */
export async function create(
  deps: BalancingDeps,
  service: PoolService,
  signal: AbortSignal,
): Promise<void> {
  const { metrics } = deps;
  const made: Made = [];
  const told = (action: Action, end: Changed) => {
    if (end.status === 'fulfilled') {
      service.refusals.delete(changeKey(action));
      if (end.value && action.act === 'create')
        metrics.count('shepherd_lb_reconcile_created_total', service.labels);
      return;
    }
    metrics.count('shepherd_lb_reconcile_create_errors_total', service.labels);
    if (codeOf(end.reason) === 'remote-failure') refuse(deps, service, action, explain(end.reason));
  };
  await carryOut(service, service.plan?.actions ?? [], signal, told, made);
  service.awaited = service.balancer.capabilities.async ? [...service.awaited, ...made] : [];
  service.waitBeganAtMs = deps.clock.monotonic();
}

/**
 * Looks at awaited objects, except those that are ready.
 * @throws {TimedOut} the wait was long enough; for a while nothing waits for the object.
 */
export async function poll(
  deps: BalancingDeps,
  service: PoolService,
  { looks, signal }: { readonly looks: number; readonly signal: AbortSignal },
): Promise<Polled> {
  const { clock, metrics } = deps;
  const session = deps.keeper.require();
  service.lease();
  const call = { signal: AbortSignal.any([signal, session.signal]) };
  const limit = pLimit(REFRESHES_AT_ONCE);
  const phases = await Promise.all(
    service.awaited.map(({ ref }) =>
      limit(() => service.balancer.refresh(ref, service.pool, call).catch(orFailed)),
    ),
  );
  const waitedMs = clock.monotonic() - service.waitBeganAtMs;
  if (phases.includes('ready')) service.isNewlyReady = true;
  service.awaited = service.awaited.filter((_, at) => phases[at] !== 'ready');
  if (phases.includes('failed')) return 'failed';
  if (service.awaited.length === 0) {
    metrics.observe(
      'shepherd_lb_reconcile_create_resources_duration_seconds',
      service.labels,
      waitedMs / 1_000,
    );
    return 'ready';
  }
  if (looks < WAIT.checksMax && waitedMs < WAIT.totalMs) return 'pending';
  const stuckUntilMs = deps.nowMs() + STUCK_MS;
  for (const { key } of service.awaited) {
    service.troubles.set(key, { ...(service.troubles.get(key) ?? NO_TROUBLE), stuckUntilMs });
  }
  metrics.count('shepherd_lb_reconcile_create_errors_total', service.labels);
  throw new TimedOut(`${service.awaited.length} objects did not become ready in time`);
}

/** An unreadable object is left to the next full look; fatal errors pass through. */
function orFailed(error: unknown): Phase {
  if (codeOf(error) === 'not-found' || codeOf(error) === 'remote-failure') return 'failed';
  throw error;
}
