import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LadderRow, MachineRow, OrderRow } from '../../../src/domain/machine.ts';
import {
  askAgainInMs,
  DEFAULT_LADDER,
  ERASING_LADDER,
  nextStep,
  patienceOf,
  stepBeyondAgent,
  type LadderCircumstances,
  type LadderEnd,
  type LadderStep,
} from '../../../src/domain/recovery/ladder.ts';
import {
  STANDING_RUNGS,
  isStanding,
  type Rung,
  type StandingRung,
} from '../../../src/domain/recovery/rungs.ts';
import { agentStarted, ladderRow, machineRow, NOW_MS, orderRow } from '../../support/facts.ts';
import { rowOf, rowsIn, span } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const AGAIN_MS = 5 * MINUTE;
const ALL = { reboot: true, power: true, reinstall: true };
const NONE = { reboot: false, power: false, reinstall: false };

const now = (change: Partial<LadderCircumstances> = {}): LadderCircumstances => ({
  means: ALL,
  policy: ERASING_LADDER,
  preserved: false,
  nowMs: NOW_MS,
  askAgainMs: AGAIN_MS,
  ...change,
});

const ladder = (rung: StandingRung, attempts: number, change: Partial<LadderRow> = {}): LadderRow =>
  ladderRow({ rung, attempts, ...change });
/** A request that was made this long ago and failed. */
const failed = (rung: StandingRung, attempts: number, agoMs = HOUR): LadderRow =>
  ladder(rung, attempts, {
    askedAtMs: NOW_MS - agoMs,
    askedRung: rung,
    nextAtMs: NOW_MS - agoMs / 2,
  });
/** A request that was made this long ago by a daemon that is gone. */
const open = (rung: StandingRung, attempts: number, agoMs: number): LadderRow =>
  ladder(rung, attempts, { askedAtMs: NOW_MS - agoMs, askedRung: rung });

const lost = (recovery: LadderRow | null, change: Partial<MachineRow> = {}) =>
  machineRow({ agentStarted: agentStarted(NOW_MS - HOUR), recovery, ...change });
const givenUp = (recovery: LadderRow | null) => ({ ...rowOf('failures 6 1h'), recovery });
const order = (verb: OrderRow['verb'], change: Partial<OrderRow> = {}): OrderRow =>
  orderRow({ key: 'ann-1', verb, ...change });

/** `rung attempt` with its peculiarities, or that a person is needed. */
const told = (step: LadderStep | LadderEnd): string => {
  if ('end' in step) return 'needsHuman';
  const { rung, attempt, mode, resumed } = step;
  return [rung, attempt, mode === 'force' && 'force', resumed && 'resumed']
    .filter(Boolean)
    .join(' ');
};

/**
 * The state of the ladder in words: `failed rebooting 2` failed an hour ago, `open rebooting 1 1m`
 * was requested by a daemon that is gone, `at rebooting 1` has no open request. After a comma: what
 * the provider cannot do, and whether the machine is preserved.
 */
function stepOf(words: string, next = nextStep, row = lost): string {
  const [where = '', ...without] = words.split(', ');
  const [how, rung, count, since] = where.split(' ') as [string, StandingRung, string, string?];
  const at = (known: StandingRung, attempts: number) => ladder(known, attempts);
  const makes = { failed, open, at }[how];
  const recovery = makes?.(rung, Number(count), span(since ?? '1h')) ?? null;
  const cannot = (means: string) => without.includes(`no ${means}`) || without.includes('no means');
  const means = {
    reboot: !cannot('reboot'),
    power: !cannot('power'),
    reinstall: !cannot('reinstall'),
  };
  return told(next(row(recovery), now({ means, preserved: without.includes('preserved') })));
}
const testSteps = (title: string, table: string, next = nextStep, row = lost) =>
  testRows(rowsIn(table))(`${title}: %s`, (words, expected) => {
    expect(stepOf(words, next, row)).toBe(expected);
  });

