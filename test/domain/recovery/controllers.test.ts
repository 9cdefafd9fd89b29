import { describe, expect, test } from 'vitest';
import { providerName, slot, type Slot } from '../../../src/domain/ids.ts';
import { hungControllerOf, isNetwork } from '../../../src/domain/recovery/rungs.ts';
import {
  ERASING_LADDER,
  nextStep,
  stepBeyondAgent,
  stepBeyondController,
  type LadderCircumstances,
} from '../../../src/domain/recovery/ladder.ts';
import type { MachineRow, SlotFacts } from '../../../src/domain/machine.ts';
import {
  agentStarted,
  device,
  ladderRow,
  machineRow,
  NOW_MS,
  orderRow,
  PROVIDER,
  slotFacts,
} from '../../support/facts.ts';
import { testRows } from '../../support/rows.ts';

/** This many BMCs, of which the first ones hang. */
function fleet(count: number, hanging: number, provider = PROVIDER): Map<Slot, SlotFacts> {
  return new Map(
    Array.from({ length: count }, (_, at) => {
      const name = slot(provider, `rack-${at}`);
      const controller = { id: `bmc-${at}`, hangs: at < hanging };
      return [name, slotFacts({ slot: name, provider, listed: device({ controller }) })];
    }),
  );
}
const FIRST = slot(PROVIDER, 'rack-0');

describe('a hanging BMC', () => {
  testRows([
    ['alone in a small fleet', 2, 1, false],
    ['with another of few', 20, 2, true],
    ['as one in twenty', 40, 2, false],
    ['as five of many', 1_000, 5, false],
    ['as six of many', 1_000, 6, true],
  ] as const)('is distinguished from a hanging network: %s', (_, of, hanging, network) => {
    expect(isNetwork({ hanging, of })).toBe(network);
    expect(hungControllerOf(FIRST, fleet(of, hanging))).toBe(network ? null : 'bmc-0');
  });

  test('counts once for all its machines, and only within its provider', () => {
    const facts = fleet(1, 1);
    for (const at of [1, 2, 3, 4, 5, 6, 7]) {
      const name = slot(PROVIDER, `blade-${at}`);
      const listed = device({ controller: { id: 'bmc-0', hangs: true } });
      facts.set(name, slotFacts({ slot: name, listed }));
    }
    const others = fleet(30, 20, providerName('other'));
    expect(hungControllerOf(FIRST, new Map([...facts, ...others]))).toBe('bmc-0');
  });

  testRows([
    ['answers', device({ controller: { id: 'bmc-0', hangs: false } })],
    ['is not told of', device()],
    ['is not listed', null],
  ])('is not one that %s', (_, listed) => {
    const facts = new Map([[FIRST, slotFacts({ slot: FIRST, listed })]]);
    expect(hungControllerOf(FIRST, facts)).toBeNull();
    expect(hungControllerOf(FIRST, new Map())).toBeNull();
  });
});

describe('the ladder with a hanging BMC', () => {
  const means = { reboot: true, power: true, reinstall: true, resetController: true };
  const now = (change: Partial<LadderCircumstances> = {}): LadderCircumstances => ({
    means,
    policy: ERASING_LADDER,
    preserved: false,
    nowMs: NOW_MS,
    askAgainMs: 300_000,
    hungController: 'bmc-0',
    ...change,
  });
  const lost = (change: Partial<MachineRow> = {}) =>
    machineRow({ agentStarted: agentStarted(NOW_MS - 3_600_000), ...change });
  const rungOf = (row: MachineRow, at = now()) => {
    const step = nextStep(row, at);
    return 'end' in step ? 'end' : step.rung;
  };

  test('starts with the agent, which needs no BMC', () => {
    expect(rungOf(lost())).toBe('restartingAgent');
    expect(stepBeyondAgent(lost(), now())).toMatchObject({ rung: 'resettingBmc' });
  });

  testRows(['rebooting', 'powerCycling', 'reinstalling'] as const)(
    'resets the BMC before %s, in the process of recovery',
    (rung) => {
      const row = lost({ recovery: ladderRow({ rung }) });
      expect(nextStep(row, now())).toMatchObject({
        rung: 'resettingBmc',
        process: 'ShepherdRecovery',
        attempt: 1,
      });
      expect(stepBeyondController(row, now())).toMatchObject({ rung });
    },
  );

  test('never returns to the agent afterwards', () => {
    expect(stepBeyondController(lost(), now())).toMatchObject({ rung: 'rebooting' });
  });

  test('leaves the BMC alone when the provider cannot reset it or the configuration forbids it', () => {
    const row = lost({ recovery: ladderRow({ rung: 'powerCycling' }) });
    const cannot = { ...means, resetController: false };
    const resettingBmc = { ...ERASING_LADDER.resettingBmc, attempts: 0 };
    const { resetController: _, ...silent } = means;
    for (const change of [
      { means: cannot },
      { means: silent },
      { policy: { ...ERASING_LADDER, resettingBmc } },
      { hungController: null },
    ]) {
      expect(rungOf(row, now(change))).toBe('powerCycling');
    }
  });

  test('carries out an order as ordered', () => {
    expect(rungOf(lost({ order: orderRow() }))).toBe('rebooting');
  });

  test('ends at the same rung as without', () => {
    const row = lost({ recovery: ladderRow({ rung: 'reinstalling', attempts: 2 }) });
    const [hung, answering] = [nextStep(row, now()), nextStep(row, now({ hungController: null }))];
    expect(hung).toEqual(answering);
    expect(hung).toMatchObject({ end: expect.not.stringContaining('controller') as string });
  });
});
