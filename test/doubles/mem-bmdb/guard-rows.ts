import type { GuardRow } from '../../../src/domain/machine.ts';
import { FLEET, calmRow } from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../src/domain/recovery/guard-judgement.ts';

/** What the guard has decided, and what it writes all the time. */
export interface MemGuard {
  /** Of `fleet`, and of each provider that it ever decided on. */
  readonly rows: Map<string, GuardRow>;
  /** `upSinceMs` is that of the fleet's row. */
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

/** When heartbeats were taken in. */
export const ingestOf = (guard: MemGuard): Ingest => ({
  upSinceMs: guardRow(guard, FLEET).ingestUpSinceMs,
  seenAtMs: guard.seenAtMs,
  lostAtMs: guard.lostAtMs,
});
