import { expect, test } from 'vitest';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { fleetOf, live, machine, order, scripted } from '../../../doubles/scripted-driver.ts';

test('without a host name of its own a slot is its host name', () => {
  expect(fleetOf(scripted()).fleet.hostnameFor('slot-1')).toBe('slot-1');
});

const first = { attempts: 1, ambiguous: false };
const failure = new Error('the lease is lost');
const refusing = order({ onAttempt: () => Promise.reject(failure) });
const fleetWith = (createMachine: Provider['createMachine']) =>
  fleetOf(scripted({ createMachine })).fleet;
const made = () => machine('d-7', { reservationId: 'slot-1' });

test('one that goes on and fails may have made something', async () => {
  const outcomes = [
    new ProviderError('transient', 'reset', { outcome: 'unknown' }),
    new TypeError('undefined is no machine'),
  ];
  for (const error of outcomes) {
    const fleet = fleetWith(async ({ onAttempt }) => {
      await onAttempt(first).catch(() => undefined);
      throw error;
    });
    await expect(fleet.createMachine(refusing, live)).rejects.toMatchObject({ outcome: 'unknown' });
  }
});

test('one that stops, and says so in its own words, has made nothing', async () => {
  const ends: ((cause: unknown) => Error)[] = [
    (cause) => new Error('not announced', { cause }),
    () => new ProviderError('transient', 'not announced'),
  ];
  for (const end of ends) {
    const fleet = fleetWith(({ onAttempt }) =>
      onAttempt(first).then(
        () => made(),
        (cause: unknown) => {
          throw end(cause);
        },
      ),
    );
    await expect(fleet.createMachine(refusing, live)).rejects.toBe(failure);
  }
});
