import type { Generator } from '../kit/random.ts';
import type { StateChange } from './options.ts';
import type { Scheduler } from './life/scheduler.ts';
import type { EquinixTimings } from './life/timings.ts';
import type { State } from './state/state.ts';

/** What all parts of the emulator share. */
export interface EquinixCore {
  readonly state: State;
  readonly timings: EquinixTimings;
  readonly ids: Generator;
  /** Separate from the ids, so that faults do not change them. */
  readonly chance: Generator;
  /** Epoch ms. */
  readonly now: () => number;
  readonly scheduler: Scheduler;
  /** Stores a change and notifies listeners. */
  readonly changed: (change?: Omit<StateChange, 'atMs'>) => void;
  /** Grows with every change. */
  readonly revision: () => number;
}
