import { expect, test } from 'vitest';
import type { FleetProvider, Provider } from '../../../../src/adapters/provider/port.ts';
import { isProviderError, ProviderError } from '../../../../src/domain/errors.ts';
import { facetsOf } from '../../../../src/domain/provisioning/provider-holds.ts';
import {
  fleetOf,
  live,
  machine,
  order,
  scripted,
  WITNESS,
} from '../../../doubles/scripted-driver.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';

const plan = { name: 'small', location: null, spot: false };
const caught = (ask: () => unknown): unknown => {
  try {
    return ask();
  } catch (error) {
    return error;
  }
};

test.each<[string, () => unknown]>([
  ['throws', () => (undefined as unknown as { a: { b: string } }).a.b],
  ['tells undefined', () => undefined],
  ['tells a number', () => 7],
  ['tells nothing', () => ''],
  ['tells two lines', () => 'a\nb'],
])('a driver that %s instead of a name has made a mistake', (_, answer) => {
  const methods = { capacityGroup: answer, hostnameFor: answer } as Partial<Provider>;
  const { fleet } = fleetOf(scripted(methods));
  for (const ask of [() => fleet.capacityGroup(plan), () => fleet.hostnameFor('s')]) {
    const error = caught(ask);
    expect(isProviderError(error, 'permanent'), String(error)).toBe(true);
  }
});

test('without a host name of its own a slot is its host name', () => {
  expect(fleetOf(scripted()).fleet.hostnameFor('slot-1')).toBe('slot-1');
});

const accepted: [keyof Provider, (fleet: FleetProvider) => Promise<unknown>][] = [
  ['rebootMachine', (fleet) => fleet.rebootMachine('a', 'force', live)],
  ['reinstallMachine', (fleet) => fleet.reinstallMachine('a', live)],
  ['setPower', (fleet) => fleet.setPower('a', 'on', live)],
  ['createMachine', (fleet) => fleet.createMachine(order(), live)],
  ['sweep', (fleet) => fleet.sweep({ ...live, dryRun: true })],
];
test.each(accepted)('%s without an answer may have done something', async (method, call) => {
  const { fleet } = fleetOf(scripted({ [method]: async () => undefined }));
  await expect(call(fleet)).rejects.toMatchObject({ kind: 'permanent', outcome: 'unknown' });
});

const told: [keyof Provider, (fleet: FleetProvider) => Promise<unknown>][] = [
  ['getMachine', (fleet) => fleet.getMachine('a', live)],
  ['findByWitness', (fleet) => fleet.findByWitness(WITNESS, 's', live)],
  ['isReusable', (fleet) => fleet.isReusable('s', live)],
];
test.each(told)('%s without an answer tells nothing', async (method, call) => {
  const { fleet } = fleetOf(scripted({ [method]: async () => undefined }));
  await expect(call(fleet)).rejects.toMatchObject({ kind: 'permanent', outcome: 'not-done' });
});

const limited = (retryAt: unknown, cause?: unknown) =>
  new ProviderError('transient', '429', { cause, rateLimit: { retryAt: retryAt as Date } });

test.each<[string, unknown, number]>([
  ['an Invalid Date', new Date('soon'), 20],
  ['a text', '2025-11-01', 20],
  ['nothing', undefined, 20],
  ['tomorrow', 86_400, 3_600],
  ['in a minute', 60, 60],
  ['a minute ago', -60, -60],
])('when to ask again, as the core passes it on: %s', async (_, given, seconds) => {
  const clock = createSimulatedClock();
  const retryAt = typeof given === 'number' ? new Date(clock.now() + given * 1_000) : given;
  for (const error of [limited(retryAt), new Error('outer', { cause: limited(retryAt) })]) {
    const { fleet } = fleetOf(scripted({ getMachine: () => Promise.reject(error) }), {}, { clock });
    const rejected: unknown = await fleet.getMachine('a', live).catch((reason: unknown) => reason);
    expect(facetsOf(rejected).retryAtMs).toBe(clock.now() + seconds * 1_000);
  }
});

test('what is no time says nothing of when to ask again', () => {
  for (const retryAt of [new Date('soon'), '2025-11-01', null, 7]) {
    expect(facetsOf(limited(retryAt)).retryAtMs).toBeNull();
    expect(facetsOf(limited(retryAt, limited(new Date(5)))).retryAtMs).toBe(5);
  }
});

test('an outcome that the port does not know is not known', () => {
  const options = { outcome: 'maybe' as 'unknown' };
  expect(facetsOf(new ProviderError('transient', 'x', options)).outcome).toBe('unknown');
});

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
