import { describe, expect, test } from 'vitest';
import { explanationOf } from '../../../src/domain/explanation/explanation.ts';
import { createStays } from '../../../src/domain/explanation/overdue.ts';
import { ladderRow, liveWork, machineRow, NOW_MS } from '../../support/facts.ts';
import { explained, MINUTE, moment } from './stand.ts';

/** A reboot that has lasted this long. A reboot has patience for 15 minutes. */
const overdueAfter = (forMs: number, usual: { p95Ms: number; samples: number } | null) => {
  const work = { ...liveWork('ShepherdRecovery'), startedAtMs: NOW_MS - forMs };
  const row = machineRow({ work: [work], recovery: ladderRow({ askedRung: 'rebooting' }) });
  return explanationOf(explained({ row }, { usual }), moment).overdue;
};

describe('an overdue machine', () => {
  test('exceeds the limit of its step and twice the 95th percentile', () => {
    expect(overdueAfter(16 * MINUTE, { p95Ms: 2 * MINUTE, samples: 20 })).toBe(true);
    expect(overdueAfter(15 * MINUTE, { p95Ms: 2 * MINUTE, samples: 20 })).toBe(false);
    expect(overdueAfter(16 * MINUTE, { p95Ms: 9 * MINUTE, samples: 20 })).toBe(false);
    expect(overdueAfter(19 * MINUTE, { p95Ms: 9 * MINUTE, samples: 20 })).toBe(true);
  });

  test('needs twenty measured machines of its kind', () => {
    expect(overdueAfter(60 * MINUTE, { p95Ms: MINUTE, samples: 19 })).toBe(false);
    expect(overdueAfter(60 * MINUTE, null)).toBe(false);
  });
});

describe('usual times', () => {
  const place = {
    provider: 'stub',
    plan: 'small',
    state: 'Recovering',
    substate: 'rebooting',
  } as const;

  test('are the 95th percentile of the latest two hundred, per provider and plan', () => {
    const stays = createStays();
    for (let at = 1; at <= 100; at += 1) stays.note(place, at);
    expect(stays.usual(place)).toEqual({ p95Ms: 95, samples: 100 });
    for (let at = 0; at < 500; at += 1) stays.note(place, 7);
    expect(stays.usual(place)).toEqual({ p95Ms: 7, samples: 200 });
    expect(stays.usual({ ...place, plan: 'large' })).toBeNull();
  });
});
