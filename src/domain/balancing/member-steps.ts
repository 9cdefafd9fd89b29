import type { MachineId } from '../ids.ts';
import {
  drainTurns,
  isHeld,
  isInterrupted,
  isLetGo,
  isStayed,
  JOIN_MS,
  mayBeGivenBack,
  SET_ASIDE_MS,
  type Candidate,
  type Holder,
  type Muster,
} from './drain-turns.ts';
import { drain, drop, forget, goOnDraining, whileUnreachable, conclude } from './letting-go.ts';
import { openPass, UNSAID, type MemberPass, type StepInput, type Steps } from './member-pass.ts';
import type { MemberRow, Wish } from './members.ts';
import { isTooMany } from './plan.ts';
import { oneForEachAddress, sameAddress } from './desired.ts';

export type { ModeCall, StepInput, Steps } from './member-pass.ts';

/** Interval between looks at other pools while a member waits to drain or waits for these pools. */
const OTHERS_MS = 15_000;

/** Decides the next step of every member. Pure and total; takes time in proportion. */
export function stepMembers(input: StepInput): Steps {
  const { rows } = input;
  const pass = openPass(input);
  const wishes = poolWishes(pass);
  if (input.unreachable) {
    for (const row of rows.values()) whileUnreachable(pass, wishes.get(row.machineId), row);
    return pass.end();
  }
  const panic = panicOf(input, wishes);
  if (panic.length > 0) return { ...pass.end(), panic };
  const queue = queueOf(input, wishes);
  const turns = new Set([...queue.candidates, ...queue.holders].map(({ wish }) => wish.machineId));
  for (const [machineId, wish] of wishes) {
    if (!turns.has(machineId)) step(pass, rows.get(machineId) ?? null, wish);
  }
  const givenBack = takeTurns(pass, queue);
  return { ...pass.end(), givenBack };
}

/** Members that wait to drain, or that are drained while other pools have not drained them. */
interface Queue {
  readonly candidates: readonly Candidate[];
  readonly holders: readonly Holder[];
  readonly muster: Muster;
}

/** Takes the next step of members that wait to drain or are drained. @returns those given back. */
function takeTurns(pass: MemberPass, { candidates, holders, muster }: Queue): readonly MachineId[] {
  const { pool, sights, nowMs } = pass;
  const rowOf = ({ machineId }: Wish) => pass.rows.get(machineId)!;
  // Without a fresh look, a member that is down or lost its server would count as serving.
  const isBlind = sights === null;
  const mayBegin = ({ wish, isJoining }: Candidate) => !isBlind || isJoining || wish.force;
  for (const { wish } of candidates.filter((each) => !mayBegin(each))) awaitLook(pass, rowOf(wish));
  const able = candidates.filter(mayBegin);
  const { begin, wait, giveBack, dueAtMs } = drainTurns(able, holders, pool, muster, nowMs);
  for (const wish of begin) drain(pass, rowOf(wish), wish.reason);
  for (const { wish } of able) {
    const why = wait.get(wish.machineId);
    if (why !== undefined) goOn(pass, rowOf(wish), wish, why);
  }
  const back = new Set(giveBack);
  for (const { wish } of holders) (back.has(wish) ? serve : step)(pass, rowOf(wish), wish);
  if (dueAtMs !== null) pass.dueAt(dueAtMs);
  // Other balancers drain machines without a notice to this balancer.
  if (candidates.length + holders.length > 0) pass.dueAt(nowMs + OTHERS_MS);
  return giveBack.map(({ machineId }) => machineId);
}

function queueOf(input: StepInput, wishes: ReadonlyMap<MachineId, Wish>): Queue {
  const { pool, rows, sights, memory, nowMs } = input;
  const candidates: Candidate[] = [];
  const holders: Holder[] = [];
  let serving = 0;
  let interrupted = 0;
  let coming = 0;
  let isFilling = false;
  const mostOpen = mostOpenOf(input);
  for (const [machineId, wish] of wishes) {
    const row = rows.get(machineId) ?? null;
    const isActive = row?.state === 'active';
    const isAway =
      row !== null &&
      !isStayed(row, memory.refusing.get(machineId)?.sinceMs, nowMs) &&
      isInterrupted(row, wish, pool, nowMs);
    const isAwaited = wish.want === 'serve' && !isActive && isComing(row, input);
    if (isAway) interrupted += 1;
    if (!isActive && (isAway || isAwaited)) coming += 1;
    isFilling ||= isAwaited;
    const seen = sights?.get(machineId);
    const isWell = mostOpen > 0 ? seen?.open === mostOpen : seen?.health !== 'down';
    const isServing = isActive && wish.want !== 'drop' && isWell;
    if (isServing) serving += 1;
    if (!row || wish.want !== 'drain') continue;
    const others = input.elsewhere.get(machineId) ?? [];
    const isStuck = others.some((other) => isHeld(other, nowMs));
    if (!isLetGo(row)) {
      const isJoining = !isActive;
      const isUnderWay = others.some(isLetGo);
      const backMs = memory.givenBackMs.get(machineId) ?? -Infinity;
      const isSetAside = isStuck && nowMs < backMs + SET_ASIDE_MS;
      candidates.push({ wish, isJoining, isServing, isUnderWay, isSetAside });
    } else if (isStuck && mayBeGivenBack(row, wish)) {
      holders.push({ wish, sinceMs: row.sinceMs });
    }
  }
  return { candidates, holders, muster: { serving, interrupted, coming, isFilling } };
}

