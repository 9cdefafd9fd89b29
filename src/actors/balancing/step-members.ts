import type { MemberChange } from '../../adapters/bmdb/port.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import { mayServe, otherPlaces } from '../../domain/balancing/members.ts';
import {
  stepMembers,
  type ModeCall,
  type StepInput,
  type Steps,
} from '../../domain/balancing/member-steps.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/pool-row.ts';
import {
  callAgainMs,
  callRefused,
  forgetCalls,
  rememberGivenBack,
} from '../../domain/balancing/sights.ts';
import { codeOf, explain } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Stepped } from '../../machines/balancer-setup.ts';
import { type BalancingDeps } from './deps.ts';
import type { PoolDesk } from './desk.ts';

/** Interval between looks while members change. */
export const MOVING_MS = 1_000;
/** Interval between looks at a balancer that reports health. */
const HEALTH_MS = 15_000;
/** Interval between looks without anything to wait for. */
const REST_MS = 300_000;
/** Pause before a retry after another process was in the way, for example work on a machine. */
const RETRY_MS = 2_000;
/** Maximum number of looks that were outdated by a change meanwhile. */
const LOOKS_MAX = 3;

/**
 * Takes the next step of every member: looks at the balancer if needed, decides, writes rows, and
 * opens or closes servers. Nothing else is changed there meanwhile.
 */
export async function stepAll(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<Stepped> {
  const away = desk.unreachable();
  let isLookDue = away
    ? deps.nowMs() >= away.againAtMs
    : desk.isMoving || desk.isNewlyReady || isHealthDue(deps, desk);
  desk.isNewlyReady = false;
  const before = desiredRows(desk);
  let pass: Pass = { restMs: REST_MS, needsLook: false };
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if (isLookDue) await lookIfPossible(desk, signal);
    pass = await desk.exclusive(() => stepOnce(deps, desk, signal));
    if (!pass.needsLook || desk.unreachable()) break;
    isLookDue = true;
  }
  const isDesiredNew = before !== desiredRows(desk) || desk.takeWhole();
  return { isDesiredNew, restMs: pass.needsLook ? MOVING_MS : pass.restMs };
}

interface Pass {
  readonly restMs: number;
  readonly needsLook: boolean;
}

const isHealthDue = ({ nowMs }: BalancingDeps, { balancer, rows, seen }: PoolDesk): boolean =>
  balancer.capabilities.health && rows.size > 0 && nowMs() >= (seen()?.atMs ?? 0) + HEALTH_MS;

/** Records an unreachable balancer, which is no failure of the members. */
async function lookIfPossible(desk: PoolDesk, signal: AbortSignal): Promise<void> {
  try {
    await desk.look(signal);
  } catch (error) {
    if (desk.unreachable() === null || signal.aborted) throw error;
  }
}

/** The rows and their states as one text. */
const desiredRows = ({ rows }: PoolDesk): string => {
  let text = '';
  for (const { machineId, state } of rows.values()) text += `${machineId} ${state} `;
  return text;
};

async function stepOnce(deps: BalancingDeps, desk: PoolDesk, signal: AbortSignal): Promise<Pass> {
  signal.throwIfAborted();
  desk.lease();
  const nowMs = deps.nowMs();
  const steps = await decide(deps, desk, nowMs);
  const wishes = deps.wishes.of(desk.pool.pool);
  rememberGivenBack(desk.memory, steps.givenBack, wishes, nowMs);
  const refusedBefore = desk.memory.refusing.size;
  const asked = await callAll(
    deps,
    desk,
    steps.moves.flatMap(({ calls }) => calls),
  );
  const isDone = ({ calls }: Steps['moves'][number]) =>
    calls.every(({ machineId }) => !asked.left.has(machineId));
  const done = steps.moves.filter(isDone).map(({ move }) => move);
  let isHeldUp = asked.hasFailed;
  const old = new Map(desk.rows);
  const refused = await desk.write([...done, ...countsOf(desk, done)]);
  if (refused.size > 0) isHeldUp = true;
  for (const { machineId } of done) {
    const before = old.get(machineId);
    if (desk.rows.get(machineId)?.state !== before?.state) forgetCalls(desk.memory, machineId);
    report(deps, desk, before, machineId);
  }
  // A machine with work under way must get no traffic, whatever was decided before.
  const modes = steps.modes.filter(
    ({ machineId, mode }) => mode !== 'active' || !refused.has(machineId),
  );
  isHeldUp ||= (await callAll(deps, desk, modes)).hasFailed;
  // An accepted retry moves on by itself.
  desk.isMoving = steps.isMoving || desk.memory.refusing.size < refusedBefore;
  const dueAtMs = Math.min(steps.dueAtMs ?? Infinity, againMs(desk, nowMs));
  const untilDueMs = Math.max(1, dueAtMs - nowMs + 1);
  const restMs = Math.min(patienceMs(desk, isHeldUp, nowMs), untilDueMs);
  return { restMs, needsLook: steps.needsLook };
}

