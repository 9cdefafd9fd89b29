import { describe, expect, test } from 'vitest';
import type { GuardRow, MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import {
  calmRow,
  DEFAULT_GUARD,
  FLEET,
  type Ingest,
} from '../../../src/domain/recovery/guard-judgement.ts';
import { earliestNewlyLostMs } from '../../../src/domain/recovery/guard-rules.ts';
import { countGuarded } from '../../doubles/mem-bmdb/guard-counts.ts';
import { NOW_MS as NOW, PROVIDER } from '../../support/facts.ts';
import { factsOf, rowOf, rowsIn } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const ALWAYS_UP: Ingest = { seenAtMs: NOW, upSinceMs: NOW - 86_400_000, lostAtMs: null };

interface CountsScene {
  readonly rows?: readonly GuardRow[];
  readonly ingest?: Ingest;
  readonly unbroken?: { readonly sinceMs: number; readonly count: number };
  readonly unreachableSinceMs?: number | null;
}

/** The counts of one machine whose rows are given in words. */
function countOne(words: string, scene: CountsScene = {}, more: Partial<MachineRow> = {}) {
  const { rows = [calmRow(FLEET)], ingest = ALWAYS_UP, unreachableSinceMs = null } = scene;
  const { unbroken = { sinceMs: NOW - 86_400_000, count: 100 } } = scene;
  const { row, holds } = factsOf(words, more);
  const rest = { loss: DEFAULT_LOSS, policy: DEFAULT_GUARD, nowMs: NOW, holds };
  return countGuarded([{ row: row!, unbroken, unreachableSinceMs }], { rows, ingest, ...rest });
}
const ofFleet = (words: string, scene?: CountsScene): readonly string[] => {
  const { scope: _, ...counts } = countOne(words, scene)[0]!;
  return Object.entries(counts).flatMap(([name, count]) => (count === 1 ? [name] : []));
};
const thawed = (scope: string, minutes: number) => ({
  rows: [{ ...calmRow(scope), thawedAtMs: NOW - minutes * MINUTE }],
});
/** The names that the tables use. */
const COUNTED: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  there: ['machines'],
  started: ['machines', 'started'],
  late: ['machines', 'started', 'quiet'],
  lost: ['machines', 'started', 'silent'],
  new: ['machines', 'started', 'silent', 'newlySilent', 'quiet'],
  unreachable: ['machines', 'unreachable'],
};
const testCounts = (title: string, table: string, scene?: CountsScene) =>
  testRows(rowsIn(table))(`${title} with "%s" counts as %s`, (words, counted) => {
    expect(ofFleet(words, scene)).toEqual(COUNTED[counted]);
  });

testCounts(
  'a machine',
  `
  bare, started 0                     → nothing
                                      → there
  heard 0                             → started
  heard 1m                            → started
  heard 1m600ms                       → late
  heard 10m                           → late
  heard 10m600ms                      → new
  heard 20m                           → new
  heard 20m600ms                      → lost
  started 29m                         → started
  started 31m                         → new
  heard 50m, started 20m              → started
  heard 11m, quarantine needsHuman    → nothing
  heard 11m, quarantine byOperator 0  → new
  heard 11m, install done             → nothing
  heard 20m, install pending          → started
  heard 5m, install due               → late`,
);

test('excuses silence during an installation for a limited time', () => {
  const { installation } = rowOf('install pending');
  const of = (minutes: number) => {
    const handedOutAtMs = NOW - minutes * MINUTE;
    return countOne('heard 35m', {}, { installation: { ...installation, handedOutAtMs } })[0]!
      .silent;
  };
  expect([of(29), of(31)]).toEqual([0, 1]);
});

test('counts a machine for its provider and for the fleet', () => {
  const [fleet, provider, ...others] = countOne('heard 11m');
  expect([fleet!.scope, provider!.scope, others]).toEqual([FLEET, PROVIDER, []]);
  expect({ ...provider, scope: FLEET }).toEqual(fleet);
});

test('counts a machine lost before an operator’s thaw as silent and no longer new', () => {
  for (const scope of [FLEET, PROVIDER]) {
    // Lost for 5 min.
    expect(ofFleet('heard 15m', thawed(scope, 4)), scope).toEqual(COUNTED['lost']);
    expect(ofFleet('heard 15m', thawed(scope, 6)), scope).toEqual(COUNTED['new']);
  }
  expect(ofFleet('heard 15m', thawed('static', 4)), 'elsewhere').toEqual(COUNTED['new']);
});