/**
 * Open servers of the active member that has the most; 0: no member has any. A member with fewer
 * lost some, or the balancer refused them, so that it serves less well. No other member drains for
 * its sake.
 */
function mostOpenOf({ rows, sights }: StepInput): number {
  let most = 0;
  for (const { machineId, state } of rows.values()) {
    if (state === 'active') most = Math.max(most, sights?.get(machineId)?.open ?? 0);
  }
  return most;
}

/** Whether a machine that should serve becomes active soon, so that others may wait for it. */
const isComing = (row: MemberRow | null, { pool, nowMs }: StepInput): boolean =>
  row === null || row.state === 'drained' || nowMs < row.sinceMs + pool.warmUpMs + JOIN_MS;

function panicOf(
  { rows, mayDropAll }: StepInput,
  wishes: ReadonlyMap<MachineId, Wish>,
): readonly MachineId[] {
  if (mayDropAll) return [];
  const going: MachineId[] = [];
  let active = 0;
  for (const { machineId, state } of rows.values()) {
    if (state !== 'active') continue;
    active += 1;
    const wish = wishes.get(machineId);
    const isUnasked = wish?.want === 'drain' && wish.isUnasked === true;
    const isDropped = wish?.want === 'drop' && wish.isOrdered !== true;
    if (isDropped || isUnasked) going.push(machineId);
  }
  return isTooMany(going.length, active) ? going.toSorted() : [];
}

/** Takes the next step of a member that does not wait to drain. */
function step(pass: MemberPass, row: MemberRow | null, wish: Wish): void {
  if (!row) {
    if (wish.want === 'serve') join(pass, null, wish);
    return;
  }
  // The balancer answers again: requests must wait again until the member is drained.
  const isRefused = wish.want === 'drain' && pass.memory.refusing.has(row.machineId);
  const isExcused = (row.waived || row.refused) && row.state !== 'drained' && !isRefused;
  const isKept = wish.want === 'keep' || (wish.want === 'drain' && row.state === 'draining');
  if (isExcused && isKept) {
    pass.hold(row);
    pass.note(row, row.note, UNSAID);
    return pass.lookSoon();
  }
  if (row.state === 'drained') forget(pass, row, wish);
  if (wish.want === 'serve') serve(pass, row, wish);
  else if (wish.want === 'drop') drop(pass, row, wish);
  else if (wish.want === 'keep') pass.hold(row);
  else if (row.state === 'draining') goOnDraining(pass, row, wish);
  else if (row.state !== 'drained') drain(pass, row, wish.reason);
}

/** Continues a member in its state, or on its way to serve, and notes the reason. */
function goOn(pass: MemberPass, row: MemberRow, wish: Wish, text: string): void {
  if (row.state !== 'active') return serve(pass, row, wish);
  pass.hold(row);
  pass.note(row, text, row.waived || row.refused ? UNSAID : {});
}

/** Postpones the decision about the member until the next look at the balancer. */
function awaitLook(pass: MemberPass, row: MemberRow): void {
  pass.needLook();
  if (row.waived || row.refused) pass.note(row, row.note, UNSAID);
}

/** A member that the balancer sees down for this long is reported. */
export const DOWN_MS = 60_000;
const NOT_WELL = 'the balancer does not report it healthy';

/** Makes a machine a member, or a member again. */
export function join(pass: MemberPass, row: MemberRow | null, { machineId }: Wish): void {
  pass.move({ machineId, to: 'joining', note: null, ...(row && UNSAID) });
}

