import type { RequestBook } from '../../../adapters/bmdb/port.ts';
import type { Clock } from '../../../adapters/clock/port.ts';
import type { PoolRow } from '../../../domain/balancing/pool-row.ts';
import type { GuardRow } from '../../../domain/machine.ts';
import type { ProviderMeans } from '../../../domain/filing/prospects.ts';
import type { LossPolicy } from '../../../domain/policy.ts';

/** What the daemon knows that is needed to file requests, and to tell what would become of them. */
export interface FilingMeans {
  readonly requests: RequestBook;
  readonly clock: Clock;
  readonly loss: LossPolicy;
  /** Names of those that are configured. */
  readonly providers: readonly string[];
  /** Rows of the guard, as of the last read. */
  readonly guard: () => readonly GuardRow[];
  /** How pools stand at their balancers, as of the last read. */
  readonly pools: () => readonly PoolRow[];
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
  /** What becomes of a machine of this provider that is given back, for people. */
  readonly givingBack: (provider: string) => string;
  /** What this provider can do; null: it is not configured here. */
  readonly means: (provider: string) => Promise<ProviderMeans | null>;
  /** Told how each asking ended: `filed`, or the code of its refusal. */
  readonly onAsked?: ((verb: string, via: string, outcome: string) => void) | undefined;
}
