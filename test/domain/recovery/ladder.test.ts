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
/** A request that was made so long ago and ended in a failure. */
const failed = (rung: StandingRung, attempts: number, agoMs = HOUR): LadderRow =>
  ladder(rung, attempts, {
    askedAtMs: NOW_MS - agoMs,
    askedRung: rung,
    nextAtMs: NOW_MS - agoMs / 2,
  });
/** A request that was made so long ago by somebody who is gone. */
const open = (rung: StandingRung, attempts: number, agoMs: number): LadderRow =>
  ladder(rung, attempts, { askedAtMs: NOW_MS - agoMs, askedRung: rung });

const lost = (recovery: LadderRow | null, change: Partial<MachineRow> = {}) =>
  machineRow({ agentStarted: agentStarted(NOW_MS - HOUR), recovery, ...change });
const givenUp = (recovery: LadderRow | null) =>
  machineRow({ startAttempt: { atMs: NOW_MS - HOUR, count: 6, unreached: 0 }, recovery });
const order = (verb: OrderRow['verb'], change: Partial<OrderRow> = {}): OrderRow =>
  orderRow({ key: 'ann-1', verb, ...change });

/** `rung attempt`, with what is special; or that a person is needed. */
const told = (step: LadderStep | LadderEnd): string => {
  if ('end' in step) return 'needsHuman';
  const { rung, attempt, mode, resumed } = step;
  return [rung, attempt, mode === 'force' && 'force', resumed && 'resumed']
    .filter(Boolean)
    .join(' ');
};

describe('the ladder of a lost machine', () => {
  test.each<readonly [string, LadderRow | null, string]>([
    ['begins with its agent', null, 'restartingAgent 1'],
    ['tries its agent twice', failed('restartingAgent', 1), 'restartingAgent 2'],
    ['goes on to a reboot', failed('restartingAgent', 2), 'rebooting 1'],
    ['takes a refused reboot for none', ladder('rebooting', 0), 'rebooting 1'],
    ['is gentle again after a reboot that was proved', ladder('rebooting', 1), 'rebooting 2'],
    ['forces a reboot after one without evidence', failed('rebooting', 1), 'rebooting 2 force'],
    ['reboots three times', failed('rebooting', 2), 'rebooting 3 force'],
    ['goes on to a power cycle', failed('rebooting', 3), 'powerCycling 1'],
    ['power-cycles twice', failed('powerCycling', 1), 'powerCycling 2'],
    ['goes on to a reinstallation', failed('powerCycling', 2), 'reinstalling 1'],
    ['reinstalls twice', failed('reinstalling', 1), 'reinstalling 2'],
    ['ends with a person', failed('reinstalling', 2), 'needsHuman'],
    ['has ended, whatever else was counted', ladder('reinstalling', 99), 'needsHuman'],
  ])('%s', (_, recovery, expected) => {
    expect(told(nextStep(lost(recovery), now()))).toBe(expected);
  });

  test.each<readonly [string, Partial<LadderCircumstances>, LadderRow | null, string]>([
    ['the agent needs no capability', { means: NONE }, null, 'restartingAgent 1'],
    [
      'no reboot: power',
      { means: { ...ALL, reboot: false } },
      failed('restartingAgent', 2),
      'powerCycling 1',
    ],
    [
      'neither: reinstallation',
      { means: { ...NONE, reinstall: true } },
      failed('restartingAgent', 2),
      'reinstalling 1',
    ],
    ['nothing: a person', { means: NONE }, failed('restartingAgent', 2), 'needsHuman'],
    [
      'no power: reinstallation',
      { means: { ...ALL, power: false } },
      failed('rebooting', 3),
      'reinstalling 1',
    ],
    [
      'no reinstallation: a person',
      { means: { ...ALL, reinstall: false } },
      failed('powerCycling', 2),
      'needsHuman',
    ],
    ['preserved: a person', { preserved: true }, failed('powerCycling', 2), 'needsHuman'],
    [
      'preserved: milder rungs are tried',
      { preserved: true },
      failed('rebooting', 3),
      'powerCycling 1',
    ],
    [
      'a capability that is gone: the next one that is there',
      { means: { ...ALL, power: false } },
      failed('powerCycling', 1),
      'reinstalling 1',
    ],
    ['a capability that is new: never back down', {}, failed('reinstalling', 1), 'reinstalling 2'],
  ])('%s', (_, change, recovery, expected) => {
    expect(told(nextStep(lost(recovery), now(change)))).toBe(expected);
  });

  test('leaves out what the policy switches off', () => {
    const policy = {
      ...ERASING_LADDER,
      restartingAgent: { attempts: 0, patienceMs: 1 },
      powerCycling: { attempts: 0, patienceMs: 1 },
    };
    expect(told(nextStep(lost(null), now({ policy })))).toBe('rebooting 1');
    expect(told(nextStep(lost(failed('rebooting', 3)), now({ policy })))).toBe('reinstalling 1');
  });

  test('is climbed by two processes', () => {
    const processOf = (rung: StandingRung) => {
      const step = nextStep(lost(ladder(rung, 0)), now());
      return 'end' in step ? null : step.process;
    };
    expect(STANDING_RUNGS.map(processOf)).toEqual([
      ...['ShepherdRecovery', 'ShepherdRecovery', 'ShepherdRecovery'],
      'ShepherdReinstall',
    ]);
  });
});

