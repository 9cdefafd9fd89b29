import type { FaultBook } from '../kit/fault-book.ts';
import type { EmulatorClock } from '../kit/clock.ts';
import type { Generator } from '../kit/random.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { FaultEffect, FaultMatch } from './fault-rules.ts';
import type { Knobs } from './knobs.ts';
import type { Kind } from './kinds.ts';
import type { Complaint } from './options.ts';
import type { World } from './world.ts';

/** What rules look at. */
export interface Subject {
  readonly method: string;
  readonly route: string;
  readonly kind?: Kind | undefined;
  readonly name?: string | undefined;
  readonly id?: string | undefined;
  readonly page?: number | undefined;
}
export type Faults = FaultBook<FaultMatch, FaultEffect, Subject>;

/** What every part of the emulator shares. */
export interface Core {
  readonly world: World;
  readonly clock: EmulatorClock;
  readonly chance: Generator;
  readonly faults: Faults;
  /** The object stays the same. */
  readonly knobs: Knobs;
  readonly stateDelayMs: number;
  readonly token: string;
  readonly adminToken: string;
  readonly complaints: Complaint[];
  readonly log: EmulatorLog;
}

/** One request as a handler sees it. */
export interface Call {
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** As it came, without the question mark. */
  readonly rawQuery: string;
  /** Parsed; undefined when nothing was sent. */
  readonly body: unknown;
  /** Lists show what was there then, epoch ms. */
  readonly listsAtMs: number;
  /** The effects of faults that strike a creation or a change. */
  readonly doom: {
    readonly twin: boolean;
    readonly neverDeploys: boolean;
    readonly failures: number;
  };
  /** The sender may have meant something else. */
  complain(text: string): void;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Placeholders in braces. */
  readonly path: string;
  /** Of the kind's own routes. */
  readonly kind?: Kind;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}
