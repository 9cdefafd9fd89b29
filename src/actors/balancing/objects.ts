import pLimit from 'p-limit';
import { machineOf } from '../../domain/balancing/desired.ts';
import { keyOf, type Observed, type Phase, type Ref } from '../../domain/balancing/objects.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/pool-row.ts';
import {
  planOf,
  type Action,
  type PlanInput,
  type Stage,
  changeKey,
  changeText,
  forgetOld,
  refusedAgain,
} from '../../domain/balancing/plan.ts';
import { callRefused } from '../../domain/balancing/sights.ts';
import { NO_TROUBLE, recovered, replaced } from '../../domain/balancing/matches.ts';
import { WAIT } from '../../domain/balancing/waiting.ts';
import { codeOf, explain, RemoteFailure, TimedOut } from '../../domain/errors.ts';
import type { Checked, Polled } from '../../machines/balancer-setup.ts';
import { tellPending, type BalancingDeps } from './deps.ts';
import { carryOut, type Made } from './carry-out.ts';
import type { Changed, PoolDesk } from './desk.ts';
import { PASSING, settleAlarm } from './step-members.ts';

/** A run is given up after this many rounds or this long. */
const CYCLES_MAX = 20;
const RUN_MS = 30 * 60_000;
/** An object whose wait timed out holds up nothing for this long. */
const STUCK_MS = 30 * 60_000;
const REFRESHES_AT_ONCE = 4;

/** In these stages, deletions depend on object contents or on large losses. */
const NEEDS_FULL_LOOK: ReadonlySet<Stage> = new Set(['frozen', 'clashing', 'leaving']);

/**
 * Plans the next step from the last look and the current rows. Reads all objects anew before it
 * deletes any because of their contents.
 */
