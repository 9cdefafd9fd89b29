import type { MachineId } from '../ids.ts';
import type { MemberChange, MemberRow, MemberState, Wish } from './members.ts';
import type { Ref, ServerMode } from './objects.ts';
import type { Pool } from './pools.ts';
import type { Remembered, Sight } from './sights.ts';

/** A call that opens a server of a balancer to connections, or closes it. */
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
  /** The last look at the balancer, if nothing was changed there since; null: there is none. */
  readonly sights: ReadonlyMap<MachineId, Sight> | null;
  readonly memory: Remembered;
  /** Last known rows of the same machines in other pools and at other balancers. */
  readonly elsewhere: ReadonlyMap<MachineId, readonly MemberRow[]>;
  /** Since when calls of the balancer fail, and why; null: they do not fail. */
  readonly unreachable: { readonly sinceMs: number; readonly why: string } | null;
  /** An operator, or a long wait, has accepted that many members leave at once. */
  readonly mayDropAll: boolean;
  /** The pool is being removed: all members leave. */
  readonly isTornDown: boolean;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
}

/** Steps for the members of a pool, in this order: calls, then rows, then modes. */
export interface Steps {
  /** A row is written only after all of its calls have succeeded. */
  readonly moves: readonly { readonly calls: readonly ModeCall[]; readonly move: MemberChange }[];
  /** Modes that servers should have after the moves, where they differ. */
  readonly modes: readonly ModeCall[];
  /** Members that are not dropped, because too many would be dropped together. Empty: none. */
  readonly panic: readonly MachineId[];
  /** Members that serve again despite a waiting request, because others did not drain them. */
  readonly givenBack: readonly MachineId[];
  /** A decision needs a look at the balancer that is newer than the last change. */
  readonly needsLook: boolean;
  /** Something changes by itself and needs another look soon. */
  readonly isMoving: boolean;
  /** When the clock alone changes something, epoch ms; null: never. */
  readonly dueAtMs: number | null;
}

/** The flags of a member whose requests still wait for the balancer's answer. */
export const UNSAID = { waived: false, refused: false } as const;

/** One pass over the members: its input and the steps that it collects. */
export type MemberPass = ReturnType<typeof openPass>;

/** Begins a pass without any steps. */
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
  /** Servers of the member whose mode, as far as the balancer shows it, is none of these. */
  const toMode = (machineId: MachineId, mode: ServerMode, as: readonly ServerMode[] = [mode]) =>
    (isNative ? (sights?.get(machineId)?.servers ?? []) : [])
      .filter((server) => server.mode === null || !as.includes(server.mode))
      .map(({ ref }): ModeCall => ({ machineId, ref, mode }));
  /** Keeps a member in its state, and gives its servers the mode of that state. */
  const hold = ({ machineId, state }: MemberRow) => {
    if (state === 'drained') return;
    const keepsAway = ['drain', 'off'] as const;
    if (state === 'active') modes.push(...toMode(machineId, 'active'));
    else modes.push(...toMode(machineId, 'drain', state === 'draining' ? keepsAway : ['drain']));
  };
  return {
    ...{ ...input, isNative, move, toMode, hold },
    /** Writes a note if the text is new, or if there is more to write. */
    note(row: MemberRow, text: string | null, more: Partial<MemberChange> = {}) {
      const isNew = row.note !== text || Object.keys(more).length > 0;
      if (isNew) move({ machineId: row.machineId, note: text, ...more });
    },
    /** Moves the member to a state, and gives its servers the mode of that state. */
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
