import type { Explanation } from '../domain/explanation/types.ts';
import type { LadderStanding } from '../domain/explanation/ladder-standing.ts';
import type { Queue } from '../domain/explanation/queue.ts';
import type { MachineId, Slot } from '../domain/ids.ts';
import type { MachineState } from '../domain/states.ts';
import type { LiveStates } from '../machines/shown.ts';

/** A state of a machine as it is shown. */
export interface ShownPlace {
  readonly state: MachineState;
  readonly substate: string;
}

/** What a machine's own actor does at this moment. Times are epoch ms of the database clock. */
export interface LiveMachine extends Omit<LiveStates, 'task'> {
  /** The task of this daemon that works on it, and when its step is out of patience; null: none. */
  readonly task: (NonNullable<LiveStates['task']> & { readonly endsAtMs: number | null }) | null;
  readonly atMs: number;
  readonly shown: ShownPlace;
  /** As rows, listing and clock tell it. */
  readonly rows: ShownPlace;
  /** False: actor and rows disagree, though the actor does not work. */
  readonly agrees: boolean;
  /** The last change that this daemon saw; null: none since it started. */
  readonly last: {
    readonly from: ShownPlace;
    readonly to: ShownPlace;
    readonly atMs: number;
    readonly reason: string | null;
  } | null;
  /** What the clock does next, if nothing else happens first; null: nothing. */
  readonly timer: {
    /** Names of the states of life between which it leads; `to` may be `from`. */
    readonly from: ShownPlace;
    readonly to: ShownPlace;
    readonly atMs: number;
  } | null;
}

/** What is told of one machine beyond its row. */
export interface MachineInsight {
  /** @throws {Unreachable} the database does not answer. */
  explain(slot: Slot, signal: AbortSignal): Promise<Explanation | null>;
  /** Null: this daemon has no actor of that slot. */
  live(slot: Slot): LiveMachine | null;
  /** Null: nothing is on the slot that could be recovered. */
  ladder(slot: Slot): (LadderStanding & { readonly queue: Queue | null }) | null;
  /**
   * What its agent found in it, by the names of the message's fields; null: nothing was reported.
   * @throws {Unreachable} the database does not answer.
   */
  hardware(
    machineId: MachineId,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>> | null>;
}

/** Nothing is known of any machine. */
export const NO_INSIGHT: MachineInsight = {
  explain: async () => null,
  live: () => null,
  ladder: () => null,
  hardware: async () => null,
};
