import type { MachineId } from '../ids.ts';
import { oneForEachAddress } from './desired.ts';
import { drainTurns, isInterrupted, type Candidate } from './drain-turns.ts';
import {
  mayServe,
  type DrainEnd,
  type MemberChange,
  type MemberRow,
  type MemberState,
  type Wish,
} from './members.ts';
import type { Ref, ServerMode } from './objects.ts';
import { isTooMany } from './plan.ts';
import type { Pool } from './pools.ts';
import type { Remembered, Sight } from './sights.ts';
import { DESELECTED } from './wish.ts';

/** A call of a balancer that lets connections to a server or keeps them away. */
export interface ModeCall {
  readonly machineId: MachineId;
  readonly ref: Ref;
  readonly mode: ServerMode;
}

export interface StepInput {
  readonly pool: Pool;
  readonly balancer: string;
  readonly capabilities: {
    readonly drain: 'native' | 'remove';
    readonly sessions: boolean;
    readonly health: boolean;
  };
  readonly wishes: ReadonlyMap<MachineId, Wish>;
  readonly rows: ReadonlyMap<MachineId, MemberRow>;
  /** What a look showed since which nothing was changed at the balancer; null: there is none. */
  readonly sights: ReadonlyMap<MachineId, Sight> | null;
  readonly memory: Remembered;
  /** Calls of the balancer fail; null: they do not. */
  readonly unreachable: { readonly sinceMs: number; readonly why: string } | null;
  /** An operator, or patience, has accepted that many go at once. */
  readonly mayDropAll: boolean;
  /** The pool is to be removed: everybody leaves. */
  readonly isTornDown: boolean;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
}

/** What is to be done for the members of a pool, in this order: calls, then rows, then modes. */
export interface Steps {
  /** The row is written when all of its calls have succeeded, and not otherwise. */
  readonly moves: readonly { readonly calls: readonly ModeCall[]; readonly move: MemberChange }[];
  /** What servers are to be after that, where they are not. */
  readonly modes: readonly ModeCall[];
  /** Members that would be dropped together, and are not: too many at once. Empty: nobody. */
  readonly panic: readonly MachineId[];
  /** Something cannot be decided without a look at the balancer that is newer than the last change. */
  readonly needsLook: boolean;
  /** Something is to be looked at again soon, since it changes by itself. */
  readonly isMoving: boolean;
  /** When time alone changes something, epoch ms; null: never. */
  readonly dueAtMs: number | null;
}

/** A member that the balancer sees down for so long is told of. */
export const DOWN_MS = 60_000;
/** `best-effort`: a balancer that cannot be reached for so long is not waited for. */
export const WAIVE_MS = 30_000;
/** Deadlines that differ by less are one. */
const CLOCKS_MS = 1_000;
const NOT_WELL = 'the balancer does not see it well';

/** Nobody has to do without an answer of the balancer. */
const UNSAID = { waived: false, refused: false } as const;

const NOTHING: Steps = {
  moves: [],
  modes: [],
  panic: [],
  needsLook: false,
  isMoving: false,
  dueAtMs: null,
};

/** Decides the next step of every member. Pure and total; takes time in proportion. */
export function stepMembers(input: StepInput): Steps {
  const { rows } = input;
  const wishes = wishesOf(input);
  if (input.unreachable) return { ...NOTHING, ...whileUnreachable(input, wishes) };
  const panic = panicOf(input, wishes);
  if (panic.length > 0) return { ...NOTHING, panic };
  const pass = newPass(input);
  const candidates: Candidate[] = [];
  let serving = 0;
  let interrupted = 0;
  let isFilling = false;
  for (const [machineId, wish] of wishes) {
    const row = rows.get(machineId) ?? null;
    if (row && isInterrupted(row, wish, input.pool, input.nowMs)) interrupted += 1;
    if (wish.want === 'serve' && row?.state !== 'active') isFilling ||= isComing(row, input);
    const isServing =
      row?.state === 'active' &&
      wish.want !== 'drop' &&
      input.sights?.get(machineId)?.health !== 'down';
    if (isServing) serving += 1;
    if (row?.state === 'active' && wish.want === 'drain') candidates.push({ wish, isServing });
    else pass.step(row, wish);
  }
  // Who is down would count as serving on the word of no look, or of an old one.
  const isBlind = input.capabilities.health && input.sights === null;
  const patient = isBlind ? candidates.filter(({ wish }) => !wish.force) : [];
  for (const { wish } of patient) pass.awaitLook(rows.get(wish.machineId)!);
  const able = candidates.filter((each) => !patient.includes(each));
  const { begin, wait } = drainTurns(able, input.pool, { serving, interrupted, isFilling });
  for (const wish of begin) pass.drain(rows.get(wish.machineId)!, wish.reason);
  for (const [machineId, note] of wait) pass.wait(rows.get(machineId)!, note);
  return pass.end();
}