export async function check(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<Checked> {
  const { clock } = deps;
  const nowMs = deps.nowMs();
  let seen = desk.seen();
  if (!seen) throw new Error('nothing was seen yet');
  const began = (desk.runBeganAtMs ??= clock.monotonic());
  const standing = desk.standing();
  forgetOld(desk.refusals, nowMs);
  const letGo = {
    has: (machine: ReturnType<typeof machineOf>) => {
      const state = desk.rows.get(machine)?.state;
      return state === 'draining' || state === 'drained';
    },
  };
  let input: PlanInput = {
    desired: desk.desired(),
    observed: seen.objects,
    capabilities: desk.balancer.capabilities,
    troubles: desk.troubles,
    refusals: desk.refusals,
    nowMs,
    letGo,
    mayDropAll: standing.tornDown !== null,
  };
  let plan = planOf(input);
  if (!seen.isFull && NEEDS_FULL_LOOK.has(plan.stage)) {
    seen = await desk.look(signal, { full: true });
    input = { ...input, desired: desk.desired(), observed: seen.objects };
    plan = planOf(input);
  }
  if (plan.stage === 'frozen' && isAccepted(standing, plan.dropping, nowMs)) {
    plan = planOf({ ...input, mayDropAll: true });
  }
  const alarm =
    plan.stage === 'frozen'
      ? alarmAfter(desk.alarms.objects, plan.dropping.join(' '), nowMs)
      : null;
  if (alarm && isBelieved(alarm, nowMs)) plan = planOf({ ...input, mayDropAll: true });
  desk.alarms.objects = plan.stage === 'frozen' ? alarm : null;
  desk.plan = plan;
  await settleAlarm(deps, desk);
  tellPending(deps, desk, plan.pending);
  desk.awaited = awaitedOf(plan.unready, seen.objects);
  desk.waitBeganAtMs = clock.monotonic();
  const isFrozen = plan.stage === 'frozen' || desk.alarms.members !== null;
  if (isFrozen) {
    const againAtMs = alarm ? nextLookMs(alarm) : null;
    return { stage: 'frozen', againMs: againAtMs && Math.max(1_000, againAtMs - nowMs) };
  }
  if (plan.stage !== 'settled') {
    desk.cycles += 1;
    if (desk.cycles > CYCLES_MAX || clock.monotonic() - began > RUN_MS) {
      throw new TimedOut(
        `the pool is still not in its desired state after ${desk.cycles - 1} rounds`,
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

function awaitedOf(refs: readonly Ref[], objects: readonly Observed[]): PoolDesk['awaited'] {
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
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<void> {
  for (const action of desk.plan?.actions ?? []) {
    if (action.act !== 'update') continue;
    const { ref, spec } = action.object;
    const key = keyOf(ref.kind, spec.name);
    desk.troubles.set(key, recovered(desk.troubles.get(key), deps.nowMs()));
    await carryOut(desk, [action], signal, (_, end) => {
      if (end.status === 'fulfilled') {
        desk.awaited = [...desk.awaited, { ref, key }];
        return;
      }
      const fields = { ...desk.name, object: spec.name, cause: explain(end.reason) };
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
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<void> {
  const { metrics } = deps;
  let left = desk.plan?.actions ?? [];
  while (left.length > 0) {
    const failed: (readonly [Action, string])[] = [];
    await carryOut(desk, left, signal, (action, end) => {
      if (end.status === 'fulfilled') {
        if (end.value) destroyed(deps, desk, action);
        return;
      }
      keepsMember(deps, desk, action, end.reason);
      if (codeOf(end.reason) === 'remote-failure') {
        metrics.count('shepherd_lb_reconcile_delete_retries_total', desk.labels);
        failed.push([action, explain(end.reason)]);
      }
    });
    if (failed.length === left.length) {
      metrics.count('shepherd_lb_reconcile_delete_errors_total', desk.labels, failed.length);
      for (const [action, why] of failed) if (!block(desk, action)) refuse(deps, desk, action, why);
      return;
    }
    left = failed.map(([action]) => action);
  }
}

/** A request that waits for the last server's removal is answered, so that it ends. */
function keepsMember(
  { nowMs }: BalancingDeps,
  { memory: { refusing } }: PoolDesk,
  action: Action,
  error: unknown,
): void {
  if (action.act !== 'destroy' || action.object.ref.kind !== 'server') return;
  if (PASSING.has(codeOf(error))) return;
  const machine = machineOf(action.object.spec.name);
  refusing.set(machine, callRefused(refusing.get(machine), 'off', explain(error), nowMs()));
}

function destroyed(deps: BalancingDeps, desk: PoolDesk, action: Action): void {
  if (action.act !== 'destroy') return;
  const { ref, spec, phase } = action.object;
  desk.refusals.delete(changeKey(action));
  if (ref.kind === 'server') desk.memory.refusing.delete(machineOf(spec.name));
  deps.metrics.count('shepherd_lb_reconcile_deleted_total', desk.labels);
  const key = keyOf(ref.kind, spec.name);
  if (desk.plan?.stage === 'clashing' && phase === 'failed') {
    desk.troubles.set(key, replaced(desk.troubles.get(key), deps.nowMs()));
  }
}

/**
 * Marks an object that could not be deleted alone: next time its dependents are deleted with it.
 * @returns false: this does not apply, or was already tried.
 */
function block(desk: PoolDesk, action: Action): boolean {
  if (action.act !== 'destroy' || action.object.phase !== 'failed') return false;
  const key = keyOf(action.object.ref.kind, action.object.spec.name);
  const trouble = desk.troubles.get(key) ?? NO_TROUBLE;
  if (trouble.isBlocked) return false;
  desk.troubles.set(key, { ...trouble, isBlocked: true });
  return true;
}

/** The balancer understood and refused the change: it is submitted again later. */
function refuse({ nowMs, log }: BalancingDeps, desk: PoolDesk, action: Action, why: string): void {
  const key = changeKey(action);
  const before = desk.refusals.get(key);
  desk.refusals.set(key, refusedAgain(before, why, nowMs()));
  if (!before) log.warn({ ...desk.name, what: changeText(action), cause: why }, REFUSED);
}

const REFUSED = 'the balancer refuses a change; it is retried later, and other changes continue';

/**
 * Creates the planned objects. A refusal does not hold up the others; any other failure ends the
 * step.
 */
export async function create(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<void> {
  const { metrics } = deps;
  const made: Made = [];
  const told = (action: Action, end: Changed) => {
    if (end.status === 'fulfilled') {
      desk.refusals.delete(changeKey(action));
      if (end.value && action.act === 'create')
        metrics.count('shepherd_lb_reconcile_created_total', desk.labels);
      return;
    }
    metrics.count('shepherd_lb_reconcile_create_errors_total', desk.labels);
    if (codeOf(end.reason) === 'remote-failure') refuse(deps, desk, action, explain(end.reason));
  };
  await carryOut(desk, desk.plan?.actions ?? [], signal, told, made);
  desk.awaited = desk.balancer.capabilities.async ? [...desk.awaited, ...made] : [];
  desk.waitBeganAtMs = deps.clock.monotonic();
}

/**
 * Looks at awaited objects, except those that are ready.
 * @throws {TimedOut} the wait was long enough; for a while nothing waits for the object.
 */
export async function poll(
  deps: BalancingDeps,
  desk: PoolDesk,
  { looks, signal }: { readonly looks: number; readonly signal: AbortSignal },
): Promise<Polled> {
  const { clock, metrics } = deps;
  const session = deps.keeper.require();
  desk.lease();
  const call = { signal: AbortSignal.any([signal, session.signal]) };
  const limit = pLimit(REFRESHES_AT_ONCE);
  const phases = await Promise.all(
    desk.awaited.map(({ ref }) =>
      limit(() => desk.balancer.refresh(ref, desk.pool, call).catch(orFailed)),
    ),
  );
  const waitedMs = clock.monotonic() - desk.waitBeganAtMs;
  if (phases.includes('ready')) desk.isNewlyReady = true;
  desk.awaited = desk.awaited.filter((_, at) => phases[at] !== 'ready');
  if (phases.includes('failed')) return 'failed';
  if (desk.awaited.length === 0) {
    metrics.observe(
      'shepherd_lb_reconcile_create_resources_duration_seconds',
      desk.labels,
      waitedMs / 1_000,
    );
    return 'ready';
  }
  if (looks < WAIT.checksMax && waitedMs < WAIT.totalMs) return 'pending';
  const stuckUntilMs = deps.nowMs() + STUCK_MS;
  for (const { key } of desk.awaited) {
    desk.troubles.set(key, { ...(desk.troubles.get(key) ?? NO_TROUBLE), stuckUntilMs });
  }
  metrics.count('shepherd_lb_reconcile_create_errors_total', desk.labels);
  throw new TimedOut(`${desk.awaited.length} objects did not become ready in time`);
}

/** An unreadable object is left to the next full look; fatal errors pass through. */
function orFailed(error: unknown): Phase {
  if (codeOf(error) === 'not-found' || codeOf(error) === 'remote-failure') return 'failed';
  throw error;
}
