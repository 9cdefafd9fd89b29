import { expect, test } from 'vitest';
import type { Slot } from '../../../src/domain/ids.ts';
import { scaledTo, type Scaled } from '../../../src/domain/provisioning/scaling.ts';
import type { MachineState } from '../../../src/domain/states.ts';
import { deprovisionAsked, memberRow } from '../../support/facts.ts';

/** `old Running pool`: a machine with its age, state, and more about it. */
function machineIn(words: string): Scaled {
  const [name = '', age = '0', state = 'Running', ...more] = words.split(' ');
  const has = (word: string) => more.includes(word);
  return {
    slot: `metal/${name}` as Slot,
    view: {
      state: state as MachineState,
      substate: has('conflict') ? 'conflict' : 'x',
      holds: (['retired', 'preserve'] as const).filter((kind) => has(kind)),
    },
    row: {
      createdAtMs: -Number(age),
      members: has('pool') ? [memberRow({ state: 'active' })] : [],
      deprovision: has('leaving') ? deprovisionAsked() : null,
    },
    isAdopted: has('adopted'),
  };
}
const scaled = (machines: number, words: readonly string[], target: number | null = null) =>
  scaledTo(machines, words.map(machineIn), target);
const chosen = (...given: Parameters<typeof scaled>) => {
  const found = scaled(...given);
  return found.refusal ?? found.slots.map(({ slot, why }) => `${slot.slice(6)}: ${why}`);
};

const FLEET = [
  ...['a 9 Running pool', 'b 1 Running pool', 'c 5 Running', 'd 8 Provisioned'],
  ...['e 9 Quarantined', 'f 3 Running pool retired', 'g 9 Running leaving'],
];

test('the least useful machines go first, and the youngest of them', () => {
  expect(scaled(6, FLEET)).toMatchObject({ count: 6, slots: [] });
  expect(chosen(0, FLEET)).toEqual([
    'f: it is retired or quarantined',
    'e: it is retired or quarantined',
    'd: it does not run',
    'c: it is no member of a pool',
    'b: it is among the youngest',
    'a: it is among the youngest',
  ]);
  expect(chosen(4, FLEET)).toHaveLength(2);
});

test('nobody chooses a machine that is preserved, adopted, in a conflict or handed over', () => {
  const kept = ['p 1 Running preserve', 'q 1 Quarantined conflict', 'h 1 HandedOver'];
  expect(chosen(1, ['a 9 Running pool', 'd 1 Quarantined adopted'])).toEqual([
    'a: it is among the youngest',
  ]);
  expect(chosen(3, [...kept, 'a 9 Running pool'])).toEqual(['a: it is among the youngest']);
  expect(chosen(2, [...kept, 'a 9 Running pool'])).toContain(
    'only 1 of 4 machines may be given back',
  );
});

test('a number above the machines or below the target is refused', () => {
  expect(chosen(7, FLEET)).toContain('there are 6 machines');
  expect(chosen(3, FLEET, 4)).toContain('lower target first');
  expect(chosen(4, FLEET, 4)).toHaveLength(2);
});
