import type { MachineId } from '../ids.ts';
import type { MemberChange, MemberRow, MemberState, Wish } from './members.ts';
import type { Ref, ServerMode } from './objects.ts';
import type { Pool } from './pools.ts';
import type { Remembered, Sight } from './sights.ts';

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
  /** Rows of the same machines in other pools, and at other balancers, as they were read last. */
  readonly elsewhere: ReadonlyMap<MachineId, readonly MemberRow[]>;
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
  /** Members that serve again although somebody waits for them: elsewhere they are not let go. */
  readonly givenBack: readonly MachineId[];
  /** Something cannot be decided without a look at the balancer that is newer than the last change. */
  readonly needsLook: boolean;
  /** Something is to be looked at again soon, since it changes by itself. */
  readonly isMoving: boolean;
  /** When time alone changes something, epoch ms; null: never. */
  readonly dueAtMs: number | null;
}

/** Nobody has to do without an answer of the balancer. */
export const UNSAID = { waived: false, refused: false } as const;

/** One pass over the members: what it begins with, and the steps that it collects. */
export type MemberPass = ReturnType<typeof openPass>;

/** Begins a pass in which nothing is to be done yet. */
export function openPass(input: StepInput) {
  const { capabilities, sights, nowMs } = input;
  /** Members keep their servers while they drain. */
  const isNative = capabilities.drain === 'native';
  const moves: { calls: readonly ModeCall[]; move: MemberChange }[] = [];
  const modes: ModeCall[] = [];
  let needsLook = false;
  let isMoving = false;
  let dueAtMs = Infinity;

  const move = (change: MemberChange, calls: readonly ModeCall[] = []) =>
    void moves.push({ calls, move: change });
  /** Servers of the member that are not in this mode, or in one of these, as far as the balancer tells. */
  const toMode = (machineId: MachineId, mode: ServerMode, as: readonly ServerMode[] = [mode]) =>
    (isNative ? (sights?.get(machineId)?.servers ?? []) : [])
      .filter((server) => server.mode === null || !as.includes(server.mode))
      .map(({ ref }): ModeCall => ({ machineId, ref, mode }));
  /** A member that is to be what it is: its servers get what belongs to that. */
  const hold = ({ machineId, state }: MemberRow) => {
    if (state === 'drained') return;
    const keepsAway = ['drain', 'off'] as const;
    if (state === 'active') modes.push(...toMode(machineId, 'active'));
    else modes.push(...toMode(machineId, 'drain', state === 'draining' ? keepsAway : ['drain']));
  };
  return {
    ...{ ...input, isNative, move, toMode, hold },
    /** Writes a note where that is another one, or where there is more to write. */
    note(row: MemberRow, text: string | null, more: Partial<MemberChange> = {}) {
      const isNew = row.note !== text || Object.keys(more).length > 0;
      if (isNew) move({ machineId: row.machineId, note: text, ...more });
    },
    /** The member comes to a state in which its servers get what belongs to that. */
    enter(row: MemberRow, to: MemberState, change: Omit<MemberChange, 'machineId' | 'to'>) {
      move({ machineId: row.machineId, to, ...change });
      hold({ ...row, state: to });
    },
    needLook: () => void (needsLook = true),
    lookSoon: () => void (isMoving = true),
    dueAt(atMs: number) {
      if (atMs > nowMs) dueAtMs = Math.min(dueAtMs, atMs);
    },
    end: (): Steps => ({
      ...{ moves, modes, panic: [], givenBack: [], needsLook, isMoving },
      dueAtMs: dueAtMs === Infinity ? null : dueAtMs,
    }),
  };
}