testSteps(
  'the ladder of a lost machine',
  `
  begins                               → restartingAgent 1
  failed restartingAgent 1             → restartingAgent 2
  failed restartingAgent 2             → rebooting 1
  at rebooting 0                       → rebooting 1
  at rebooting 1                       → rebooting 2
  failed rebooting 1                   → rebooting 2 force
  failed rebooting 2                   → rebooting 3 force
  failed rebooting 3                   → powerCycling 1
  failed powerCycling 1                → powerCycling 2
  failed powerCycling 2                → reinstalling 1
  failed reinstalling 1                → reinstalling 2
  failed reinstalling 2                → needsHuman
  at reinstalling 99                   → needsHuman
  begins, no means                     → restartingAgent 1
  failed restartingAgent 2, no reboot  → powerCycling 1
  failed restartingAgent 2, no reboot, no power → reinstalling 1
  failed restartingAgent 2, no means   → needsHuman
  failed rebooting 3, no power         → reinstalling 1
  failed powerCycling 2, no reinstall  → needsHuman
  failed powerCycling 2, preserved     → needsHuman
  failed rebooting 3, preserved        → powerCycling 1
  failed powerCycling 1, no power      → reinstalling 1`,
);

testSteps(
  'the ladder of a machine whose agent start was given up',
  `
  begins                               → rebooting 1
  failed restartingAgent 1             → rebooting 1
  failed powerCycling 1                → powerCycling 2`,
  nextStep,
  givenUp,
);

testSteps(
  'where SSH does not answer',
  `
  begins                               → rebooting 1
  begins, no reboot                    → powerCycling 1
  failed restartingAgent 1, no means   → needsHuman`,
  stepBeyondAgent,
);

testSteps(
  'what was asked for by somebody who is gone is waited for as long as its patience',
  `
  open rebooting 1 1m                  → rebooting 1 force resumed
  open rebooting 3 1m                  → rebooting 3 force resumed
  open rebooting 1 14m59s999ms         → rebooting 1 force resumed
  open rebooting 1 15m                 → rebooting 2 force
  open reinstalling 2 44m              → reinstalling 2 resumed
  open powerCycling 2 1m               → powerCycling 2 resumed
  open restartingAgent 1 1ms           → restartingAgent 2
  failed rebooting 1 1m                → rebooting 2 force`,
);

test('is never a reinstallation while the machine must be preserved', () => {
  expect(stepOf('open reinstalling 1 1m, preserved')).toBe('needsHuman');
});

test('leaves out the rungs that the policy switches off', () => {
  const none = { attempts: 0, patienceMs: 1 };
  const policy = { ...ERASING_LADDER, restartingAgent: none, powerCycling: none };
  expect(told(nextStep(lost(null), now({ policy })))).toBe('rebooting 1');
  expect(told(nextStep(lost(failed('rebooting', 3)), now({ policy })))).toBe('reinstalling 1');
});

test('is climbed by two processes', () => {
  const processOf = (rung: StandingRung) => {
    const step = nextStep(lost(ladder(rung, 0)), now());
    return 'end' in step ? null : step.process;
  };
  const recovery = 'ShepherdRecovery';
  expect(STANDING_RUNGS.map(processOf)).toEqual([
    recovery,
    recovery,
    recovery,
    'ShepherdReinstall',
  ]);
});

test('does not wait for an operator’s earlier request', () => {
  const ordered = { ...open('rebooting', 0, MINUTE), orderKey: 'ann-0' };
  expect(told(nextStep(lost(ordered), now()))).toBe('rebooting 1 force');
});

describe('an order on the ladder', () => {
  testRows([
    [order('restart-agent'), 'restartingAgent 1', 'ShepherdRecovery'],
    [order('reboot'), 'rebooting 1', 'ShepherdRecovery'],
    [order('reboot', { force: true }), 'rebooting 1 force', 'ShepherdRecovery'],
    [order('reinstall'), 'reinstalling 1', 'ShepherdReinstall'],
  ] as const)('puts %o first at any rung', (asked, expected, process) => {
    for (const recovery of [null, ladder('rebooting', 2), failed('reinstalling', 2)]) {
      const step = nextStep(lost(recovery, { order: asked }), now());
      expect(told(step)).toBe(expected);
      expect(step).toMatchObject({ process, order: 'ann-1' });
    }
  });

  test('is one attempt whatever was requested before, until it expires', () => {
    const of = (recovery: LadderRow | null, change: Partial<OrderRow> = {}) =>
      told(nextStep(lost(recovery, { order: order('reboot', change) }), now()));
    expect(of({ ...open('rebooting', 0, 3 * HOUR), orderKey: 'ann-1' })).toBe(
      'rebooting 1 resumed',
    );
    expect(of(open('rebooting', 1, MINUTE))).toBe('rebooting 1');
    expect(of(null, { expiresAtMs: NOW_MS })).toBe('restartingAgent 1');
  });

  test('also applies to a machine without an agent', () => {
    const row = { ...givenUp(null), order: order('restart-agent') };
    expect(told(nextStep(row, now()))).toBe('restartingAgent 1');
  });
});

