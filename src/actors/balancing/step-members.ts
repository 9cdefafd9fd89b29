import type { MemberChange } from '../../adapters/bmdb/port.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import { mayServe, otherPlaces } from '../../domain/balancing/members.ts';
import {
  stepMembers,
  type ModeCall,
  type StepInput,
  type MemberPassSteps,
} from '../../domain/balancing/member-steps.ts';
import { alarmAfter, isAccepted, isBelieved, nextLookMs } from '../../domain/balancing/pool-row.ts';
import {
  callAgainMs,
  callRefused,
  forgetCalls,
  rememberGivenBack,
} from '../../domain/balancing/member-readings.ts';
import { codeOf, explain } from '../../domain/errors.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { Stepped } from '../../machines/balancer-setup.ts';
import { type BalancingDeps } from './deps.ts';
import type { PoolService } from './pool-service.ts';

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
  service: PoolService,
  signal: AbortSignal,
): Promise<Stepped> {
  const away = service.unreachable();
  let isLookDue = away
    ? deps.nowMs() >= away.againAtMs
    : service.isMoving || service.isNewlyReady || isHealthDue(deps, service);
  service.isNewlyReady = false;
  const before = desiredRows(service);
  let pass: Pass = { restMs: REST_MS, needsLook: false };
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if (isLookDue) await lookIfPossible(service, signal);
    pass = await service.exclusive(() => stepOnce(deps, service, signal));
    if (!pass.needsLook || service.unreachable()) break;
    isLookDue = true;
  }
  const isDesiredNew = before !== desiredRows(service) || service.takeWhole();
  return { isDesiredNew, restMs: pass.needsLook ? MOVING_MS : pass.restMs };
}

interface Pass {
  readonly restMs: number;
  readonly needsLook: boolean;
}

const isHealthDue = ({ nowMs }: BalancingDeps, { balancer, rows, seen }: PoolService): boolean =>
  balancer.capabilities.health && rows.size > 0 && nowMs() >= (seen()?.atMs ?? 0) + HEALTH_MS;

/** Records an unreachable balancer, which is no failure of the members. */
async function lookIfPossible(service: PoolService, signal: AbortSignal): Promise<void> {
  try {
    await service.look(signal);
  } catch (error) {
    if (service.unreachable() === null || signal.aborted) throw error;
  }
}

/** The rows and their states as one text. */
const desiredRows = ({ rows }: PoolService): string => {
  let text = '';
  for (const { machineId, state } of rows.values()) text += `${machineId} ${state} `;
  return text;
};

async function stepOnce(
  deps: BalancingDeps,
  service: PoolService,
  signal: AbortSignal,
): Promise<Pass> {
  signal.throwIfAborted();
  service.lease();
  const nowMs = deps.nowMs();
  const steps = await decide(deps, service, nowMs);
  const wishes = deps.wishes.of(service.pool.pool);
  rememberGivenBack(service.memory, steps.givenBack, wishes, nowMs);
  const refusedBefore = service.memory.refusing.size;
  const asked = await callAll(
    deps,
    service,
    steps.moves.flatMap(({ calls }) => calls),
  );
  const isDone = ({ calls }: MemberPassSteps['moves'][number]) =>
    calls.every(({ machineId }) => !asked.left.has(machineId));
  const done = steps.moves.filter(isDone).map(({ move }) => move);
  let isHeldUp = asked.hasFailed;
  const old = new Map(service.rows);
  const refused = await service.write([...done, ...countsOf(service, done)]);
  if (refused.size > 0) isHeldUp = true;
  for (const { machineId } of done) {
    const before = old.get(machineId);
    if (service.rows.get(machineId)?.state !== before?.state)
      forgetCalls(service.memory, machineId);
    report(deps, service, before, machineId);
  }
  // A machine with work under way must get no traffic, whatever was decided before.
  const modes = steps.modes.filter(
    ({ machineId, mode }) => mode !== 'active' || !refused.has(machineId),
  );
  isHeldUp ||= (await callAll(deps, service, modes)).hasFailed;
  // An accepted retry moves on by itself.
  service.isMoving = steps.isMoving || service.memory.refusing.size < refusedBefore;
  const dueAtMs = Math.min(steps.dueAtMs ?? Infinity, againMs(service, nowMs));
  const untilDueMs = Math.max(1, dueAtMs - nowMs + 1);
  const restMs = Math.min(patienceMs(service, isHeldUp, nowMs), untilDueMs);
  return { restMs, needsLook: steps.needsLook };
}

function patienceMs(service: PoolService, isHeldUp: boolean, nowMs: number): number {
  const away = service.unreachable();
  if (away) return Math.max(MOVING_MS, away.againAtMs - nowMs);
  if (service.isMoving) return MOVING_MS;
  if (isHeldUp) return RETRY_MS;
  return service.balancer.capabilities.health && service.rows.size > 0 ? HEALTH_MS : REST_MS;
}

/** Connections left on members that stay draining, as last seen, for people who wait. */
function countsOf(service: PoolService, moved: readonly MemberChange[]): MemberChange[] {
  const changed = new Set(moved.map(({ machineId }) => machineId));
  return [...service.rows.values()].flatMap(({ machineId, state, sessions }) => {
    const seen = service.fresh()?.sights.get(machineId)?.sessions ?? null;
    if (state !== 'draining' || changed.has(machineId) || seen === null) return [];
    return seen === sessions ? [] : [{ machineId, sessions: seen }];
  });
}