/** A machine that is to serve becomes active in time, so that others may wait for it. */
const isComing = (row: MemberRow | null, { pool, nowMs }: StepInput): boolean =>
  row === null || row.state === 'drained' || nowMs < row.sinceMs + pool.warmUpMs + 300_000;

/** The wishes of all that are or may become members, with what the pool itself has to say. */
function wishesOf({ wishes, rows, isTornDown }: StepInput): ReadonlyMap<MachineId, Wish> {
  const all = new Map(wishes);
  for (const { machineId } of rows.values()) {
    if (all.has(machineId)) continue;
    const reason = 'nothing is known of it any more';
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
  const served = [...all.values()].filter((wish) => wish.want === 'serve');
  const { leftOut } = oneForEachAddress(served);
  for (const [machineId, reason] of leftOut) {
    const { slot } = all.get(machineId)!;
    const parked = { force: false, askedAtMs: null, leaves: true } as const;
    all.set(machineId, { want: 'drain', slot, machineId, reason, ...parked, isUnasked: true });
  }
  return all;
}

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
    if (wish?.want === 'drop' || isUnasked) going.push(machineId);
  }
  return isTooMany(going.length, active) ? going.toSorted() : [];
}

/** Only who waits for the balancer is told something: nothing is changed at it, or known of it. */
function whileUnreachable(
  { pool, balancer, rows, unreachable, nowMs }: StepInput,
  wishes: ReadonlyMap<MachineId, Wish>,
): Pick<Steps, 'moves' | 'dueAtMs'> {
  const { policy, waitMs } = pool.drain;
  const { sinceMs, why } = unreachable!;
  const moves: Steps['moves'][number][] = [];
  let dueAtMs = Infinity;
  for (const row of rows.values()) {
    const wish = wishes.get(row.machineId);
    const { machineId } = row;
    const isPatient = policy === 'require';
    const askedAtMs = wish?.want === 'drain' ? (wish.askedAtMs ?? nowMs) : nowMs;
    const atMs = isPatient ? Math.max(sinceMs, askedAtMs) + waitMs : sinceMs + WAIVE_MS;
    const isAsked = wish?.want === 'drain';
    // What was said of an earlier request is not the answer to this one.
    if ((row.refused && (!isAsked || nowMs < atMs)) || (row.waived && !isAsked)) {
      moves.push({ calls: [], move: { machineId, ...UNSAID } });
    } else if (!isAsked || !mayServe(row)) continue;
    else if (nowMs < atMs) dueAtMs = Math.min(dueAtMs, atMs);
    else if (isPatient && !row.refused) {
      const note = `refused: balancer ${balancer} cannot be reached: ${why}`;
      moves.push({ calls: [], move: { machineId, refused: true, note } });
    } else if (!isPatient) {
      const note = `balancer ${balancer} cannot be reached, and is not waited for: ${why}`;
      moves.push({ calls: [], move: { machineId, waived: true, note } });
    }
  }
  return { moves, dueAtMs: dueAtMs === Infinity ? null : dueAtMs };
}

