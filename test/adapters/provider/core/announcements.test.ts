import { expect, test } from 'vitest';
import type { Provider } from '../../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { fleetOf, live, machine, order, scripted } from '../../../doubles/scripted-driver.ts';

const first = { attempts: 1, ambiguous: false };
const failure = new Error('the lease is lost');
const refusing = order({ onAttempt: () => Promise.reject(failure) });
const fleetWith = (createMachine: Provider['createMachine']) =>
  fleetOf(scripted({ createMachine })).fleet;
const made = () => machine('d-7', { reservationId: 'slot-1' });

test('a driver that goes on after a failed announcement has made something: say so', async () => {
  const fleet = fleetWith(async ({ onAttempt }) => {
    await onAttempt(first).catch(() => undefined);
    return made();
  });
  await expect(fleet.createMachine(refusing, live)).rejects.toMatchObject({
    kind: 'permanent',
    outcome: 'unknown',
    message: expect.stringContaining('d-7'),
    cause: failure,
  });
});

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

test('a driver that does not wait for its announcement is found out', async () => {
  const announced = Promise.withResolvers<void>();
  const fleet = fleetWith(async ({ onAttempt }) => {
    void onAttempt(first);
    return made();
  });
  const creation = fleet.createMachine(order({ onAttempt: () => announced.promise }), live);
  await expect(creation).rejects.toMatchObject({
    outcome: 'unknown',
    message: expect.stringContaining('did not wait'),
  });
  announced.reject(failure);
});
