import type { EmulatorClock } from '../kit/clock.ts';
import type { JournalEntry } from '../kit/journal.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { ListenAt } from '../kit/listen.ts';
import type { Fault, FaultRule } from './fault-rules.ts';
import type { Kind } from './kinds.ts';
import type { GivenKnobs, Knobs } from './knobs.ts';

export interface AnexiaEmulatorOptions {
  /** Loopback only is the caller's business; port 0 takes a free one. */
  readonly listen: ListenAt;
  /** From a creation or a change until it is deployed, milliseconds. Default 0. */
  readonly stateDelayMs?: number;
  /** Default 1. Of ids and chance; tokens are random always. */
  readonly seed?: number;
  /** How many load balancers there are. Default 2. */
  readonly loadBalancers?: number;
  readonly faults?: readonly FaultRule[];
  readonly knobs?: GivenKnobs;
  /** Default: the real one. */
  readonly clock?: EmulatorClock;
  readonly log?: EmulatorLog;
}

/** What a test wants to know of an object. */
export interface ObjectSnapshot {
  readonly id: string;
  /** Null: a resource of another kind. */
  readonly kind: Kind | null;
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** `0` to `4`. */
  readonly state: string;
  readonly tags: readonly string[];
}

/** A request that the real service may understand otherwise than its sender. */
export interface Complaint {
  /** Of the journal. */
  readonly seq: number;
  readonly text: string;
}

export interface AnexiaEmulator {
  /** Base of the API, without a trailing slash. */
  readonly url: string;
  readonly adminUrl: string;
  readonly tokens: {
    /** For `Authorization: Token …`. */
    readonly api: string;
    /** For `X-Fake-Admin` only. */
    readonly admin: string;
  };
  /** Ids. */
  readonly loadBalancers: readonly string[];
  /** In the order of their creation; destroyed ones are gone. */
  objects(): readonly ObjectSnapshot[];
  /** The journal's entries after `seq`, oldest first. */
  requests(afterSeq?: number): readonly JournalEntry[];
  complaints(): readonly Complaint[];
  /** @throws {ZodError} for a rule that cannot be understood. */
  addFault(rule: FaultRule): Fault;
  faults(): readonly Fault[];
  /** Answers whether the fault existed. */
  removeFault(id: string): boolean;
  clearFaults(): void;
  setKnobs(knobs: GivenKnobs): Knobs;
  /** Puts an object into a state at once; null: it shows none. @throws {Error} it is unknown. */
  setState(id: string, state: string | null): void;
  /** Changes fields without anybody asking. @throws {Error} it is unknown. */
  setFields(id: string, fields: Readonly<Record<string, unknown>>): void;
  /** A resource of a kind that the API has no routes for. Answers its id. */
  addResource(resource: {
    readonly name: string;
    readonly typeId: string;
    readonly tags: readonly string[];
  }): string;
  /** Ends all timers and sockets at once. Idempotent. */
  close(): Promise<void>;
}