describe('the ladder of a machine whose agent start was given up', () => {
  test.each<readonly [string, LadderRow | null, string]>([
    ['begins with a reboot', null, 'rebooting 1'],
    [
      'goes on with a reboot, where its agent was being restarted',
      failed('restartingAgent', 1),
      'rebooting 1',
    ],
    ['goes on where it stopped', failed('powerCycling', 1), 'powerCycling 2'],
  ])('%s', (_, recovery, expected) => {
    expect(told(nextStep(givenUp(recovery), now()))).toBe(expected);
  });
});

describe('where SSH does not answer', () => {
  test.each<readonly [string, Partial<LadderCircumstances>, LadderRow | null, string]>([
    ['a reboot comes next', {}, null, 'rebooting 1'],
    ['a power cycle, if that is all', { means: { ...ALL, reboot: false } }, null, 'powerCycling 1'],
    ['nothing may', { means: NONE }, failed('restartingAgent', 1), 'needsHuman'],
  ])('%s', (_, change, recovery, expected) => {
    expect(told(stepBeyondAgent(lost(recovery), now(change)))).toBe(expected);
  });
});

describe('what was asked for by somebody who is gone', () => {
  test.each<readonly [string, LadderRow, string]>([
    ['is waited for', open('rebooting', 1, MINUTE), 'rebooting 1 force resumed'],
    [
      'also when it was the last attempt',
      open('rebooting', 3, MINUTE),
      'rebooting 3 force resumed',
    ],
    ['as long as its patience', open('rebooting', 1, 15 * MINUTE - 1), 'rebooting 1 force resumed'],
    ['and no longer', open('rebooting', 1, 15 * MINUTE), 'rebooting 2 force'],
    [
      'which is longer for a new system',
      open('reinstalling', 2, 44 * MINUTE),
      'reinstalling 2 resumed',
    ],
    [
      'and for a while where patience is short',
      open('powerCycling', 2, MINUTE),
      'powerCycling 2 resumed',
    ],
    ['but not the stopping of an agent', open('restartingAgent', 1, 1), 'restartingAgent 2'],
    ['nor what ended in a failure', failed('rebooting', 1, MINUTE), 'rebooting 2 force'],
    [
      'nor what an operator had asked for',
      { ...open('rebooting', 0, MINUTE), orderKey: 'ann-0' },
      'rebooting 1 force',
    ],
  ])('%s', (_, recovery, expected) => {
    expect(told(nextStep(lost(recovery), now()))).toBe(expected);
  });

  test('is not a reinstallation any more once the machine is to be preserved', () => {
    const row = lost(open('reinstalling', 1, MINUTE));
    expect(told(nextStep(row, now({ preserved: true })))).toBe('needsHuman');
  });
});

