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

/** Of a scope that nothing is the matter with. */
export const guardRow = (change: Partial<GuardRow> = {}): GuardRow => ({
  scope: 'fleet',
  frozen: null,
  calmSinceMs: null,
  thawedAtMs: null,
  ingestUpSinceMs: NOW_MS - 10 * HOUR,
  ...change,
});

/** What a daemon knows that knows of nothing but the slot, and a calm guard. */
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

/** A machine that was heard of 14 minutes ago, which is longer than it may. */
export const silentRow = machineRow({
  agentStarted: agentStarted(NOW_MS - 5 * HOUR),
  heartbeat: { atMs: NOW_MS - 14 * MINUTE, bootId: 'boot-1' },
});
