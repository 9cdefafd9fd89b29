import { describe, expect, it, test } from 'vitest';
import type { GuardRow, HoldRow, MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { earliestNewlyLostMs } from '../../../src/domain/recovery/guard-rules.ts';
import { countGuarded } from '../../doubles/mem-bmdb/guard-counts.ts';
import { calmRow, DEFAULT_GUARD, FLEET } from '../../../src/domain/recovery/guard-judgement.ts';
import type { GuardCounts, Ingest } from '../../../src/domain/recovery/guard-judgement.ts';
import { machineRow, providedOf, startedAt } from '../../contracts/bmdb-rows.ts';
import { providerName } from '../../../src/domain/ids.ts';

const MINUTE = 60_000;
const NOW = 1_700_000_000_000;
const ALWAYS_UP: Ingest = { seenAtMs: NOW, upSinceMs: NOW - 86_400_000, lostAtMs: null };

interface Scene {
  readonly rows?: readonly GuardRow[];
  readonly ingest?: Ingest;
  readonly unbroken?: { readonly sinceMs: number; readonly count: number };
  readonly unreachableSinceMs?: number | null;
  readonly holds?: readonly HoldRow[];
}

/** Counts one machine. */
function countOne(change: Partial<MachineRow>, scene: Scene = {}): readonly GuardCounts[] {
  const { rows = [calmRow(FLEET)], ingest = ALWAYS_UP, unreachableSinceMs = null } = scene;
  const { unbroken = { sinceMs: NOW - 86_400_000, count: 100 } } = scene;
  const machine = { row: machineRow(NOW, change), unbroken, unreachableSinceMs };
  const rest = { loss: DEFAULT_LOSS, policy: DEFAULT_GUARD, nowMs: NOW, holds: scene.holds ?? [] };
  return countGuarded([machine], { rows, ingest, ...rest });
}
const ofFleet = (change: Partial<MachineRow>, scene?: Scene) => {
  const { scope: _, ...counts } = countOne(change, scene)[0]!;
  return Object.entries(counts).flatMap(([name, count]) => (count === 1 ? [name] : []));
};
/** Its agent was started long ago, and heard so many minutes ago. */
const heard = (minutes: number): Partial<MachineRow> => ({
  ...startedAt(NOW - 5 * 60 * MINUTE),
  heartbeat: { atMs: NOW - minutes * MINUTE, bootId: null },
});
const THERE = ['machines', 'started'];
const LATE = [...THERE, 'quiet'];
const LOST = [...THERE, 'silent'];
const NEW = [...THERE, 'silent', 'newlySilent', 'quiet'];

describe('a machine is counted', () => {
  test.each<readonly [string, Partial<MachineRow>, readonly string[]]>([
    ['without hardware', { provided: null, ...startedAt(NOW) }, []],
    ['that was never started', {}, ['machines']],
    ['heard just now', heard(0), THERE],
    ['heard two periods ago', heard(1), THERE],
    ['heard longer than two periods ago', heard(1.01), LATE],
    ['heard 10 min ago', heard(10), LATE],
    ['heard longer than 10 min ago', heard(10.01), NEW],
    ['lost for 10 min', heard(20), NEW],
    ['lost for longer', heard(20.01), LOST],
    ['that was not heard since its start', startedAt(NOW - 29 * MINUTE), THERE],
    ['that was not heard since its start 31 min ago', startedAt(NOW - 31 * MINUTE), NEW],
    [
      'that was heard before its start only',
      { ...heard(50), ...startedAt(NOW - 20 * MINUTE) },
      THERE,
    ],
    [
      'under quarantine',
      { ...heard(11), quarantine: { kind: 'needsHuman', reason: 'x', untilMs: null } },
      [],
    ],
    [
      'whose quarantine is over',
      { ...heard(11), quarantine: { kind: 'byOperator', reason: 'x', untilMs: NOW } },
      NEW,
    ],
    ['that was handed over', { ...heard(11), installation: installed(1n, 1n) }, []],
    ['whose installation was handed out lately', { ...heard(20), ...handedOut(29) }, THERE],
    ['that installs for too long', { ...heard(35), ...handedOut(31) }, NEW],
    ['to be installed, not handed out', { ...heard(5), installation: installed(1n, null) }, LATE],
  ])('%s', (_, change, counted) => {
    expect(ofFleet(change)).toEqual(counted);
  });

  it('for its provider and for the fleet', () => {
    const provided = providedOf('x', { provider: providerName('static') });
    const [fleet, provider, ...others] = countOne({ ...heard(11), provided });
    expect([fleet!.scope, provider!.scope, others]).toEqual([FLEET, 'static', []]);
    expect({ ...provider, scope: FLEET }).toEqual(fleet);
  });
});

const installed = (request: bigint, report: bigint | null): MachineRow['installation'] => ({
  requestGeneration: request,
  handedOutAtMs: null,
  reportGeneration: report,
  reportResult: report === null ? null : 'Success',
});
const handedOut = (minutes: number): Partial<MachineRow> => ({
  installation: { ...installed(1n, null), handedOutAtMs: NOW - minutes * MINUTE },
});

describe('who was lost before an operator thawed', () => {
  const thawed = (scope: string, minutes: number) => ({
    rows: [{ ...calmRow(scope), thawedAtMs: NOW - minutes * MINUTE }],
  });
  it.each([FLEET, 'metal'])('(%s) is silent, and no longer new', (scope) => {
    // Lost for 5 min.
    expect(ofFleet(heard(15), thawed(scope, 4))).toEqual(LOST);
    expect(ofFleet(heard(15), thawed(scope, 6))).toEqual(NEW);
  });
  it('elsewhere is new', () => {
    expect(ofFleet(heard(15), thawed('static', 4))).toEqual(NEW);
  });
});

describe('a machine that agent start cannot reach since 30 min ago', () => {
  const since = { unreachableSinceMs: NOW - 30 * MINUTE };
  /** The end of a wait of 5 min. */
  const waiting = (minutes: number, change: Partial<MachineRow> = {}): Partial<MachineRow> => ({
    backoffs: [backoff('ShepherdAgentStart', minutes)],
    ...change,
  });
  const backoff = (process: 'ShepherdAgentStart' | 'ShepherdRecovery', minutes: number) => ({
    process,
    untilMs: NOW + minutes * MINUTE,
    cause: 'x',
    lastIntervalSeconds: 300,
  });
  const SEEN = ['machines', 'unreachable'];
  const slotId = providedOf('one').reservationId!;
  const hold = (kind: HoldRow['kind'], untilMs: number | null): HoldRow => ({
    provider: providerName('metal'),
    slotId,
    kind,
    setBy: 'ann',
    reason: 'x',
    untilMs,
  });
  const provided = providedOf('one');

  it.each<readonly [string, Partial<MachineRow>, Scene, readonly string[]]>([
    ['waits', waiting(3), since, SEEN],
    ['is to be tried again', waiting(-10), since, SEEN],
    ['was not tried again for longer than two waits', waiting(-10.01), since, ['machines']],
    ['failed otherwise last', waiting(3), {}, ['machines']],
    ['waits no more', {}, since, ['machines']],
    [
      'waits for something else',
      { backoffs: [backoff('ShepherdRecovery', 3)] },
      since,
      ['machines'],
    ],
    ['was started', waiting(3, startedAt(NOW)), since, THERE],
    [
      'was given up',
      waiting(3, { startAttempt: { atMs: null, count: 6, unreached: 0 } }),
      since,
      SEEN,
    ],
    ['is not to be started', waiting(3, { provided }), holding('no-start', null), ['machines']],
    ['may be started again', waiting(3, { provided }), holding('no-start', NOW), SEEN],
    ['is not to be recovered', waiting(3, { provided }), holding('no-recover', null), SEEN],
    [
      'is quarantined',
      waiting(3, { quarantine: { kind: 'byOperator', reason: 'x', untilMs: null } }),
      since,
      [],
    ],
    [
      'is switched off at its provider',
      waiting(3, { provided: { ...provided, status: 'Stopped' } }),
      since,
      ['machines'],
    ],
    ['waits, thawed before', waiting(3), { ...since, ...thawedAt(FLEET, 31) }, SEEN],
    ['waits, thawed since', waiting(3), { ...since, ...thawedAt(FLEET, 29) }, ['machines']],
    [
      'waits, its provider thawed',
      waiting(3),
      { ...since, ...thawedAt('metal', 29) },
      ['machines'],
    ],
    ['waits, another thawed', waiting(3), { ...since, ...thawedAt('static', 29) }, SEEN],
  ])('%s', (_, change, scene, counted) => {
    expect(ofFleet(change, scene)).toEqual(counted);
  });

  function holding(kind: HoldRow['kind'], untilMs: number | null): Scene {
    return { ...since, holds: [hold(kind, untilMs)] };
  }
  function thawedAt(scope: string, minutes: number): Scene {
    return { rows: [{ ...calmRow(scope), thawedAtMs: NOW - minutes * MINUTE }] };
  }
});

describe('who was silent at a freeze is back after three heartbeats in a row', () => {
  const frozen = (scope: string): GuardRow => ({
    ...calmRow(scope),
    frozen: { atMs: NOW - 30 * MINUTE, by: 'guard', kind: 'silence', reason: 'x' },
  });
  const back = (count: number, minutes: number) => ({
    unbroken: { count, sinceMs: NOW - minutes * MINUTE },
  });

  it.each([
    [1, LOST],
    [2, LOST],
    [3, THERE],
  ])('%i: %s', (count, counted) => {
    const scene = { rows: [frozen(FLEET)], ...back(count, 1) };
    expect(ofFleet(heard(0), scene)).toEqual(counted);
  });

  it('for the scope that is frozen', () => {
    const [fleet, metal] = countOne(heard(0), { rows: [frozen('metal')], ...back(1, 1) });
    expect([fleet!.silent, metal!.silent]).toEqual([0, 1]);
  });

  it('is not one who beats since before', () => {
    expect(ofFleet(heard(0), { rows: [frozen(FLEET)], ...back(2, 31) })).toEqual(THERE);
  });

  it('is not one whose agent was started since', () => {
    const fresh = { ...heard(0), ...startedAt(NOW - 20 * MINUTE) };
    expect(ofFleet(fresh, { rows: [frozen(FLEET)], ...back(1, 1) })).toEqual(THERE);
  });
});

describe('S6: who fell silent while nobody listened', () => {
  const up = (minutes: number, lost: number | null): Scene => ({
    ingest: {
      seenAtMs: NOW,
      upSinceMs: NOW - minutes * MINUTE,
      lostAtMs: lost === null ? null : NOW - lost * MINUTE,
    },
  });

  it.each([
    ['is not new during the grace', 9, LOST],
    ['is new once the grace is over', 10, NEW],
    ['is new for 10 min from then', 20, NEW],
    ['and then no longer', 20.01, LOST],
  ] as const)('%s', (_, minutes, counted) => {
    // Lost for 50 min; the break began 55 min ago, and heartbeats come again since `minutes`.
    expect(ofFleet(heard(60), up(minutes, 55))).toEqual(counted);
  });

  it('is not one who was lost before', () => {
    expect(ofFleet(heard(60), up(10, 45))).toEqual(LOST);
  });

  it('may be anybody where nothing is known of the time before', () => {
    expect(ofFleet(heard(600), up(10, null))).toEqual(NEW);
  });

  it.each([
    ['long', up(21, 55), NOW - 10 * MINUTE],
    ['lately', up(20, 55), NOW - 55 * MINUTE],
    ['lately, from a break of a moment', up(15, 5), NOW - 10 * MINUTE],
    ['lately, for the first time', up(5, null), 0],
    ['not at all', { ingest: { ...ALWAYS_UP, upSinceMs: null } }, NOW - 10 * MINUTE],
  ] as const)('is looked for from where on: up %s', (_, { ingest }, from) => {
    const now = { nowMs: NOW, loss: DEFAULT_LOSS };
    expect(earliestNewlyLostMs(ingest!, DEFAULT_GUARD, now)).toBe(from);
  });
});
