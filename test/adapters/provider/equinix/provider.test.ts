import { expect, test } from 'vitest';
import { witness } from '../../../../src/domain/ids.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { live } from '../driver-stand.ts';
import { FOREIGN, OURS, reservationId, type Stand, startStand } from './stand.ts';

const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');
const LIST = 'GET /projects/{id}/hardware-reservations';
const slots = (count: number) => ({ reservations: count });
const order = async ({ provider }: Stand) => {
  const [unused] = (await provider.listMachines(live)).machines;
  return { unused: unused!, witness: WITNESS, hostname: 'shepherd-ci-x' };
};

test('devices with our prefix are shown, each with its owner; others are not listed', async () => {
  const { provider, deviceId } = await startStand({
    devices: [
      { hostname: 'shepherd-ci-ours', tags: OURS },
      { hostname: 'shepherd-ci-orphan' },
      { hostname: 'shepherd-ci-foreign', tags: FOREIGN },
      { hostname: 'shepherd-ci-disputed', tags: [...OURS, ...FOREIGN] },
      { hostname: 'stranger', tags: OURS },
    ],
  });
  const expected = {
    'shepherd-ci-ours': 'ours',
    'shepherd-ci-orphan': 'untagged',
    'shepherd-ci-foreign': 'foreign',
    'shepherd-ci-disputed': 'foreign',
  };
  const { machines } = await provider.listMachines(live);
  const listed = machines.map(({ hostname, ownership }) => [hostname, ownership] as const);
  expect(Object.fromEntries(listed)).toEqual(expected);
  for (const [hostname, ownership] of Object.entries(expected)) {
    const shown = await provider.getMachine(deviceId(hostname), live);
    expect(shown).toMatchObject({ hostname, ownership });
  }
  // Asked for by its id it is there, and so not Missing; but nobody's, whatever its tags say.
  const stranger = await provider.getMachine(deviceId('stranger'), live);
  expect(stranger).toMatchObject({ hostname: 'stranger', ownership: 'foreign' });
});

test('the reservation list is kept; what a device sits on, and a lost race, leave it at once', async () => {
  const stand = await startStand(slots(3));
  const { provider, fake } = stand;
  const { machines } = await provider.listMachines(live);
  const [first, second, third] = machines.map((machine) => machine.reservationId!);
  fake.snatch(first!);
  const free = async () =>
    (await provider.listMachines(live)).machines.map((machine) => machine.reservationId);
  expect(new Set(await free())).toEqual(new Set([second, third]));
  const lost = { ...(await order(stand)), unused: machines[1]! };
  fake.snatch(second!);
  await expect(provider.createMachine(lost, live)).rejects.toMatchObject({ code: 'race-lost' });
  expect(await free()).toEqual([third]);
  expect(stand.count(LIST)).toBe(1);
});

test('an old reservation list is read again', async () => {
  const { provider, count } = await startStand(slots(2), {
    config: { reservationCacheTimeoutMs: 0 },
  });
  await provider.listMachines(live);
  await provider.listMachines(live);
  expect(count(LIST)).toBe(2);
});

test('a refused creation makes the next listing look for itself', async () => {
  const stand = await startStand(slots(2));
  const asked = await order(stand);
  const body = { errors: ['no'] };
  const match = { method: 'POST', route: '/projects/{id}/devices' };
  stand.fake.addFault({ match, effect: { type: 'status', code: 422, body } });
  const refused = stand.provider.createMachine(asked, live);
  await expect(refused).rejects.toMatchObject({ code: 'invalid', outcome: 'not-done' });
  await advance(stand.deps.clock, 1);
  expect((await stand.provider.listMachines(live)).machines).toHaveLength(2);
  expect(stand.count(LIST)).toBe(2);
});

test('a witness is looked for past a reservation that is gone; gaps in the list do not tell', async () => {
  const mark = `shepherd-idempotency-${WITNESS}`;
  const { provider, fake, deviceId } = await startStand({
    reservations: [{ id: reservationId(1) }],
    devices: [{ hostname: 'shepherd-ci-1', tags: [...OURS, mark] }],
  });
  const gone = await provider.findByWitness(WITNESS, reservationId(9), live);
  expect(gone?.id).toBe(deviceId('shepherd-ci-1'));
  fake.addFault({ effect: { type: 'unstablePages', mode: 'omit' } });
  const unsure = provider.findByWitness(WITNESS, reservationId(1), live);
  await expect(unsure).rejects.toMatchObject({ code: 'transient' });
});

test('a hidden device is gone when the token works otherwise and no list shows it', async () => {
  const { provider, fake, deviceId } = await startStand({
    devices: [{ hostname: 'shepherd-ci-ours', tags: OURS }],
  });
  const id = deviceId('shepherd-ci-ours');
  const match = { method: 'GET', route: '/devices/{id}' };
  fake.addFault({ match, effect: { type: 'status', code: 403 } });
  const withdrawn = provider.getMachine('00000000-0000-4000-8000-00000000dead', live);
  await expect(withdrawn).rejects.toMatchObject({ code: 'not-found' });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'transient' });
  fake.addFault({ effect: { type: 'status', code: 403 } });
  await expect(provider.getMachine(id, live)).rejects.toMatchObject({ code: 'auth' });
});

test('a state that nobody has heard of is told once', async () => {
  const { provider, fake, deps } = await startStand({
    devices: [{ hostname: 'shepherd-ci-odd', tags: OURS }],
  });
  const [{ id } = { id: '' }] = fake.devices();
  fake.setDeviceState(id, 'weird');
  for (let n = 0; n < 2; n++) {
    expect(await provider.getMachine(id, live)).toMatchObject({ status: 'Unknown' });
  }
  const told = deps.lines.filter((line) => line.includes('unknown state'));
  expect(told).toEqual([expect.stringContaining('weird')]);
});
