import type { EmulatorClock } from '../kit/clock.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { Generator } from '../kit/random.ts';
import type { EffectOf, EffectType, Faults, Subject } from './fault-rules.ts';
import type { Limits } from './api/limits.ts';
import type { Machine } from './machine/machine.ts';
import type { Timings } from './machine/timings.ts';
import type { AccountKey, Server } from './world.ts';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** What every part of the emulator shares. */
export interface Core {
  readonly servers: readonly Server[];
  readonly machines: ReadonlyMap<number, Machine>;
  /** By fingerprint. */
  readonly keys: Map<string, AccountKey>;
  readonly clock: EmulatorClock;
  readonly timings: Timings;
  /** How many times faster than the real thing. */
  readonly pace: number;
  readonly faults: Faults;
  readonly limits: Limits;
  readonly credentials: Credentials;
  setPassword(password: string): void;
  readonly ids: Generator;
  /** Names are cut to so many characters. */
  readonly nameLength: number;
  readonly log: EmulatorLog;
}

/** One request as a handler sees it. */
export interface Call {
  readonly core: Core;
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
  readonly form: Form;
  /** Of the path. @throws {RobotError} there is none. */
  server(): Server;
  strike<T extends EffectType>(
    type: T,
    fits?: (effect: EffectOf<T>) => boolean,
  ): EffectOf<T> | undefined;
  /** The same for one of many servers, as a list of them shows it. */
  strikeOf<T extends EffectType>(
    server: Server,
    type: T,
    fits?: (effect: EffectOf<T>) => boolean,
  ): EffectOf<T> | undefined;
}

/** The fields of a form as PHP reads them. */
export type Form = ReadonlyMap<string, string | readonly string[]>;

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

export type Handler = (call: Call) => Answer;

/** What can be done with one path. */
export interface Route {
  /** Placeholders in braces. */
  readonly path: string;
  readonly GET?: Handler;
  readonly POST?: Handler;
  readonly PUT?: Handler;
  readonly DELETE?: Handler;
}

export const subjectOf = (server: Server): Subject => ({
  method: '',
  route: '',
  server: server.number,
});
