import type { JournalEntry } from '../kit/journal.ts';
import type { EmulatorLog } from '../kit/log.ts';
import type { EmulatorClock, ManualClock } from '../kit/clock.ts';
import type { MachineHooks } from '../kit/hooks.ts';
import type { ListenAt } from '../kit/listen.ts';
import type { Limits } from './core.ts';
import type { Fault, FaultRule } from './fault-rules.ts';
import type { Timings } from './life/timings.ts';
import type { GivenKnobs, Knobs } from './state/knobs.ts';
import type { Billing, Stock } from './state/world.ts';

export interface LatitudeEmulatorOptions {
  /** Of the API; the admin API has the next port. 0: free ones. */
  readonly listen: ListenAt;
  /** Slugs. */
  readonly plans?: readonly string[];
  /** Default: 20 of each plan at each site. What is not in it is not in stock. */
  readonly stock?: Stock;
  /** How many servers a team may have. Default 1000. */
  readonly serversMax?: number;
  /** Default 1. Of ids and chance; tokens are random always. */
  readonly seed?: number;
  /** `fast`: everything a hundred times as fast, the minute of the limits too. Default `real`. */
  readonly profile?: 'real' | 'fast';
  readonly timings?: Partial<Timings>;
  /** Default: 60 reads and 20 writes in a minute. */
  readonly limits?: Partial<Limits>;
  readonly knobs?: GivenKnobs;
  readonly faults?: readonly FaultRule[];
  /** Default: the real one. A manual one is moved by `advance` only. */
  readonly clock?: EmulatorClock | ManualClock;
  /** Without them servers are paper only. */
  readonly hooks?: MachineHooks;
  readonly log?: EmulatorLog;
}

/** What a test wants to know of a server. */
export interface ServerSnapshot {
  readonly id: string;
  readonly hostname: string;
  readonly project: string;
  readonly plan: string;
  readonly site: string;
  readonly status: string;
  readonly billing: Billing;
  readonly address: string | null;
  readonly locked: boolean;
  readonly operatingSystem: string;
  readonly raid: string | null;
  /** Id of the record that it was deployed with. */
  readonly userData: string | null;
  readonly sshKeys: readonly string[];
  readonly createdAtMs: number;
  readonly scheduledDeletionAtMs: number | null;
}

/** Without what it says. */
export interface UserDataSnapshot {
  readonly id: string;
  readonly project: string;
  readonly description: string;
  readonly contentLength: number;
}

export interface TeamSnapshot {
  readonly id: string;
  readonly name: string;
  readonly projects: readonly {
    readonly id: string;
    readonly slug: string;
    readonly provisioningType: 'on_demand' | 'reserved';
  }[];
}

export interface LatitudeEmulator {
  /** Base of the API, without a trailing slash. */
  readonly url: string;
  /** Of the first team. */
  readonly token: string;
  /** Of the second team. */
  readonly otherToken: string;
  /** Id of the first team's project on demand. */
  readonly project: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  teams(): readonly TeamSnapshot[];
  /** In the order of their creation, of all teams; deleted ones are gone. */
  servers(): readonly ServerSnapshot[];
  userData(): readonly UserDataSnapshot[];
  /** What is left, by plan and site. */
  stock(): Stock;
  /** @throws {Error} there is no such plan or site. */
  setStock(plan: string, site: string, count: number): void;
  /** The journal's entries after `seq`, oldest first. */
  requests(afterSeq?: number): readonly JournalEntry[];
  /** @throws {ZodError} for a rule that cannot be understood. */
  addFault(rule: FaultRule): Fault;
  faults(): readonly Fault[];
  /** Answers whether the fault existed. */
  removeFault(id: string): boolean;
  clearFaults(): void;
  /** Those that are not given stay. @throws {ZodError} */
  setKnobs(knobs: GivenKnobs): Knobs;
  /** Another key of the first team. */
  issueToken(): string;
  /** Epoch ms. */
  now(): number;
  /** Moves a manual clock, and waits for the hooks at each step. @throws {Error} it is not manual. */
  advance(ms: number): Promise<void>;
  /** Ends all timers and sockets at once. Idempotent. */
  close(): Promise<void>;
}
