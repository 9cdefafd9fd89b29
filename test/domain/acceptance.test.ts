import { expect, test } from 'vitest';
import {
  acceptanceState,
  acceptanceText,
  createAcceptanceHolds,
  whyNotAccepted,
  type AcceptanceCheck,
  type AcceptanceRow,
} from '../../src/domain/acceptance.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import type { HoldRow, SlotFacts } from '../../src/domain/machine.ts';
import { machineRow, PROVIDER } from '../contracts/bmdb-rows.ts';

const OK: AcceptanceCheck = { name: 'memory', expected: '64 GiB', found: '64 GiB', status: 'ok' };

test('accepts what no check forbids; an expected value must be known', () => {
  expect(whyNotAccepted([OK])).toBeNull();
  expect(whyNotAccepted([OK, { ...OK, expected: '', status: 'unknown' }])).toBeNull();
  expect(whyNotAccepted([])).toBe('nothing was checked');
  const unread = { ...OK, found: 'it cannot be read', status: 'unknown' } as const;
  expect(whyNotAccepted([OK, unread])).toBe('memory: it cannot be read, expected 64 GiB');
  expect(whyNotAccepted([unread, { ...OK, found: '1 GiB', status: 'failed' }])).toMatch(
    /it cannot be read, expected 64 GiB \(and 1 more\)$/,
  );
});

const row = (change: Partial<AcceptanceRow> = {}): AcceptanceRow => ({
  ...{ state: 'due', cause: 'first', held: true, askedAtMs: 0, handedOutAtMs: null },
  ...{ endedAtMs: null, reason: '', ...change },
});

test('is unknown half an hour after the hand-out', () => {
  const handed = row({ handedOutAtMs: 1_000 });
  expect(acceptanceState(row(), 1e9)).toBe('due');
  expect(acceptanceState(handed, 1_800_999)).toBe('due');
  expect(acceptanceState(handed, 1_801_000)).toBe('unknown');
  expect(acceptanceState({ ...handed, state: 'passed' }, 1_801_000)).toBe('passed');
  expect(acceptanceText(handed, 1_801_000)).toMatch(/^acceptance: no answer/);
  expect(acceptanceText(row({ state: 'failed', reason: 'memory' }), 0)).toBe(
    'its acceptance failed: memory',
  );
  expect(acceptanceText(row({ state: 'passed' }), 0)).toBeNull();
  const waiting = row({ state: 'waiting', cause: 'repaired' });
  expect(acceptanceState(waiting, 1e9)).toBe('waiting');
  expect(acceptanceText(waiting, 0)).toBe('it is checked again after its repair');
  expect(acceptanceText({ ...waiting, cause: 'asked' }, 0)).toMatch(/begins soon/);
});

const hold = createAcceptanceHolds({ [PROVIDER]: { required: true }, told: { required: false } });
function holdsOf(acceptance: AcceptanceRow | null, provider = PROVIDER, own: HoldRow[] = []) {
  const machine = machineRow(0, { acceptance });
  const provided = { ...machine.provided!, provider };
  const facts = { slot: slot(provider, 's'), provider, row: { ...machine, provided }, holds: own };
  const held = hold(facts as unknown as SlotFacts);
  expect(hold(held).holds, 'the same row has the same hold').toEqual(held.holds);
  expect(hold(facts as unknown as SlotFacts).holds.at(-1)).toBe(held.holds.at(-1));
  return held.holds.map(({ kind, setBy, reason }) => `${kind} ${setBy}: ${reason}`);
}

test('keeps a machine out of pools only where acceptance is required', () => {
  const failed = row({ state: 'failed', held: false, reason: 'memory' });
  expect(holdsOf(failed)).toEqual(['no-serve acceptance: it was not accepted: memory']);
  const waiting = row({ state: 'waiting', cause: 'repaired' });
  expect(holdsOf(waiting)).toEqual(['no-serve acceptance: it is not accepted yet']);
  expect(holdsOf({ ...waiting, held: false })).toEqual([]);
  expect(holdsOf(failed, providerName('told'))).toEqual([]);
  expect(holdsOf(failed, providerName('other'))).toEqual([]);
  expect(holdsOf(row())).toEqual(['no-serve acceptance: it is not accepted yet']);
  expect(holdsOf(row({ state: 'passed' }))).toEqual([]);
  expect(holdsOf(null)).toEqual([]);
});

test('does not take a machine out of service because a person asks', () => {
  expect(holdsOf(row({ cause: 'asked', held: false }))).toEqual([]);
});