describe('an order', () => {
  test.each<readonly [string, OrderRow, string, string]>([
    ['restart-agent', order('restart-agent'), 'restartingAgent 1', 'ShepherdRecovery'],
    ['reboot', order('reboot'), 'rebooting 1', 'ShepherdRecovery'],
    ['reboot by force', order('reboot', { force: true }), 'rebooting 1 force', 'ShepherdRecovery'],
    ['reinstall', order('reinstall'), 'reinstalling 1', 'ShepherdReinstall'],
  ])('%s comes first, wherever the ladder stands', (_, asked, expected, process) => {
    for (const recovery of [null, ladder('rebooting', 2), failed('reinstalling', 2)]) {
      const step = nextStep(lost(recovery, { order: asked }), now());
      expect(told(step)).toBe(expected);
      expect(step).toMatchObject({ process, order: 'ann-1' });
    }
  });

  test('is one attempt: what was asked for it is only waited for', () => {
    const asked = { ...open('rebooting', 0, 3 * HOUR), orderKey: 'ann-1' };
    const step = nextStep(lost(asked, { order: order('reboot') }), now());
    expect(told(step)).toBe('rebooting 1 resumed');
  });

  test("does not take the ladder's own request for its own", () => {
    const row = lost(open('rebooting', 1, MINUTE), { order: order('reboot') });
    expect(told(nextStep(row, now()))).toBe('rebooting 1');
  });

  test('that has expired is none', () => {
    const row = lost(null, { order: order('reboot', { expiresAtMs: NOW_MS }) });
    expect(nextStep(row, now())).toMatchObject({ rung: 'restartingAgent', order: null });
  });

  test('is for a machine without an agent too', () => {
    const row = { ...givenUp(null), order: order('restart-agent') };
    expect(told(nextStep(row, now()))).toBe('restartingAgent 1');
  });
});

describe('patience', () => {
  const times = (...reboot: number[]) => ({ reboot, reinstall: [] });
  const waitOf = (rung: StandingRung, attempt: number, ...boots: number[]) =>
    patienceOf({ rung, attempt }, ERASING_LADDER[rung], times(...boots));

  test.each<readonly [string, number, number]>([
    ['is the rung’s where no boot was measured', waitOf('rebooting', 1), 15 * MINUTE],
    ['is three times the longest boot', waitOf('rebooting', 1, 60, 100, 80), 5 * MINUTE],
    ['is two minutes at least', waitOf('rebooting', 1, 10), 2 * MINUTE],
    ['is never more than the rung’s', waitOf('rebooting', 1, 900), 15 * MINUTE],
    ['is the rung’s from the second attempt on', waitOf('rebooting', 2, 10), 15 * MINUTE],
    ['counts for a power cycle alike', waitOf('powerCycling', 1, 100), 5 * MINUTE],
    ['of stopping an agent has nothing to do with boots', waitOf('restartingAgent', 1, 10), MINUTE],
    ['of a new system is by its own boots', waitOf('reinstalling', 1, 10), 45 * MINUTE],
  ])('%s', (_, found, expected) => {
    expect(found).toBe(expected);
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
])('the same thing is not asked for twice soon: %s', (_, recovery, expected) => {
  expect(askAgainInMs(recovery, 'rebooting', { nowMs: NOW_MS, askAgainMs: AGAIN_MS })).toBe(
    expected,
  );
});

describe('an episode, whatever happens in it', () => {
  /** What becomes of one claim. */
  const ENDS = ['proved', 'failed', 'refused', 'outage', 'died', 'died before'] as const;
  const anyPolicy = fc
    .tuple(...STANDING_RUNGS.map(() => fc.nat(4)))
    .map((counts) =>
      Object.fromEntries(
        STANDING_RUNGS.map((rung, at) => [
          rung,
          { attempts: counts[at]!, patienceMs: 10 * MINUTE },
        ]),
      ),
    ) as unknown as fc.Arbitrary<LadderCircumstances['policy']>;
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

  /** No controller hangs here. */
  function standing(rung: Rung): StandingRung {
    if (isStanding(rung)) return rung;
    throw new Error(`nothing called for ${rung}`);
  }

  /** The rows after a claim ended so, as the BMDB would write them. */
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

  test('never asks more often than the policy allows, never goes down, and ends', () => {
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

  test('ends in needsHuman after as many failures as there are attempts, and stays there', () => {
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

describe('the end', () => {
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

  test('A1: says that it stopped before disks, and does not speak of what was never tried', () => {
    expect(nextStep(lost(failed('powerCycling', 2)), now({ policy: DEFAULT_LADDER }))).toEqual({
      end:
        '2 attempts at switching it off and on did not help; ' +
        'reinstalling it: recovery may not erase its disks',
    });
    expect(nextStep(lost(failed('powerCycling', 2)), now({ preserved: true }))).toEqual({
      end:
        '2 attempts at switching it off and on did not help; ' +
        'reinstalling it: a hold preserves what is on it',
    });
  });
});