describe('patience', () => {
  const times = (...reboot: number[]) => ({ reboot, reinstall: [] });
  const waitOf = (rung: StandingRung, attempt: number, ...boots: number[]) =>
    patienceOf({ rung, attempt }, ERASING_LADDER[rung], times(...boots));

  testRows([
    ['is the rung’s where no boot was measured', waitOf('rebooting', 1), 15],
    ['is three times the longest boot', waitOf('rebooting', 1, 60, 100, 80), 5],
    ['is two minutes at least', waitOf('rebooting', 1, 10), 2],
    ['is never more than the rung’s', waitOf('rebooting', 1, 900), 15],
    ['is the rung’s from the second attempt on', waitOf('rebooting', 2, 10), 15],
    ['counts for a power cycle alike', waitOf('powerCycling', 1, 100), 5],
    ['of stopping an agent has nothing to do with boots', waitOf('restartingAgent', 1, 10), 1],
    ['of a new system is by its own boots', waitOf('reinstalling', 1, 10), 45],
  ])('%s', (_, found, minutes) => {
    expect(found).toBe(minutes * MINUTE);
  });

  test('of a new system is three times the longest reinstallation', () => {
    const bootTimes = { reboot: [10], reinstall: [400, 300] };
    const step = { rung: 'reinstalling' as const, attempt: 1 };
    expect(patienceOf(step, ERASING_LADDER.reinstalling, bootTimes)).toBe(20 * MINUTE);
  });
});

test.each<readonly [string, LadderRow | null, number]>([
  ['nothing was asked for', null, 0],
  ['it is refused or proved since', ladder('rebooting', 1), 0],
  ['it was asked for just now', failed('rebooting', 1, 1), AGAIN_MS - 1],
  ['it was asked for long enough ago', failed('rebooting', 1, AGAIN_MS), 0],
  ['something else was asked for', failed('powerCycling', 1, 1), 0],
])('does not repeat a recent request: %s', (_, recovery, expected) => {
  expect(askAgainInMs(recovery, 'rebooting', { nowMs: NOW_MS, askAgainMs: AGAIN_MS })).toBe(
    expected,
  );
});

