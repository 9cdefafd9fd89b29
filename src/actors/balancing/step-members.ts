import type { MemberChange } from '../../adapters/bmdb/port.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import { mayServe } from '../../domain/balancing/members.ts';
import { stepMembers, type ModeCall, type Steps } from '../../domain/balancing/member-steps.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/panic.ts';
import { explain } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Stepped } from '../../machines/balancer-setup.ts';
import { sessionOf, type BalancingDeps } from './deps.ts';
import type { PoolDesk } from './desk.ts';

/** Members that move are looked at so often. */
export const MOVING_MS = 1_000;
/** Where a balancer tells who is well, it is asked this often. */
const HEALTH_MS = 15_000;
/** Without anything to wait for members are looked at again after this. */
const REST_MS = 300_000;
/** What somebody else held up, such as a machine that is just being worked on, is tried again. */
const RETRY_MS = 2_000;
/** A look that could not be used, since something changed meanwhile, is taken again so often. */
const LOOKS_MAX = 3;

/**
 * Does the next step of every member: looks at the balancer if that is needed, decides, writes rows,
 * and lets connections to servers or keeps them away, while nothing else is changed there.
 */
export async function stepAll(
  deps: BalancingDeps,
  desk: PoolDesk,
  signal: AbortSignal,
): Promise<Stepped> {
  let isLookDue = desk.isMoving || isHealthDue(deps, desk) || desk.unreachable() !== null;
  isLookDue ||= desk.isNewlyReady;
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

/** A balancer that does not answer is noted, and no failure of the members. */
async function lookIfPossible(desk: PoolDesk, signal: AbortSignal): Promise<void> {
  try {
    await desk.look(signal);
  } catch (error) {
    if (desk.unreachable() === null || signal.aborted) throw error;
  }
}

/** In one text: which rows there are, and in which states. */
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
  let isHeldUp = false;
  const done: Steps['moves'][number]['move'][] = [];
  for (const { calls, move } of steps.moves) {
    if (await callAll(deps, desk, calls)) done.push(move);
    else isHeldUp = true;
  }
  const old = new Map(desk.rows);
  const refused = await desk.write([...done, ...countsOf(desk, done)]);
  if (refused.size > 0) isHeldUp = true;
  for (const { machineId } of done) report(deps, desk, old.get(machineId), machineId);
  // Whoever works on a machine by now must not get traffic there, whatever was decided before.
  const modes = steps.modes.filter(({ machineId }) => !refused.has(machineId));
  if (!(await callAll(deps, desk, modes))) isHeldUp = true;
  desk.isMoving = steps.isMoving;
  const untilDue = steps.dueAtMs === null ? REST_MS : Math.max(1, steps.dueAtMs - nowMs + 1);
  const { health } = desk.balancer.capabilities;
  const usual = health && desk.rows.size > 0 ? HEALTH_MS : REST_MS;
  const patience = steps.isMoving ? MOVING_MS : isHeldUp || desk.unreachable() ? RETRY_MS : usual;
  return { restMs: Math.min(patience, untilDue), needsLook: steps.needsLook };
}

/** For people who wait: how many connections are left of members that stay draining, as seen last. */
function countsOf(desk: PoolDesk, moved: readonly MemberChange[]): MemberChange[] {
  const changed = new Set(moved.map(({ machineId }) => machineId));
  return [...desk.rows.values()].flatMap(({ machineId, state, sessions }) => {
    const seen = desk.fresh()?.sights.get(machineId)?.sessions ?? null;
    if (state !== 'draining' || changed.has(machineId) || seen === null) return [];
    return seen === sessions ? [] : [{ machineId, sessions: seen }];
  });
}

/** Decides, and holds everything back while the panic guard does not believe what it sees. */
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

/** Writes down whether the pool is frozen, where that is not what the database says. */
export async function settleAlarm(deps: BalancingDeps, desk: PoolDesk): Promise<void> {
  const { members, objects } = desk.alarms;
  const snapshot = [members?.snapshot, objects?.snapshot].filter(Boolean).join(' + ') || null;
  const { frozen } = desk.standing();
  if (snapshot === desk.frozenAs && (frozen === null) === (snapshot === null)) return;
  if (snapshot === null && frozen === null) {
    desk.frozenAs = null;
    return;
  }
  const book = sessionOf(deps).balancing;
  if (snapshot === null) {
    await book.note(desk.lease(), desk.name, { frozen: null });
    deps.log.info(desk.name, 'the panic guard lets members go again');
  } else {
    const count = snapshot.split(' ').filter((word) => word !== '+').length;
    const reason = `${count} members would go at once`;
    await book.note(desk.lease(), desk.name, { frozen: { reason, snapshot } });
    if (desk.frozenAs === null) deps.log.error({ ...desk.name, count }, FROZEN);
  }
  desk.frozenAs = snapshot;
}

const FROZEN = 'too many members would go at once: the pool is frozen until an operator thaws it';

/** In turn; false: some failed. What no server of the member is for any more is no failure. */
async function callAll(
  deps: BalancingDeps,
  desk: PoolDesk,
  calls: readonly ModeCall[],
): Promise<boolean> {
  let isDone = true;
  for (const { machineId, ref, mode } of calls) {
    try {
      await desk.changeInTurn(({ signal }) =>
        desk.balancer.setMember!(ref, mode, desk.pool, { signal }),
      );
    } catch (error) {
      sessionOf(deps).signal.throwIfAborted();
      isDone = false;
      const fields = { ...desk.name, machine: machineId, mode, cause: explain(error) };
      deps.log.warn(fields, 'the balancer did not take over how a member is to be served');
    }
  }
  return isDone;
}

/** One line for each member that came to another state. */
function report(
  { log, metrics }: BalancingDeps,
  desk: PoolDesk,
  before: MemberRow | undefined,
  machine: MachineId,
): void {
  const row = desk.rows.get(machine);
  if (before && !row) log.debug({ ...desk.name, machine }, 'a machine is no member any more');
  if (!row) return;
  if (before?.note !== row.note && row.note !== null && mayServe(row)) {
    log.info({ ...desk.name, machine, state: row.state, note: row.note }, 'a member is noted');
  }
  if (before?.state === row.state) return;
  const fields = { ...desk.name, machine, from: before?.state ?? null, to: row.state };
  log.info({ ...fields, how: row.how, reason: row.note }, 'a member comes to another state');
  if (row.state === 'drained' && before?.state === 'draining') {
    metrics.poolDrained(desk.labels, Math.max(0, row.sinceMs - before.sinceMs) / 1_000);
  }
}
