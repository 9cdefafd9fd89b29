import { expect, test } from 'vitest';
import { asConfigured, gravest } from '../../../../src/console/api/submit/retiring.ts';
import { requireMachineRight } from '../../../../src/console/api/submit/refusals.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { Person } from '../../../../src/console/access/port.ts';

const means = { givesBack: (name: string) => name === 'rented' };
const wish = { verb: 'retire', giveBack: false } as const;
const at = (name: string) =>
  asConfigured(means, {
    verb: 'retire',
    target: { provider: providerName(name), slotId: 's', machineId: null },
  });

test('a retirement gives back where the provider is configured so', () => {
  expect(at('rented')).toMatchObject({ giveBack: true });
  expect(at('owned')).toMatchObject({ giveBack: false });
});

test('who retires machines that are given back needs the right to destroy', () => {
  const person = { name: 'bob', role: 'operator', providers: null } as Person;
  const ask =
    (...providers: string[]) =>
    () =>
      requireMachineRight(person, gravest(means, wish, providers), providers);
  expect(ask('owned')).not.toThrow();
  expect(ask('owned', 'rented')).toThrow('retire needs the role admin');
});