/** Rows, in other pools and at other balancers, of machines that should drain. */
function elsewhereOf(
  { mirror, wishes }: BalancingDeps,
  { name }: PoolService,
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
async function decide(
  deps: BalancingDeps,
  service: PoolService,
  nowMs: number,
): Promise<MemberPassSteps> {
  const standing = service.standing();
  const input = {
    pool: service.pool,
    balancer: service.name.balancer,
    capabilities: service.balancer.capabilities,
    wishes: deps.wishes.of(service.pool.pool),
    rows: service.rows,
    sights: service.fresh()?.sights ?? null,
    memory: service.memory,
    elsewhere: elsewhereOf(deps, service),
    unreachable: service.unreachable(),
    isTornDown: standing.tornDown !== null,
    nowMs,
  };
  const steps = stepMembers({ ...input, mayDropAll: input.isTornDown });
  if (steps.panic.length === 0) {
    service.alarms.members = null;
    await settleAlarm(deps, service);
    return steps;
  }
  if (isAccepted(standing, steps.panic, nowMs)) return stepMembers({ ...input, mayDropAll: true });
  const alarm = alarmAfter(service.alarms.members, steps.panic.join(' '), nowMs);
  if (isBelieved(alarm, nowMs)) return stepMembers({ ...input, mayDropAll: true });
  service.alarms.members = alarm;
  await settleAlarm(deps, service);
  return { ...steps, dueAtMs: nextLookMs(alarm) };
}

/** Writes whether the pool is frozen, if the database says otherwise. */
export async function settleAlarm(deps: BalancingDeps, service: PoolService): Promise<void> {
  const { members, objects } = service.alarms;
  const snapshot = [members?.snapshot, objects?.snapshot].filter(Boolean).join(' + ') || null;
  const { frozen } = service.standing();
  if (snapshot === service.frozenAs && (frozen === null) === (snapshot === null)) return;
  if (snapshot === null && frozen === null) {
    service.frozenAs = null;
    return;
  }
  const repository = deps.keeper.require().balancing;
  if (snapshot === null) {
    await repository.note(service.lease(), service.name, { frozen: null });
    deps.log.info(service.name, 'the panic guard allows members to leave again');
  } else {
    const count = new Set(snapshot.split(' ').filter((word) => word !== '+')).size;
    const reason = `${count} members would leave at once`;
    await repository.note(service.lease(), service.name, { frozen: { reason, snapshot } });
    if (service.frozenAs === null) deps.log.error({ ...service.name, count }, FROZEN);
  }
  service.frozenAs = snapshot;
}

const FROZEN =
  'too many members would leave at once: the pool is frozen until an operator thaws it';

interface RefusedMachines {
  /** Machines with a call that was refused, now or recently, and is not repeated yet. */
  readonly left: ReadonlySet<MachineId>;
  /** For some of them, the time of the next call is unknown. */
  readonly hasFailed: boolean;
}

/** Makes the calls in order, as many together as the balancer accepts. */
async function callAll(
  deps: BalancingDeps,
  service: PoolService,
  calls: readonly ModeCall[],
): Promise<RefusedMachines> {
  const { refusing, openAtMs } = service.memory;
  const { atOnce } = service.balancer.capabilities;
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
    const ends = await service.changeAllInTurn(
      due.map(({ ref, mode }) => ({
        isWanted: () => true,
        call: ({ signal }) => service.balancer.setMember!(ref, mode, service.pool, { signal }),
      })),
    );
    for (const [at, end] of ends.entries()) {
      if (end.status === 'fulfilled') continue;
      deps.keeper.require().signal.throwIfAborted();
      // A call that the loss of our lease or our own stop aborted was not refused.
      service.lease();
      const { machineId, mode } = due[at]!;
      const why = explain(end.reason);
      left.add(machineId);
      if (PASSING.has(codeOf(end.reason))) hasFailed = true;
      else refusing.set(machineId, callRefused(before.get(machineId), mode, why, deps.nowMs()));
      const fields = { ...service.name, machine: machineId, mode, cause: why };
      deps.log.warn(fields, 'the balancer did not apply the mode of a member');
    }
  }
  for (const { machineId } of calls) if (!left.has(machineId)) refusing.delete(machineId);
  return { left, hasFailed };
}

/** When the first refused call may be repeated; due calls are made. */
function againMs({ memory }: PoolService, nowMs: number): number {
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
  service: PoolService,
  before: MemberRow | undefined,
  machine: MachineId,
): void {
  const row = service.rows.get(machine);
  if (before && !row) log.debug({ ...service.name, machine }, 'a machine is no longer a member');
  if (!row) return;
  if (before?.note !== row.note && row.note !== null && mayServe(row)) {
    log.info({ ...service.name, machine, state: row.state, note: row.note }, 'a member is noted');
  }
  if (before?.state === row.state) return;
  const fields = { ...service.name, machine, from: before?.state ?? null, to: row.state };
  log.info({ ...fields, how: row.how, reason: row.note }, 'a member changed its state');
  if (row.state === 'drained' && before?.state === 'draining') {
    metrics.observe(
      'shepherd_lb_drain_duration_seconds',
      service.labels,
      Math.max(0, row.sinceMs - before.sinceMs) / 1_000,
    );
  }
}
