import type { ExplanationFacts, ExplanationMoment } from '../../../src/domain/explanation/types.ts';
import type { GuardRow, SlotFacts } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../../src/domain/recovery/guard-judgement.ts';
import { DEFAULT_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { agentStarted, machineRow, NOW_MS, slotFacts } from '../../support/facts.ts';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const moment: ExplanationMoment = {
  nowMs: NOW_MS,
  loss: DEFAULT_LOSS,
  guard: DEFAULT_GUARD,
};

/** A scope without any trouble. */
export const guardRow = (change: Partial<GuardRow> = {}): GuardRow => ({
  scope: 'fleet',
  frozen: null,
  calmSinceMs: null,
  thawedAtMs: null,
  ingestUpSinceMs: NOW_MS - 10 * HOUR,
  ...change,
});

/** The explanation by a daemon that knows only this slot and a calm guard. */
export const explained = (
  slot: Partial<SlotFacts>,
  more: Partial<ExplanationFacts> = {},
): ExplanationFacts => ({
  slot: slotFacts(slot),
  shown: null,
  seenSinceMs: null,
  quarantinedBy: null,
  self: null,
  guard: { rows: [guardRow()], counts: [] },
  queue: null,
  providerHolds: [],
  ladder: { policy: DEFAULT_LADDER, means: null },
  breaker: null,
  usual: null,
  ...more,
});

/** A machine whose last heartbeat was 14 minutes ago, which is beyond its deadline. */
export const silentRow = machineRow({
  agentStarted: agentStarted(NOW_MS - 5 * HOUR),
  heartbeat: { atMs: NOW_MS - 14 * MINUTE, bootId: 'boot-1' },
});