describe('an episode with random outcomes', () => {
  /** The outcome of one claim. */
  const ENDS = ['proved', 'failed', 'refused', 'outage', 'died', 'died before'] as const;
  const anyPolicy = fc
    .tuple(...STANDING_RUNGS.map(() => fc.nat(4)))
    .map((counts) => ({
      ...Object.fromEntries(
        STANDING_RUNGS.map((rung, at) => [
          rung,
          { attempts: counts[at]!, patienceMs: 10 * MINUTE },
        ]),
      ),
      chronic: ERASING_LADDER.chronic,
    })) as unknown as fc.Arbitrary<LadderCircumstances['policy']>;
  const anyMeans = fc.record({
    reboot: fc.boolean(),
    power: fc.boolean(),
    reinstall: fc.boolean(),
  });
  const anyClaim = fc.record({
    end: fc.constantFrom(...ENDS),
    means: anyMeans,
    preserved: fc.boolean(),
    started: fc.boolean(),
    pauseMs: fc.nat(30 * MINUTE),
  });

  /** No BMC hangs here. */
  function standing(rung: Rung): StandingRung {
    if (isStanding(rung)) return rung;
    throw new Error(`nothing called for ${rung}`);
  }

  /** The rows after a claim with this end, as the BMDB would write them. */
  function after(
    before: LadderRow | null,
    { rung: named, resumed }: LadderStep,
    end: (typeof ENDS)[number],
    nowMs: number,
  ): LadderRow | null {
    const rung = standing(named);
    if (end === 'died before') return before;
    const counted = before?.rung === rung ? before.attempts + 1 : 1;
    const asked: LadderRow = resumed
      ? before!
      : { ...ladder(rung, counted), askedAtMs: nowMs, askedRung: rung };
    const nothing = { askedAtMs: null, askedRung: null };
    const nextAtMs = nowMs + MINUTE;
    switch (end) {
      case 'proved':
        return { ...asked, ...nothing, nextAtMs };
      case 'refused':
        return resumed ? { ...asked, nextAtMs } : { ...asked, ...nothing, nextAtMs };
      case 'outage':
        return resumed ? { ...asked, nextAtMs } : { ...asked, attempts: counted - 1, ...nothing };
      case 'failed':
        return { ...asked, nextAtMs };
      default:
        return asked;
    }
  }

  test('never exceeds the permitted requests, never goes down, and ends', () => {
    fc.assert(
      fc.property(anyPolicy, fc.array(anyClaim, { maxLength: 60 }), (policy, claims) => {
        let recovery: LadderRow | null = null;
        let nowMs = NOW_MS;
        let highest = 0;
        const asks = new Map<StandingRung, number>();
        for (const { end, means, preserved, started, pauseMs } of claims) {
          nowMs += pauseMs;
          const row: MachineRow = started ? lost(recovery) : givenUp(recovery);
          const step = nextStep(row, now({ policy, means, preserved, nowMs }));
          if ('end' in step) continue;
          const rung = standing(step.rung);
          const height = STANDING_RUNGS.indexOf(rung);
          expect(height).toBeGreaterThanOrEqual(highest);
          if (end !== 'died before') highest = height;
          const counts = !step.resumed && end !== 'died before' && end !== 'outage';
          if (counts) asks.set(rung, (asks.get(rung) ?? 0) + 1);
          recovery = after(recovery, step, end, nowMs);
        }
        for (const [rung, count] of asks) {
          expect(count, rung).toBeLessThanOrEqual(policy[rung].attempts);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('ends in needsHuman after as many failures as permitted attempts, and stays there', () => {
    fc.assert(
      fc.property(anyPolicy, anyMeans, fc.boolean(), (policy, means, preserved) => {
        let recovery: LadderRow | null = null;
        const seen: string[] = [];
        for (let nowMs = NOW_MS; seen.at(-1) !== 'needsHuman'; nowMs += HOUR) {
          const step = nextStep(lost(recovery), now({ policy, means, preserved, nowMs }));
          seen.push('end' in step ? 'needsHuman' : step.rung);
          if (!('end' in step)) recovery = after(recovery, step, 'failed', nowMs);
          expect(seen.length).toBeLessThan(30);
        }
        const can: Readonly<Record<StandingRung, boolean>> = {
          restartingAgent: true,
          rebooting: means.reboot,
          powerCycling: means.power,
          reinstalling: means.reinstall && !preserved,
        };
        const expected = STANDING_RUNGS.flatMap((rung) =>
          can[rung] ? Array.from<string>({ length: policy[rung].attempts }).fill(rung) : [],
        );
        expect(seen).toEqual([...expected, 'needsHuman']);
      }),
    );
  });
});

describe('the end of the ladder', () => {
  test('tells the person what was tried', () => {
    expect(nextStep(lost(failed('reinstalling', 2)), now())).toEqual({
      end: '2 attempts at reinstalling it did not help; no other means is left',
    });
    const policy = { ...ERASING_LADDER, restartingAgent: { attempts: 0, patienceMs: 1 } };
    expect(nextStep(lost(null), now({ means: NONE, policy }))).toEqual({
      end:
        'it does not come back; restarting its agent: the configuration leaves it out; ' +
        'rebooting it, switching it off and on, reinstalling it: its provider cannot',
    });
  });

  test('tells apart what no machine of the provider has, and what this machine lacks', () => {
    const means = { ...ALL, reinstall: false, lacks: ['reboot', 'power'] as const };
    expect(nextStep(lost(failed('restartingAgent', 2)), now({ means }))).toEqual({
      end:
        '2 attempts at restarting its agent did not help; ' +
        'rebooting it, switching it off and on: this machine has no means for it; ' +
        'reinstalling it: its provider cannot',
    });
  });

  test('A1: says that it stopped before disks, and mentions only what was tried', () => {
    expect(nextStep(lost(failed('powerCycling', 2)), now({ policy: DEFAULT_LADDER }))).toEqual({
      end:
        '2 attempts at switching it off and on did not help; ' +
        'reinstalling it: recovery may not erase its disks',
    });
    expect(nextStep(lost(failed('powerCycling', 2)), now({ preserved: true }))).toEqual({
      end:
        '2 attempts at switching it off and on did not help; ' +
        'reinstalling it: a hold preserves its data',
    });
  });
});