/** Collects the steps of one pass. */
function newPass({ pool, capabilities, sights, memory, nowMs }: StepInput) {
  const isNative = capabilities.drain === 'native';
  const moves: { calls: readonly ModeCall[]; move: MemberChange }[] = [];
  const modes: ModeCall[] = [];
  let needsLook = false;
  let isMoving = false;
  let dueAtMs = Infinity;

  const move = (change: MemberChange, calls: readonly ModeCall[] = []) =>
    moves.push({ calls, move: change });
  const dueAt = (atMs: number) => {
    if (atMs > nowMs) dueAtMs = Math.min(dueAtMs, atMs);
  };
  /** Servers of the member that are not in this mode, as far as the balancer tells. */
  const toMode = (machineId: MachineId, mode: ServerMode, as: readonly ServerMode[] = [mode]) =>
    (isNative ? (sights?.get(machineId)?.servers ?? []) : [])
      .filter((server) => server.mode === null || !as.includes(server.mode))
      .map(({ ref }): ModeCall => ({ machineId, ref, mode }));
  const note = (row: MemberRow, text: string | null, more: Partial<MemberChange> = {}) => {
    const isNew = row.note !== text || Object.keys(more).length > 0;
    if (isNew) move({ machineId: row.machineId, note: text, ...more });
  };
  /** A member that is to be what it is: its servers get what belongs to that. */
  const hold = ({ machineId, state }: MemberRow) => {
    if (state === 'drained') return;
    const keepsAway = ['drain', 'off'] as const;
    if (state === 'active') modes.push(...toMode(machineId, 'active'));
    else modes.push(...toMode(machineId, 'drain', state === 'draining' ? keepsAway : ['drain']));
  };
  const enter = (row: MemberRow, to: MemberState, text: string | null) => {
    move({ machineId: row.machineId, to, note: text });
    hold({ ...row, state: to });
    isMoving ||= to === 'warming';
  };
  const drain = (row: MemberRow, reason: string) => {
    const { machineId } = row;
    const { graceMs } = pool.drain;
    move({ machineId, to: 'draining', graceMs, note: reason });
    hold({ ...row, state: 'draining' });
    isMoving ||= isNative;
    dueAt(nowMs + graceMs);
  };
  const drained = (
    row: MemberRow,
    how: DrainEnd,
    text: string,
    calls: readonly ModeCall[] = [],
  ) => {
    const sessions = sights?.get(row.machineId)?.sessions ?? null;
    move({ machineId: row.machineId, to: 'drained', how, note: text, sessions }, calls);
  };

  const join = (row: MemberRow | null, { machineId }: Wish) => {
    move({ machineId, to: 'joining', note: null, ...(row && UNSAID) });
  };
  const serve = (row: MemberRow, wish: Wish) => {
    const seen = sights?.get(row.machineId);
    const isWell = seen?.isWhole === true && (!capabilities.health || seen.health === 'up');
    const isLate = nowMs >= row.sinceMs + pool.warmUpMs;
    switch (row.state) {
      case 'drained':
        return join(row, wish);
      case 'joining':
        isMoving ||= capabilities.health;
        if (sights === null) needsLook = true;
        else if (isWell) return enter(row, 'active', null);
        else if (seen?.isWhole) return enter(row, 'warming', null);
        return hold(row);
      case 'warming':
        isMoving = true;
        dueAt(row.sinceMs + pool.warmUpMs);
        if (sights === null) needsLook = true;
        else if (isWell) return enter(row, 'active', null);
        else if (isLate && seen) return enter(row, 'active', NOT_WELL);
        return hold(row);
      case 'active':
        hold(row);
        return note(row, lookOf(row), {
          ...(row.waived && { waived: false }),
          ...(row.refused && { refused: false }),
        });
      case 'draining':
        if (sights === null) needsLook = true;
        else if (seen?.isWhole) enter(row, 'active', null);
        else conclude(row, wish);
    }
  };
  /** What the balancer thinks of an active member, for people. */
  const lookOf = ({ machineId, note: before }: MemberRow): string | null => {
    const sinceMs = memory.downSinceMs.get(machineId);
    if (sinceMs === undefined) return sights === null ? before : null;
    dueAt(sinceMs + DOWN_MS);
    return nowMs >= sinceMs + DOWN_MS || before === NOT_WELL ? NOT_WELL : null;
  };
  /** Moves the deadline of a drain, unless it is there already, as far as two clocks agree. */
  const extend = ({ machineId, deadlineMs }: MemberRow, toMs: number) => {
    if (deadlineMs !== null && deadlineMs > toMs - CLOCKS_MS) return;
    move({ machineId, to: 'draining', graceMs: toMs - nowMs, newDeadline: true });
  };
  /** Lets a member go that is draining, as soon as its connections ended or have to. */
  const conclude = (row: MemberRow, wish: Wish) => {
    const { machineId } = row;
    const reason = 'reason' in wish ? wish.reason : '';
    isMoving ||= isNative;
    if (sights === null) {
      needsLook = true;
      return;
    }
    const how: DrainEnd = wish.want === 'drain' && wish.force ? 'forced' : 'grace';
    const seen = sights.get(machineId);
    if (!seen) {
      if (isNative || wish.want !== 'drain') return drained(row, 'gone', reason);
      const endMs = (memory.absentSinceMs.get(machineId) ?? nowMs) + pool.drain.graceMs;
      if (nowMs >= endMs) return drained(row, how, reason);
      dueAt(endMs);
      return extend(row, endMs);
    }
    if (!isNative) return;
    const isAway = seen.servers.every(({ mode }) => mode === 'drain' || mode === 'off');
    if (isAway && seen.sessions === 0) return drained(row, 'no-sessions', reason);
    if (row.deadlineMs !== null && nowMs >= row.deadlineMs && isAway) {
      return drained(row, how, reason, toMode(machineId, 'off'));
    }
    // New connections still came until now: those that there are have the whole grace before them.
    if (!isAway) extend(row, nowMs + pool.drain.graceMs);
    if (row.deadlineMs !== null) dueAt(row.deadlineMs);
    hold(row);
  };
  const drop = (row: MemberRow, wish: Wish) => {
    const { machineId, state } = row;
    const reason = 'reason' in wish ? wish.reason : '';
    if (state === 'drained') return;
    if (sights === null) {
      needsLook = true;
      return;
    }
    if (isNative || !sights.has(machineId)) {
      return drained(row, 'gone', reason, toMode(machineId, 'off'));
    }
    if (state !== 'draining') move({ machineId, to: 'draining', graceMs: 0, note: reason });
  };
  /** A member that was let go and that nothing refers to is forgotten. */
  const forget = ({ machineId, state }: MemberRow, wish: Wish) => {
    const isWanted = wish.want !== 'drain' || wish.reason !== DESELECTED;
    const isKnown = wish.want !== 'drop' || wish.slot !== '';
    if (state !== 'drained' || (isWanted && isKnown)) return;
    if (sights === null) needsLook = true;
    else if (!sights.has(machineId)) move({ machineId, to: 'gone' });
  };

  return {
    drain,
    /** An active member goes on as it is, for the reason that is told. */
    wait(row: MemberRow, text: string): void {
      hold(row);
      note(row, text, row.waived || row.refused ? UNSAID : {});
    },
    /** Nothing is decided about the member before the balancer was looked at. */
    awaitLook(row: MemberRow): void {
      needsLook = true;
      if (row.waived || row.refused) note(row, row.note, UNSAID);
    },
    step(row: MemberRow | null, wish: Wish): void {
      if (!row) {
        if (wish.want === 'serve') join(null, wish);
        return;
      }
      // The balancer answers again: whoever is not drained yet has to wait until it is.
      const isExcused = (row.waived || row.refused) && row.state !== 'drained';
      const isKept = wish.want === 'keep' || (wish.want === 'drain' && row.state === 'draining');
      if (isExcused && isKept) {
        hold(row);
        note(row, row.note, UNSAID);
        isMoving = true;
        return;
      }
      if (row.state === 'drained') forget(row, wish);
      if (wish.want === 'serve') serve(row, wish);
      else if (wish.want === 'drop') drop(row, wish);
      else if (wish.want === 'keep') hold(row);
      else if (row.state === 'draining') conclude(row, wish);
      else if (row.state !== 'drained') drain(row, wish.reason);
    },
    end: (): Steps => ({
      moves,
      modes,
      panic: [],
      needsLook,
      isMoving,
      dueAtMs: dueAtMs === Infinity ? null : dueAtMs,
    }),
  };
}
