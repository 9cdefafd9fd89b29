import type { EmulatorLog } from '../kit/log.ts';
import type { EmulatorClock } from '../kit/clock.ts';
import type { Generator } from '../kit/random.ts';
import type { MachineHooks } from '../kit/hooks.ts';
import type { EffectOf, EffectType, Faults, Subject } from './fault-rules.ts';
import type { Timings } from './life/timings.ts';
import type { Knobs } from './state/knobs.ts';
import type { Server, Team, World } from './state/world.ts';

/** How many requests a key may make within `windowMs`. */
export interface Limits {
  readonly reads: number;
  readonly writes: number;
  readonly windowMs: number;
}

/** What every part of the emulator shares. */
export interface Core {
  readonly world: World;
  readonly clock: EmulatorClock;
  readonly chance: Generator;
  readonly faults: Faults;
  /** The object stays the same. */
  readonly knobs: Knobs;
  readonly timings: Timings;
  readonly limits: Limits;
  readonly hooks: MachineHooks | undefined;
  readonly log: EmulatorLog;
}

/** One request as a handler sees it. */
export interface Call {
  /** Counts up: of the journal. */
  readonly seq: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** Parsed; undefined when nothing was sent. */
  readonly body: unknown;
  /** Whose key it was. */
  readonly team: Team;
  /** Lists show what was there then, epoch ms. */
  readonly listsAtMs: number;
  readonly subject: Subject;
  /** The first fault of this type that strikes the request; of those that `fits` takes. */
  strike<T extends EffectType>(
    type: T,
    fits?: (effect: EffectOf<T>) => boolean,
  ): EffectOf<T> | undefined;
  /** The same, for what is shown or done of one server. */
  strikeAt<T extends EffectType>(server: Server, type: T): EffectOf<T> | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Placeholders in braces. */
  readonly path: string;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}
