import type { NewEvent } from '../../domain/events/fleet-event.ts';
import type { RollRow, RollState } from '../../domain/rolling.ts';

/** Rolling actions. Any daemon carries them on. Ended ones are kept for `ROLLS_KEPT_DAYS`. */
export interface RollRepository {
  /** Stores a new roll, once per id. @returns the roll as it is stored now. */
  create(roll: NewRoll): Promise<RollRow>;
  /** Newest first. `running`: only those that go on. */
  list(
    query: { readonly running?: boolean; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly RollRow[]>;
  /** Null: there is none. */
  read(id: string): Promise<RollRow | null>;
  /**
   * Writes a step of a running roll. @returns false if it no longer runs or is further: nothing was
   * written.
   */
  step(roll: Pick<RollRow, 'id' | 'position'>, change: RollChange): Promise<boolean>;
  /** What a person asks. @returns the roll as it is then, changed or not; null: there is none. */
  control(id: string, verb: RollControl, by: string): Promise<RollRow | null>;
}

export const ROLLS_KEPT_DAYS = 400;
export type NewRoll = Omit<
  RollRow,
  'createdAtMs' | 'state' | 'note' | 'position' | 'nextAtMs' | 'failures'
>;
export type RollChange = Pick<RollRow, 'state' | 'note' | 'position' | 'nextAtMs' | 'failures'>;
export const ROLL_CONTROLS = ['pause', 'resume', 'abort'] as const;
export type RollControl = (typeof ROLL_CONTROLS)[number];

/** The states in which a person may ask for it, and the state that follows. */
export const CONTROLLED = {
  pause: { from: ['running'], to: 'paused' },
  resume: { from: ['paused'], to: 'running' },
  abort: { from: ['running', 'paused'], to: 'aborted' },
} as const satisfies Record<
  RollControl,
  { readonly from: readonly RollState[]; readonly to: RollState }
>;

/** The event for a roll that changed its state; null: the change is no event. */
export function rollEvent(
  { id, action }: Pick<RollRow, 'id' | 'action'>,
  state: RollState,
  { by, reason }: { readonly by: string; readonly reason: string },
): NewEvent | null {
  if (state === 'running' || state === 'paused') return null;
  return { type: `roll.${state}`, actor: by, reason, details: { roll: id, action } };
}
