import type { FleetRows, Lease } from '../../adapters/bmdb/port.ts';
import type { Finding } from '../../domain/provisioning/findings.ts';
import type { Reconciliation } from '../../domain/provisioning/reconcile.ts';
import type { DatedListing } from '../providers/listings.ts';

/** A listing, and the rows of the BMDB. */
export interface Reading {
  readonly listing: DatedListing;
  readonly rows: FleetRows;
  /** Monotonic milliseconds at which the rows had been read: not before the database time in them. */
  readonly atMs: number;
  /** The mark of the creations at which reading the rows began. */
  readonly mark: number;
}

/** What an iteration knows beside its chart, and what is remembered from one to the next. */
export interface RoundState {
  lease: Lease;
  /** Of the lease under which unfinished creations were resolved last. */
  settledEpoch: Lease['epoch'] | null;
  /** Monotonic. */
  begunAtMs: number;
  /** What was read last. */
  read: Reading | null;
  plan: Reconciliation | null;
  findings: readonly Finding[];
  /** The listing whose absences were counted last: each listing counts once. */
  countedListingAtMs: number | null;
  /** Devices that nothing referred to in the iteration before. */
  orphansBefore: ReadonlySet<string>;
  readonly toldOrphans: Set<string>;
  isForeignTold: boolean;
  isOverLimitTold: boolean;
  /** How many listed machines were over the limit when that was logged last. */
  leftOutTold: number;
  breakerTold: string | null;
  /** Monotonic milliseconds at which all that creations need was last put in place; null: never. */
  preparedAtMs: number | null;
  /** When the next creation may begin, monotonic. */
  nextCreationAtMs: number;
}

export const newRound = (lease: Lease): RoundState => ({
  lease,
  settledEpoch: null,
  begunAtMs: 0,
  read: null,
  plan: null,
  findings: [],
  countedListingAtMs: null,
  orphansBefore: new Set(),
  toldOrphans: new Set(),
  isForeignTold: false,
  isOverLimitTold: false,
  leftOutTold: 0,
  breakerTold: null,
  preparedAtMs: null,
  nextCreationAtMs: -Infinity,
});
