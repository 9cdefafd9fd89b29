import { describe, expect, test } from 'vitest';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import type { ReconcileInput } from '../../../src/domain/provisioning/reconcile.ts';
import {
  deprovisionAsked,
  device,
  free,
  hold,
  machineRow,
  NOW_MS,
  provided,
  PROVIDER,
} from '../../support/facts.ts';
import { judge } from './judge.ts';

const HOUR = 3_600_000;
const FREE = ['a', 'b', 'c', 'd'];

/** A machine on this slot. */
const on = (slotId: string, at: number, change: Partial<MachineRow> = {}) =>
  machineRow({
    machineId: machineId(`00000000-0000-4000-8000-00000000000${at}`),
    provided: provided({ reservationId: slotId, providerId: `device-${slotId}` }),
    ...change,
  });
const parked = (kind: 'needsHuman' | 'byOperator' | 'conflict', cause: string | null = null) => ({
  quarantine: { kind, reason: 'x', untilMs: null, cause },
});
const ILL = parked('needsHuman');
/** Machines on the slots `m0`, `m1`, …, with these changes. */
const rowsOf = (...changes: readonly Partial<MachineRow>[]) =>
  changes.map((change, at) => on(`m${at}`, at + 1, change));

/** The plan for machines, and four free slots. */
function planOf(machines: readonly MachineRow[], change: Partial<ReconcileInput> = {}) {
  const used = machines.map(({ provided: of }) =>
    device({ id: of!.providerId, reservationId: of!.reservationId }),
  );
  const unused = FREE.map((reservationId) => free({ reservationId }));
  const target = { machines: 3, replacementsMax: 2 };
  return judge({ listed: [...used, ...unused], machines, target, ...change });
}
const made = (...given: Parameters<typeof planOf>) =>
  planOf(...given).creations.map(
    ({ slotId, replaces }) => `${slotId}${replaces ? ' instead' : ''}`,
  );
/** Why the free slots stay free. */
const reasonOf = (...given: Parameters<typeof planOf>) =>
  planOf(...given).decisions.find(({ verdict }) => verdict === 'skip')?.reason;
const retired = (slotId: string) => ({ ...hold('retired'), slotId, reason: 'third disk' });
const replacedAt = (...ages: readonly number[]) => ({
  replacements: ages.map((age) => ({ provider: PROVIDER, atMs: NOW_MS - age })),
});
const frozenAt = (scope: string) => {
  const [atMs, by, kind, reason] = [NOW_MS, 'guard', 'silence', 'too many'] as const;
  const frozen = { atMs, by, kind, reason, untilMs: null };
  return { scope, frozen, calmSinceMs: null, thawedAtMs: null, ingestUpSinceMs: null };
};

describe('a target of three machines', () => {
  test('is filled first, without replacements, and not exceeded', () => {
    expect(made([])).toEqual(['a', 'b', 'c']);
    expect(reasonOf([])).toBe('at the target of 3 machines in service');
    expect(made(rowsOf({}, {}))).toEqual(['a']);
    expect(made(rowsOf({}, {}, {}))).toEqual([]);
  });

  test('does not lift the limit of machines', () => {
    expect(made(rowsOf(ILL, {}, {}), { machinesMax: 3 })).toEqual([]);
  });

  test.each([
    ['needs a person', ILL, ['a instead']],
    ['was recovered too often', parked('needsHuman', 'chronic'), ['a instead']],
    ['was retired by a person', parked('byOperator', 'retired'), ['a instead']],
    ['is set aside for a while', parked('byOperator'), []],
    ['is in a conflict', parked('conflict'), []],
    ['was ill until now', { quarantine: { ...ILL.quarantine, untilMs: NOW_MS } }, []],
    ['is given back', { deprovision: deprovisionAsked() }, ['a']],
  ] as const)('counts a machine that %s', (_, change, expected) => {
    expect(made(rowsOf(change, {}, {}))).toEqual(expected);
  });

  test('waits with replacements for a window, and with nothing else', () => {
    const closed = { replacementBar: 'its maintenance window night opens later' };
    expect(made(rowsOf(ILL, {}, {}), closed)).toEqual([]);
    expect(reasonOf(rowsOf(ILL, {}, {}), closed)).toBe(closed.replacementBar);
    expect(made(rowsOf({}, {}), closed)).toEqual(['a']);
  });

  test('fills up first when machines are lost meanwhile', () => {
    expect(made(rowsOf(ILL, {}))).toEqual(['a', 'b instead']);
  });

  test('replaces a retired slot, and never picks it again', () => {
    const holds = [retired('a')];
    expect(made(rowsOf({}, {}), { holds })).toEqual(['b instead']);
    expect(reasonOf(rowsOf({}, {}), { holds })).toBe('a hold forbids its use: retired: third disk');
    expect(made(rowsOf({}, {}, {}), { holds: [retired('m0')] })).toEqual(['a instead']);
    const ended = [{ ...retired('a'), untilMs: NOW_MS }];
    expect(made(rowsOf({}, {}), { holds: ended })).toEqual(['a']);
  });

  test('replaces at most two machines in 24 hours', () => {
    const lost = rowsOf(ILL, ILL, ILL);
    expect(made(lost)).toEqual(['a instead', 'b instead']);
    expect(reasonOf(lost)).toBe('2 of 2 replacements today were made');
    expect(made(lost, replacedAt(HOUR))).toEqual(['a instead']);
    expect(made(lost, replacedAt(HOUR, 23 * HOUR))).toEqual([]);
    expect(made(lost, replacedAt(HOUR, 24 * HOUR))).toEqual(['a instead']);
    const other = { provider: providerName('other'), atMs: NOW_MS - HOUR };
    expect(made(lost, { replacements: [other, other] })).toHaveLength(2);
    expect(planOf(lost, replacedAt(HOUR)).service).toEqual({
      ...{ target: 3, inService: 0, lost: 3, surplus: 0, replacedToday: 1 },
    });
  });

  test('replaces nothing while recovery is frozen, and goes on filling', () => {
    for (const scope of ['fleet', PROVIDER]) {
      const guard = [frozenAt(scope)];
      expect(made(rowsOf(ILL, {}), { guard })).toEqual(['a']);
      expect(reasonOf(rowsOf(ILL, {}), { guard })).toBe(
        'recovery is frozen, so nothing is replaced',
      );
    }
    const guard = [frozenAt('other'), { ...frozenAt('fleet'), frozen: null }];
    expect(made(rowsOf(ILL, {}, {}), { guard })).toEqual(['a instead']);
  });

  test('reports more machines and changes nothing', () => {
    const plan = planOf(rowsOf({}, {}, {}, {}, ILL));
    expect(plan.service).toMatchObject({ inService: 4, surplus: 1, lost: 1 });
    expect(plan).toMatchObject({ creations: [], machines: [] });
  });
});

test('without a target every free slot is used, and nothing is a replacement', () => {
  const plan = planOf(rowsOf(ILL), { target: undefined, guard: [frozenAt('fleet')] });
  expect(plan.service).toBeNull();
  expect(plan.creations.map(({ slotId, replaces }) => [slotId, replaces])).toEqual(
    FREE.map((slotId) => [slotId, undefined]),
  );
});
