import { describe, expect, test } from 'vitest';
import type { GuardRow } from '../../../src/domain/machine.ts';
import { guardEnd, noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  FLEET,
  type GuardCounts,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { NOW_MS } from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, policy: DEFAULT_GUARD, heartbeatMs: 10 * MINUTE };
const frozenAs = (kind: 'manual' | 'silence' | 'probes', change: Partial<GuardRow> = {}) => ({
  ...calmRow(FLEET),
  frozen: { atMs: NOW_MS - MINUTE, by: 'ann', kind, reason: 'because' },
  ...change,
});
const counts = (change: Partial<GuardCounts>) => ({ ...noCounts(FLEET), machines: 12, ...change });
const endOf = (row: GuardRow, change: Partial<GuardCounts> = {}) =>
  guardEnd({ scope: FLEET, state: 'frozen' }, { rows: [row], counts: [counts(change)] }, moment);

describe('the end of a freeze', () => {
  test('does not come by itself while too many machines are silent, and says how many may be', () => {
    const end = endOf(frozenAs('silence'), { started: 12, silent: 10 });
    expect(end?.atMs).toBeNull();
    expect(end?.text).toContain(
      'cannot end by itself while 10 of 12 started machines are silent and at most 1 may be',
    );
    expect(end?.text).toContain('shepherd fleet thaw');
  });

  testRows([
    [100, 10, 9],
    [11, 2, 1],
    [5, 2, 1],
    [1, 1, 0],
  ])('of %i machines needs fewer than %i silent ones', (started, silent, most) => {
    const text = endOf(frozenAs('silence'), { started, silent })?.text;
    expect(text).toContain(`at most ${most} may be`);
    expect(endOf(frozenAs('silence'), { started, silent: most })?.text).toContain('by itself if');
  });

  test('waits until machines can be reached again, where that froze it', () => {
    const end = endOf(frozenAs('probes'), { unreachable: 7 });
    expect(end?.text).toContain('while 7 of 12 machines cannot be reached and at most 2 may be');
    expect(endOf(frozenAs('probes'), { unreachable: 2 })?.text).toContain('by itself if');
  });

  test('comes by the clock once it is calm', () => {
    const calm = frozenAs('silence', { calmSinceMs: NOW_MS - 3 * MINUTE });
    expect(endOf(calm, { started: 12, silent: 1 })).toEqual({
      text: 'It ends by itself if no more machines fall silent.',
      atMs: NOW_MS + 7 * MINUTE,
    });
  });

  test('is a matter of a person, where a person froze it', () => {
    const end = endOf(frozenAs('manual', { calmSinceMs: NOW_MS }), { started: 12 });
    expect(end).toEqual({ text: 'Only a person ends it: shepherd fleet thaw.', atMs: null });
  });
});

describe('the end of another state', () => {
  const end = (state: 'watching' | 'grace' | 'suspicious' | 'blind', row = calmRow(FLEET)) =>
    guardEnd({ scope: FLEET, state }, { rows: [row], counts: [] }, moment);

  test('comes by the clock in the grace, if heartbeats are taken in', () => {
    const up = { ...calmRow(FLEET), ingestUpSinceMs: NOW_MS - MINUTE };
    expect(end('grace', up)).toMatchObject({ atMs: NOW_MS + 9 * MINUTE });
    expect(end('grace')).toMatchObject({ atMs: null });
  });

  test('is told of every state but the one in which machines are recovered', () => {
    expect(end('watching')).toBeNull();
    expect(end('suspicious')?.text).toContain('by itself');
    expect(end('blind')?.text).toContain('daemon');
  });
});