function patienceMs(desk: PoolDesk, isHeldUp: boolean, nowMs: number): number {
  const away = desk.unreachable();
  if (away) return Math.max(MOVING_MS, away.againAtMs - nowMs);
  if (desk.isMoving) return MOVING_MS;
  if (isHeldUp) return RETRY_MS;
  return desk.balancer.capabilities.health && desk.rows.size > 0 ? HEALTH_MS : REST_MS;
}

/** Connections left on members that stay draining, as last seen, for people who wait. */
function countsOf(desk: PoolDesk, moved: readonly MemberChange[]): MemberChange[] {
  const changed = new Set(moved.map(({ machineId }) => machineId));
  return [...desk.rows.values()].flatMap(({ machineId, state, sessions }) => {
    const seen = desk.fresh()?.sights.get(machineId)?.sessions ?? null;
    if (state !== 'draining' || changed.has(machineId) || seen === null) return [];
    return seen === sessions ? [] : [{ machineId, sessions: seen }];
  });
}

/** Rows, in other pools and at other balancers, of machines that should drain. */
function elsewhereOf(
  { mirror, wishes }: BalancingDeps,
  { name }: PoolDesk,
): StepInput['elsewhere'] {
  const facts = mirror.facts();
  const found = new Map<MachineId, readonly MemberRow[]>();
  for (const [machineId, { want, slot }] of wishes.of(name.pool)) {
    if (want !== 'drain') continue;
    const row = facts.get(slot)?.row;
    if (row?.machineId === machineId) found.set(machineId, otherPlaces(row.members, name));
  }
  return found;
}

/** Decides, and holds back all steps while the panic guard doubts its findings. */
async function decide(deps: BalancingDeps, desk: PoolDesk, nowMs: number): Promise<Steps> {
  const standing = desk.standing();
  const input = {
    pool: desk.pool,
    balancer: desk.name.balancer,
    capabilities: desk.balancer.capabilities,
    wishes: deps.wishes.of(desk.pool.pool),
    rows: desk.rows,
    sights: desk.fresh()?.sights ?? null,
    memory: desk.memory,
    elsewhere: elsewhereOf(deps, desk),
    unreachable: desk.unreachable(),
    isTornDown: standing.tornDown !== null,
    nowMs,
  };
  const steps = stepMembers({ ...input, mayDropAll: input.isTornDown });
  if (steps.panic.length === 0) {
    desk.alarms.members = null;
    await settleAlarm(deps, desk);
    return steps;
  }
  if (isAccepted(standing, steps.panic, nowMs)) return stepMembers({ ...input, mayDropAll: true });
  const alarm = alarmAfter(desk.alarms.members, steps.panic.join(' '), nowMs);
  if (isBelieved(alarm, nowMs)) return stepMembers({ ...input, mayDropAll: true });
  desk.alarms.members = alarm;
  await settleAlarm(deps, desk);
  return { ...steps, dueAtMs: nextLookMs(alarm) };
}

/** Writes whether the pool is frozen, if the database says otherwise. */
export async function settleAlarm(deps: BalancingDeps, desk: PoolDesk): Promise<void> {
  const { members, objects } = desk.alarms;
  const snapshot = [members?.snapshot, objects?.snapshot].filter(Boolean).join(' + ') || null;
  const { frozen } = desk.standing();
  if (snapshot === desk.frozenAs && (frozen === null) === (snapshot === null)) return;
  if (snapshot === null && frozen === null) {
    desk.frozenAs = null;
    return;
  }
  const book = deps.keeper.require().balancing;
  if (snapshot === null) {
    await book.note(desk.lease(), desk.name, { frozen: null });
    deps.log.info(desk.name, 'the panic guard allows members to leave again');
  } else {
    const count = new Set(snapshot.split(' ').filter((word) => word !== '+')).size;
    const reason = `${count} members would leave at once`;
    await book.note(desk.lease(), desk.name, { frozen: { reason, snapshot } });
    if (desk.frozenAs === null) deps.log.error({ ...desk.name, count }, FROZEN);
  }
  desk.frozenAs = snapshot;
}