describe('counts a machine that agent start has not reached for 30 min', () => {
  const since = { unreachableSinceMs: NOW - 30 * MINUTE };
  /** The wait of 60 s ends after this time. */
  const WAITS = 'backoff AgentStart +30s';
  testCounts(
    'it',
    `
    ${WAITS}                          → unreachable
    backoff AgentStart -2m            → unreachable
    backoff AgentStart -2m1ms         → there
                                      → there
    backoff Recovery +3m              → there
    ${WAITS}, started 0               → started
    ${WAITS}, failures 6              → unreachable
    ${WAITS}, hold no-start           → there
    ${WAITS}, hold no-start 0         → unreachable
    ${WAITS}, hold no-recover         → unreachable
    ${WAITS}, quarantine byOperator   → nothing
    ${WAITS}, status Stopped          → there`,
    since,
  );
  testRows([
    [{}, 'there'],
    [{ ...since, ...thawed(FLEET, 31) }, 'unreachable'],
    [{ ...since, ...thawed(FLEET, 29) }, 'there'],
    [{ ...since, ...thawed(PROVIDER, 29) }, 'there'],
    [{ ...since, ...thawed('static', 29) }, 'unreachable'],
  ])('%o: %s', (scene, counted) => {
    expect(ofFleet(WAITS, scene)).toEqual(COUNTED[counted]);
  });
});

describe('counts a silent machine as back after three consecutive heartbeats', () => {
  const frozen = (scope: string): GuardRow => ({
    ...calmRow(scope),
    frozen: { atMs: NOW - 30 * MINUTE, by: 'guard', kind: 'silence', reason: 'x', untilMs: null },
  });
  const back = (count: number, minutes: number, scope: string = FLEET) => ({
    rows: [frozen(scope)],
    unbroken: { count, sinceMs: NOW - minutes * MINUTE },
  });
  testRows([
    ['the first', 'heard 0', back(1, 1), 'lost'],
    ['the second', 'heard 0', back(2, 1), 'lost'],
    ['the third', 'heard 0', back(3, 1), 'started'],
    ['one who beats since before', 'heard 0', back(2, 31), 'started'],
    ['one whose agent was started since', 'heard 0, started 20m, beat 0', back(1, 1), 'started'],
  ] as const)('%s', (_, words, scene, counted) => {
    expect(ofFleet(words, scene)).toEqual(COUNTED[counted]);
  });
  test('apply to the frozen scope', () => {
    const [fleet, provider] = countOne('heard 0', back(1, 1, PROVIDER));
    expect([fleet!.silent, provider!.silent]).toEqual([0, 1]);
  });
});

describe('S6: a machine that fell silent while no daemon listened', () => {
  const up = (minutes: number, lost: number | null): CountsScene => ({
    ingest: {
      seenAtMs: NOW,
      upSinceMs: NOW - minutes * MINUTE,
      lostAtMs: lost === null ? null : NOW - lost * MINUTE,
    },
  });

  // Lost for 50 min. The interruption began 55 min ago, and heartbeats have been accepted again for
  // this many minutes.
  testRows([
    ['is not new during the grace', 'heard 1h', up(9, 55), 'lost'],
    ['is new once the grace is over', 'heard 1h', up(10, 55), 'new'],
    ['is new for 10 min from then', 'heard 1h', up(20, 55), 'new'],
    ['and then no longer', 'heard 1h', up(20.01, 55), 'lost'],
    ['is not one who was lost before', 'heard 1h', up(10, 45), 'lost'],
    [
      'may be anybody where nothing is known of before',
      'heard 10h, started 11h',
      up(10, null),
      'new',
    ],
  ] as const)('%s', (_, words, scene, counted) => {
    expect(ofFleet(words, scene)).toEqual(COUNTED[counted]);
  });

  testRows([
    ['long', up(21, 55), NOW - 10 * MINUTE],
    ['lately', up(20, 55), NOW - 55 * MINUTE],
    ['lately, from a break of a moment', up(15, 5), NOW - 10 * MINUTE],
    ['lately, for the first time', up(5, null), 0],
    ['not at all', { ingest: { ...ALWAYS_UP, upSinceMs: null } }, NOW - 10 * MINUTE],
  ] as const)('is looked for from this moment on: up %s', (_, { ingest }, from) => {
    const now = { nowMs: NOW, loss: DEFAULT_LOSS };
    expect(earliestNewlyLostMs(ingest!, DEFAULT_GUARD, now)).toBe(from);
  });
});
