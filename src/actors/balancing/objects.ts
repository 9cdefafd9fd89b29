import pLimit from 'p-limit';
import { machineOf } from '../../domain/balancing/desired.ts';
import type { Desired, Observed, Phase, Ref } from '../../domain/balancing/objects.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/panic.ts';
import {
  keyOf,
  planOf,
  type Action,
  type PlanInput,
  type Stage,
} from '../../domain/balancing/plan.ts';
import { NO_TROUBLE, recovered, replaced } from '../../domain/balancing/troubles.ts';
import { WAIT } from '../../domain/balancing/waiting.ts';
import { codeOf, explain, RemoteFailure, TimedOut } from '../../domain/errors.ts';
import type { Checked, Polled } from '../../machines/balancer-setup.ts';
import { sessionOf, type BalancingDeps } from './deps.ts';
import type { PoolDesk } from './desk.ts';
import { settleAlarm } from './step-members.ts';

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
  const { clock, metrics } = deps;
  const nowMs = deps.nowMs();
  let seen = desk.seen();
  if (!seen) throw new Error('nothing was seen yet');
  const began = (desk.runBeganAtMs ??= clock.monotonic());
  const standing = desk.standing();
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
  metrics.poolPending(desk.labels, plan.pending);
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
    const { object, desired, parent } = action;
    const key = keyOf(object.ref.kind, object.spec.name);
    desk.troubles.set(key, recovered(desk.troubles.get(key), deps.nowMs()));
    try {
      await desk.change(signal, always, (call) =>
        desk.balancer.update!(object.ref, desired, parent, desk.pool, call),
      );
      desk.awaited = [...desk.awaited, { ref: object.ref, key }];
    } catch (error) {
      if (codeOf(error) !== 'remote-failure') throw error;
      const fields = { ...desk.name, object: object.spec.name, cause: explain(error) };
      deps.log.warn(fields, 'an object that failed cannot be asked for again');
    }
  }
}

const always = () => true;

/**
 * Destroys in passes: whatever could not go is tried again, as long as the pass before destroyed
 * something.
 * @throws {RemoteFailure} what is left cannot be destroyed.
 */
