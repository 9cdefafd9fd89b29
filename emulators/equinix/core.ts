import type { Generator } from '../kit/random.ts';
import type { StateChange } from './options.ts';
import type { Scheduler } from './life/scheduler.ts';
import type { EquinixTimings } from './life/timings.ts';
import type { State } from './state/state.ts';

/** What every part of the emulator shares. */
export interface EquinixCore {
  readonly state: State;
  readonly timings: EquinixTimings;
  readonly ids: Generator;
  /** Apart from the ids, so that faults do not change them. */
  readonly chance: Generator;
  /** Epoch ms. */
  readonly now: () => number;
  readonly scheduler: Scheduler;
  /** Something changed: store it, and tell who listens. */
  readonly changed: (change?: Omit<StateChange, 'atMs'>) => void;
  /** Grows with every change. */
  readonly revision: () => number;
}
