import type { EmulatorClock } from '../kit/clock.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { EffectOf, EffectType, Faults } from './fault-rules.ts';
import type { SystemHooks } from './options.ts';
import type { Power, Timings } from './power.ts';
import type { Profile } from './profiles.ts';
import type { Bmc } from './world.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** What every part of the emulator shares. */
export interface Core {
  readonly profile: Profile;
  readonly bmcs: readonly Bmc[];
  readonly clock: EmulatorClock;
  readonly timings: Timings;
  readonly faults: Faults;
  readonly credentials: Credentials;
  readonly hooks: SystemHooks | undefined;
  readonly log: EmulatorLog;
}

/** One request as a handler sees it. */
export interface Call {
  readonly method: string;
  /** As it came, without query and without a slash at the end. */
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  /** Parsed; undefined when nothing was sent. */
  readonly body: unknown;
  readonly bmc: Bmc;
  readonly power: Power;
  /** The first fault of these types that strikes the request. */
  strike<T extends EffectType>(
    type: T,
    fits?: (effect: EffectOf<T>) => boolean,
  ): EffectOf<T> | undefined;
  /** A time, epoch ms, as this BMC's clock has it. */
  time(atMs: number): string;
  /** A path as the profile writes links. */
  link(path: string): string;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Handler = (core: Core, call: Call) => Answer;

/** What can be done with one path. */
export interface Resource {
  /** Placeholders in braces. */
  readonly path: string;
  /** Without a login. */
  readonly open?: readonly string[];
  readonly GET?: (core: Core, call: Call) => Readonly<Record<string, unknown>>;
  /** A GET whose status says something. */
  readonly poll?: Handler;
  readonly POST?: Handler;
  readonly PATCH?: Handler;
  readonly DELETE?: Handler;
}