const FROZEN =
  'too many members would leave at once: the pool is frozen until an operator thaws it';

interface Asked {
  /** Machines with a call that was refused, now or recently, and is not repeated yet. */
  readonly left: ReadonlySet<MachineId>;
  /** For some of them, the time of the next call is unknown. */
  readonly hasFailed: boolean;
}

/** Makes the calls in order, as many together as the balancer accepts. */
async function callAll(
  deps: BalancingDeps,
  desk: PoolDesk,
  calls: readonly ModeCall[],
): Promise<Asked> {
  const { refusing, openAtMs } = desk.memory;
  const { atOnce } = desk.balancer.capabilities;
  const before = new Map(refusing);
  const left = new Set<MachineId>();
  let hasFailed = false;
  const isDue = ({ machineId, mode }: ModeCall) => {
    const refused = before.get(machineId);
    return !refused || deps.nowMs() >= callAgainMs(refused, mode);
  };
  for (let from = 0; from < calls.length; from += atOnce) {
    const due: ModeCall[] = [];
    for (const each of calls.slice(from, from + atOnce)) {
      if (!isDue(each)) left.add(each.machineId);
      else {
        if (each.mode === 'drain') openAtMs.set(each.machineId, deps.nowMs());
        due.push(each);
      }
    }
    const ends = await desk.changeAllInTurn(
      due.map(({ ref, mode }) => ({
        isWanted: () => true,
        call: ({ signal }) => desk.balancer.setMember!(ref, mode, desk.pool, { signal }),
      })),
    );
    for (const [at, end] of ends.entries()) {
      if (end.status === 'fulfilled') continue;
      deps.keeper.require().signal.throwIfAborted();
      // A call that the loss of our lease or our own stop aborted was not refused.
      desk.lease();
      const { machineId, mode } = due[at]!;
      const why = explain(end.reason);
      left.add(machineId);
      if (PASSING.has(codeOf(end.reason))) hasFailed = true;
      else refusing.set(machineId, callRefused(before.get(machineId), mode, why, deps.nowMs()));
      const fields = { ...desk.name, machine: machineId, mode, cause: why };
      deps.log.warn(fields, 'the balancer did not apply the mode of a member');
    }
  }
  for (const { machineId } of calls) if (!left.has(machineId)) refusing.delete(machineId);
  return { left, hasFailed };
}

/** When the first refused call may be repeated; due calls are made. */
function againMs({ memory }: PoolDesk, nowMs: number): number {
  let atMs = Infinity;
  for (const refused of memory.refusing.values()) {
    const againAtMs = callAgainMs(refused, refused.mode);
    if (againAtMs > nowMs) atMs = Math.min(atMs, againAtMs);
  }
  return atMs;
}

/** Errors that do not mean a refusal by the balancer. */
export const PASSING: ReadonlySet<string> = new Set([
  'cancelled',
  'throttled',
  'lease-lost',
  'session-expired',
]);

/** Logs one line per member that changed its state. */
function report(
  { log, metrics }: BalancingDeps,
  desk: PoolDesk,
  before: MemberRow | undefined,
  machine: MachineId,
): void {
  const row = desk.rows.get(machine);
  if (before && !row) log.debug({ ...desk.name, machine }, 'a machine is no longer a member');
  if (!row) return;
  if (before?.note !== row.note && row.note !== null && mayServe(row)) {
    log.info({ ...desk.name, machine, state: row.state, note: row.note }, 'a member is noted');
  }
  if (before?.state === row.state) return;
  const fields = { ...desk.name, machine, from: before?.state ?? null, to: row.state };
  log.info({ ...fields, how: row.how, reason: row.note }, 'a member changed its state');
  if (row.state === 'drained' && before?.state === 'draining') {
    metrics.observe(
      'shepherd_lb_drain_duration_seconds',
      desk.labels,
      Math.max(0, row.sinceMs - before.sinceMs) / 1_000,
    );
  }
}