/** Takes the next step of a member that serves or is on its way to serve. */
export function serve(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const { pool, capabilities, sights, nowMs } = pass;
  const seen = sights?.get(row.machineId);
  const isWell = seen?.isWhole === true && (!capabilities.health || seen.health === 'up');
  const isLate = nowMs >= row.sinceMs + pool.warmUpMs;
  switch (row.state) {
    case 'drained':
      return join(pass, row, wish);
    case 'joining':
      if (capabilities.health && nowMs < row.sinceMs + pool.warmUpMs + JOIN_MS) pass.lookSoon();
      if (sights === null) pass.needLook();
      else if (isWell) return pass.enter(row, 'active', { note: null });
      else if (seen?.isWhole) {
        pass.lookSoon();
        return pass.enter(row, 'warming', { note: null });
      }
      return pass.hold(row);
    case 'warming':
      pass.lookSoon();
      pass.dueAt(row.sinceMs + pool.warmUpMs);
      if (sights === null) pass.needLook();
      else if (isWell) return pass.enter(row, 'active', { note: null });
      else if (isLate && seen) return pass.enter(row, 'active', { note: NOT_WELL });
      return pass.hold(row);
    case 'active':
      pass.hold(row);
      return pass.note(row, healthNote(pass, row), {
        ...(row.waived && { waived: false }),
        ...(row.refused && { refused: false }),
      });
    case 'draining':
      if (sights === null) pass.needLook();
      else if (seen?.isWhole) pass.enter(row, 'active', { note: null });
      else conclude(pass, row, wish);
  }
}

/** The balancer's view of an active member's health, for people. */
function healthNote(
  { sights, memory, nowMs, dueAt }: MemberPass,
  { machineId, note: before }: MemberRow,
): string | null {
  const sinceMs = memory.downSinceMs.get(machineId);
  if (sinceMs === undefined) return sights === null ? before : null;
  dueAt(sinceMs + DOWN_MS);
  return nowMs >= sinceMs + DOWN_MS || before === NOT_WELL ? NOT_WELL : null;
}

type Serve = Extract<Wish, { want: 'serve' }>;

/** The desired state of all present and possible members, including the pool's own rules. */
export function poolWishes(pass: MemberPass): ReadonlyMap<MachineId, Wish> {
  const { wishes, rows, isTornDown } = pass;
  const all = new Map(wishes);
  for (const { machineId } of rows.values()) {
    if (all.has(machineId)) continue;
    const reason = 'no information about it is left';
    all.set(machineId, { want: 'drop', slot: '' as Wish['slot'], machineId, reason });
  }
  if (isTornDown) {
    for (const [id, { want, slot, machineId }] of all) {
      if (want === 'drop') continue;
      const why = { reason: 'the pool is torn down', force: true, askedAtMs: null } as const;
      all.set(id, { want: 'drain', slot, machineId, ...why, leaves: true });
    }
    return all;
  }
  shareAddresses(pass, all);
  return all;
}

/** Allows one machine per address: an existing member first, then the lowest machine id. */
function shareAddresses(pass: MemberPass, all: Map<MachineId, Wish>): void {
  const { rows } = pass;
  const leaveOut = (machineId: MachineId, reason: string) => {
    const { slot } = all.get(machineId)!;
    const parked = { force: false, askedAtMs: null, leaves: true, isUnasked: true } as const;
    all.set(machineId, { want: 'drain', slot, machineId, reason, ...parked });
  };
  const served = [...all.values()].filter((wish) => wish.want === 'serve');
  const isMember = ({ machineId }: Serve) =>
    (rows.get(machineId)?.state ?? 'drained') !== 'drained';
  const members = oneForEachAddress(served.filter(isMember));
  for (const [machineId, reason] of members.leftOut) leaveOut(machineId, reason);
  const comers = served.filter((wish) => !isMember(wish));
  if (comers.length === 0) return;
  const taken = new Map([...members.served].map(([machineId, address]) => [address, machineId]));
  const isKnown = addLeaving(pass, all, taken);
  const free: Serve[] = [];
  for (const wish of comers) {
    const { slot, machineId, address } = wish;
    const holder = taken.get(address);
    if (holder !== undefined) leaveOut(machineId, sameAddress(holder, address));
    else if (isKnown) free.push(wish);
    else
      all.set(machineId, {
        want: 'keep',
        slot,
        machineId,
        reason: 'its address may still be in use',
      });
  }
  for (const [machineId, reason] of oneForEachAddress(free).leftOut) leaveOut(machineId, reason);
  if (!isKnown && !pass.unreachable) pass.needLook();
}

/** Adds addresses where leaving members still have servers. @returns false: they are unknown. */
function addLeaving(
  { rows, sights }: MemberPass,
  all: ReadonlyMap<MachineId, Wish>,
  taken: Map<string, MachineId>,
): boolean {
  for (const { machineId, state } of rows.values()) {
    if (state === 'drained' || all.get(machineId)?.want === 'serve') continue;
    if (sights === null) return false;
    for (const address of sights.get(machineId)?.addresses ?? []) taken.set(address, machineId);
  }
  return true;
}
