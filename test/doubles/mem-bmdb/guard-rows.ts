import type { GuardRow } from '../../../src/domain/machine.ts';
import { FLEET, calmRow } from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../src/domain/recovery/guard-judgement.ts';

/** The guard's decisions, and its frequent writes. */
export interface MemGuard {
  /** Rows of `fleet`, and of each provider with a decision. */
  readonly rows: Map<string, GuardRow>;
  /** `upSinceMs` is the fleet row's value. */
  seenAtMs: number | null;
  lostAtMs: number | null;
  assessedAtMs: number | null;
  counts: readonly GuardCounts[];
}

export const createMemGuard = (): MemGuard => ({
  rows: new Map([[FLEET, calmRow(FLEET)]]),
  seenAtMs: null,
  lostAtMs: null,
  assessedAtMs: null,
  counts: [],
});

export const guardRow = ({ rows }: MemGuard, scope: string): GuardRow =>
  rows.get(scope) ?? calmRow(scope);

/** When heartbeats were received. */
export const ingestOf = (guard: MemGuard): Ingest => ({
  upSinceMs: guardRow(guard, FLEET).ingestUpSinceMs,
  seenAtMs: guard.seenAtMs,
  lostAtMs: guard.lostAtMs,
});
