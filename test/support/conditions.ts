import type { ConditionRow } from '../../src/domain/conditions.ts';
import { NOW_MS, PROVIDER, SLOT_ID } from './facts.ts';

/** A true condition of the usual slot; it never expires. */
export const conditionRow = (change: Partial<ConditionRow> = {}): ConditionRow => ({
  provider: PROVIDER,
  slotId: SLOT_ID,
  type: 'disk-failing',
  source: 'agent',
  status: 'True',
  reason: 'sda: 2 media errors',
  detail: '',
  sinceMs: NOW_MS - 60_000,
  fromMs: null,
  expiresAtMs: null,
  ...change,
});
