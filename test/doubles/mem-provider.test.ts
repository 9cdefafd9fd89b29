import { beforeEach, expect, test } from 'vitest';
import { createSeededRandom, createSimulatedClock, type VirtualClock } from './simulated-clock.ts';
import { createMemProvider, type MemProvider } from './mem-provider.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { witness } from '../../src/domain/ids.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const OTHER_WITNESS = witness('0b6e2222-2222-4222-8222-222222222222');
const live = { signal: new AbortController().signal };

let clock: VirtualClock;
let rebooted: (string | null)[];
let provider: MemProvider;

beforeEach(() => {
  clock = createSimulatedClock();
  rebooted = [];
  provider = createMemProvider(
    {
      devicePrefix: 'mem-',
      instanceSetId: 'shep0-ci000-000000000000000',
      reservations: 3,
      provisioningMs: 60_000,
      latencyMs: 0,
    },
    {
      clock,
      random: createSeededRandom(1),
      onReboot: ({ id }) => rebooted.push(id),
      onUp: ({ hostname }) => `${hostname}.example:2222`,
    },
  );
});

async function create(mark = WITNESS) {
  const { machines } = await provider.listMachines(live);
  const unused = machines.find(({ availability }) => availability === 'KnownUnused')!;
  const hostname = provider.hostnameFor(unused.reservationId!);
  return provider.createMachine({ unused, hostname, witness: mark }, live);
}

test('machines come up in virtual time', async () => {
  const { id, hostname } = await create();
  clock.increment(59_999);
  expect(await provider.getMachine(id!, live)).toMatchObject({
    status: 'Provisioning',
    address: null,
  });
  clock.increment(1);
  expect(await provider.getMachine(id!, live)).toMatchObject({
    status: 'Running',
    address: `${hostname}.example:2222`,
  });
});

test('a fault spoils as many calls as it says, before or after its effect', async () => {
  provider.inject({ operation: 'create', effect: 'failBefore', times: 2 });
  await expect(create()).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  await expect(create()).rejects.toMatchObject({ code: 'transient', outcome: 'not-done' });
  expect(provider.devices()).toHaveLength(0);
  const error = new ProviderError('transient', 'none left', { capacity: { scope: 'all' } });
  provider.inject({ operation: 'create', effect: 'failAfter', error });
  await expect(create()).rejects.toBe(error);
  expect(provider.devices()).toHaveLength(1);
  await create(OTHER_WITNESS);
});

test('a lost reply leaves a device that its witness finds', async () => {
  provider.inject({ operation: 'create', effect: 'loseReply' });
  await expect(create()).rejects.toMatchObject({ code: 'transient', outcome: 'unknown' });
  const [device] = provider.devices();
  const found = await provider.findByWitness(WITNESS, device!.reservationId!, live);
  expect(found?.id).toBe(device!.id);
});

test('an incomplete listing says so, once', async () => {
  provider.inject({ operation: 'list', effect: 'incomplete' });
  const partial = await provider.listMachines(live);
  expect({ ...partial, machines: partial.machines.length }).toEqual({
    machines: 2,
    complete: false,
  });
  expect(await provider.listMachines(live)).toMatchObject({ complete: true });
});

test('a removed device frees its reservation, or takes it away', async () => {
  const first = await create();
  provider.remove(first.id!);
  expect((await provider.listMachines(live)).machines).toHaveLength(3);
  const second = await create();
  provider.remove(second.id!, { withReservation: true });
  expect(provider.reservationIds()).not.toContain(second.reservationId);
  expect((await provider.listMachines(live)).machines).toHaveLength(2);
});

test('a reboot is told to the world; a stranger has none', async () => {
  const { id } = await create();
  await provider.rebootMachine(id!, 'graceful', live);
  expect(rebooted).toEqual([id]);
  const stranger = provider.snatch(provider.reservationIds()[2]!);
  await expect(provider.rebootMachine(stranger, 'graceful', live)).rejects.toThrow('no device');
});

test('a broken device is shown as failed', async () => {
  const { id } = await create();
  provider.setStatus(id!, 'ProvisioningFailedPermanent');
  clock.increment(60_000);
  expect(await provider.getMachine(id!, live)).toMatchObject({
    failed: true,
    status: 'ProvisioningFailedPermanent',
  });
});
