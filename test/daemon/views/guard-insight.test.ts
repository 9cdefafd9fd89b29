import { expect, test } from 'vitest';
import type { DaemonParts } from '../../../src/daemon/parts.ts';
import { guardLook } from '../../../src/daemon/views/guard-insight.ts';
import { machineId, slot } from '../../../src/domain/ids.ts';
import type { GuardRow } from '../../../src/domain/machine.ts';
import { noCounts } from '../../../src/domain/recovery/guard-rules.ts';
import { DEFAULT_GUARD } from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardState } from '../../../src/domain/recovery/guard-status.ts';
import { guardRow } from '../../domain/explanation/stand.ts';
import { ladderRow, machineRow, NOW_MS, provided, slotFacts } from '../../support/facts.ts';

const rows = [9, 5].map((ageMs, at) =>
  machineRow({
    machineId: machineId(`00000000-0000-4000-8000-00000000000${at}`),
    provided: provided({ reservationId: `r${at}`, location: 'hall' }),
    recovery: ladderRow({ askedAtMs: NOW_MS - ageMs }),
  }),
);
const provider = rows[0]!.provided!.provider;
const slots = [0, 1].map((at) => slot(provider, `r${at}`));

function insight(
  frozen: GuardRow['frozen'],
  more: Partial<GuardRow>,
  state: GuardState = 'frozen',
) {
  const row = guardRow({ scope: provider, frozen, ...more });
  const counts = [{ ...noCounts(provider), machines: 10, started: 10, newlySilent: 4 }];
  const parts = {
    guardPolicy: DEFAULT_GUARD,
    mirror: {
      nowMs: () => NOW_MS,
      facts: () => new Map(rows.map((each, at) => [slots[at], slotFacts({ row: each })])),
    },
    permits: {
      waiting: () => slots.toReversed(),
      use: () => [{ scope: 'location hall', permits: 1, budget: 1 }],
    },
    watch: { view: () => ({ state, rows: [row], counts }), barOf: () => 'it is frozen' },
  };
  return guardLook(parts as unknown as DaemonParts);
}
const BY_ITSELF = {
  atMs: NOW_MS - 60_000,
  by: 'guard',
  kind: 'silence',
  reason: '6 of 10',
  untilMs: null,
} as const;

test('lists waiting machines in the order of their permits, and their number in each scope', () => {
  const { waiting, waitingBy } = insight(null, {}, 'watching');
  expect(waiting).toEqual([
    { slot: slots[0], queue: { scope: 'location hall', place: 1, of: 2 }, bar: 'it is frozen' },
    { slot: slots[1], queue: { scope: 'location hall', place: 2, of: 2 }, bar: 'it is frozen' },
  ]);
  expect([...waitingBy]).toEqual([
    ['fleet', 2],
    [`provider ${provider}`, 2],
    ['location hall', 2],
  ]);
});

test('predicts the thaw only of a scope that froze by itself and is calm', () => {
  const calmSinceMs = NOW_MS - 60_000.5;
  const thaws = (...args: Parameters<typeof insight>) => insight(...args).scopes[0]!.thawsAtMs;
  expect(thaws(BY_ITSELF, { calmSinceMs })).toBe(Math.ceil(calmSinceMs + DEFAULT_GUARD.calmForMs));
  expect(thaws(BY_ITSELF, {})).toBeNull();
  expect(thaws({ ...BY_ITSELF, kind: 'manual' }, { calmSinceMs })).toBeNull();
  const untilMs = NOW_MS + 60_000;
  expect(thaws({ ...BY_ITSELF, kind: 'manual', untilMs }, { calmSinceMs })).toBe(untilMs);
  expect(thaws(null, { calmSinceMs })).toBeNull();
  expect(insight(null, {}, 'watching').scopes[0]!.rules[0]).toMatchObject({ more: 2 });
});

test('shows no earlier counts of a blind guard', () => {
  expect(insight(BY_ITSELF, {}, 'blind').scopes).toEqual([]);
});
