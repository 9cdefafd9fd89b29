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

/** A run that does not get to its end in so many rounds, or so long, is given up. */
const CYCLES_MAX = 20;
const RUN_MS = 30 * 60_000;
/** What was waited for in vain holds nobody up for so long. */
const STUCK_MS = 30 * 60_000;
const REFRESHES_AT_ONCE = 4;

/** What is destroyed then may depend on what other objects hold, or goes because many are to go. */
const NEEDS_FULL_LOOK: ReadonlySet<Stage> = new Set(['frozen', 'clashing', 'leaving']);

/**
 * Plans what is to be done next, by what was seen last and what rows have it now. Before anything is
 * destroyed because of what objects hold, all of them are read anew.
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
      throw new TimedOut(`the pool is not as desired after ${desk.cycles - 1} rounds`);
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

/** Asks once more for each object that failed; one that cannot be asked for keeps no other waiting. */
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
      deps.log.warn(fields, 'an object that failed cannot be asked for again');
    });
  }
}

/**
 * Destroys in passes: whatever could not go is tried again, as long as the pass before destroyed
 * something. What is left then is refused: it keeps nothing else waiting.
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

/** Whoever waits until a machine has no server any more is told, and does not wait for ever. */
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
 * What could not be destroyed by itself is destroyed with all that hangs on it the next time.
 * @returns false: that is not so, or was tried already.
 */
function block(desk: PoolDesk, action: Action): boolean {
  if (action.act !== 'destroy' || action.object.phase !== 'failed') return false;
  const key = keyOf(action.object.ref.kind, action.object.spec.name);
  const trouble = desk.troubles.get(key) ?? NO_TROUBLE;
  if (trouble.isBlocked) return false;
  desk.troubles.set(key, { ...trouble, isBlocked: true });
  return true;
}

/** The balancer understood the change, and does not do it: it is asked for again later. */
function refuse({ nowMs, log }: BalancingDeps, desk: PoolDesk, action: Action, why: string): void {
  const key = changeKey(action);
  const before = desk.refusals.get(key);
  desk.refusals.set(key, refusedAgain(before, why, nowMs()));
  if (!before) log.warn({ ...desk.name, what: changeText(action), cause: why }, REFUSED);
}

const REFUSED = 'the balancer refuses a change; it is tried again, and all else goes on';

/**
 * Makes what the plan says. What the balancer understood and refused keeps nothing else waiting; any
 * other failure ends it.
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
 * Looks at what is waited for; what is ready is not looked at again.
 * @throws {TimedOut} it was waited for long enough; for a while nothing waits for it.
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
  throw new TimedOut(`${desk.awaited.length} objects did not get ready in time`);
}

/** An object that cannot be read is looked at with all others; what ends everything ends this. */
function orFailed(error: unknown): Phase {
  if (codeOf(error) === 'not-found' || codeOf(error) === 'remote-failure') return 'failed';
  throw error;
}