export async function destroy(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<void> {
  const { metrics } = deps;
  let left = desk.plan?.actions ?? [];
  while (left.length > 0) {
    const failed: Action[] = [];
    const causes: string[] = [];
    for (const action of left) {
      try {
        await destroyOne(deps, desk, action, signal);
      } catch (error) {
        if (codeOf(error) !== 'remote-failure') throw error;
        metrics.poolWrites(desk.labels, 'deleteRetry', 1);
        failed.push(action);
        causes.push(explain(error));
      }
    }
    if (failed.length === left.length) {
      metrics.poolWrites(desk.labels, 'deleteError', failed.length);
      for (const action of failed) block(desk, action);
      throw new RemoteFailure(`${failed.length} objects cannot be destroyed: ${causes[0]}`);
    }
    left = failed;
  }
}

async function destroyOne(
  deps: BalancingDeps,
  desk: PoolDesk,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  if (action.act === 'adopt') {
    await desk.change(signal, always, (call) =>
      desk.balancer.adopt!(action.object.ref, desk.pool, call),
    );
  }
  if (action.act !== 'destroy') return;
  const { ref, spec, phase } = action.object;
  const isDropped = desk.plan?.stage === 'dropping';
  const isUnwanted = () => !isDropped || !hasServer(desk, machineOf(spec.name));
  const isGone = await desk.change(signal, isUnwanted, (call) =>
    desk.balancer.destroy(ref, desk.pool, call),
  );
  if (!isGone) return;
  deps.metrics.poolWrites(desk.labels, 'deleted', 1);
  const key = keyOf(ref.kind, spec.name);
  if (desk.plan?.stage === 'clashing' && phase === 'failed') {
    desk.troubles.set(key, replaced(desk.troubles.get(key), deps.nowMs()));
  }
}

/** What could not be destroyed by itself is destroyed with all that hangs on it the next time. */
function block(desk: PoolDesk, action: Action): void {
  if (action.act !== 'destroy' || action.object.phase !== 'failed') return;
  const key = keyOf(action.object.ref.kind, action.object.spec.name);
  desk.troubles.set(key, { ...(desk.troubles.get(key) ?? NO_TROUBLE), isBlocked: true });
}

/** Whether the machine is to have servers, as its row has it at this moment. */
function hasServer({ rows, balancer }: PoolDesk, machine: ReturnType<typeof machineOf>): boolean {
  const state = rows.get(machine)?.state ?? 'drained';
  return state !== 'drained' && (state !== 'draining' || balancer.capabilities.drain === 'native');
}

/**
 * Makes what the plan says. What the balancer understood and refused keeps no other from being made;
 * any other failure ends it.
 */
export async function create(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<void> {
  const made: PoolDesk['awaited'][number][] = [];
  const refused: string[] = [];
  for (const action of desk.plan?.actions ?? []) {
    try {
      await createOne(deps, desk, { action, made, signal });
    } catch (error) {
      deps.metrics.poolWrites(desk.labels, 'createError', 1);
      if (codeOf(error) !== 'remote-failure') throw error;
      refused.push(explain(error));
    }
  }
  desk.awaited = desk.balancer.capabilities.async ? [...desk.awaited, ...made] : [];
  desk.waitBeganAtMs = deps.clock.monotonic();
  if (refused.length > 0) {
    throw new RemoteFailure(`${refused.length} objects cannot be made: ${refused[0]}`);
  }
}

interface Making {
  readonly action: Action;
  /** What has to get ready is added here. */
  readonly made: PoolDesk['awaited'][number][];
  readonly signal: AbortSignal;
}

async function createOne(
  { metrics }: BalancingDeps,
  desk: PoolDesk,
  { action, made, signal }: Making,
): Promise<void> {
  const { balancer, pool } = desk;
  if (action.act === 'adopt') {
    await desk.change(signal, always, (call) => balancer.adopt!(action.object.ref, pool, call));
  } else if (action.act === 'update') {
    const { object, desired, parent } = action;
    await desk.change(signal, always, (call) =>
      balancer.update!(object.ref, desired, parent, pool, call),
    );
    made.push({ ref: object.ref, key: keyOf(object.ref.kind, desired.spec.name) });
  } else if (action.act === 'create') {
    const { desired, parent } = action;
    const isWanted = () => isStillWanted(desk, desired);
    const isMade = await desk.change(signal, isWanted, async (call) => {
      const ref = await balancer.create(desired, parent, pool, call);
      made.push({ ref, key: keyOf(ref.kind, desired.spec.name) });
    });
    if (isMade) metrics.poolWrites(desk.labels, 'created', 1);
  }
}

const isStillWanted = (desk: PoolDesk, { machineId }: Desired): boolean =>
  machineId === undefined || hasServer(desk, machineId);

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
  const session = sessionOf(deps);
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
    metrics.poolCreationWait(desk.labels, waitedMs / 1_000);
    return 'ready';
  }
  if (looks < WAIT.checksMax && waitedMs < WAIT.totalMs) return 'pending';
  const stuckUntilMs = deps.nowMs() + STUCK_MS;
  for (const { key } of desk.awaited) {
    desk.troubles.set(key, { ...(desk.troubles.get(key) ?? NO_TROUBLE), stuckUntilMs });
  }
  metrics.poolWrites(desk.labels, 'createError', 1);
  throw new TimedOut(`${desk.awaited.length} objects did not get ready in time`);
}

/** An object that cannot be read is looked at with all others; what ends everything ends this. */
function orFailed(error: unknown): Phase {
  if (codeOf(error) === 'not-found' || codeOf(error) === 'remote-failure') return 'failed';
  throw error;
}
