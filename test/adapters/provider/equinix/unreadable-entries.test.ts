import { expect, test } from 'vitest';
import { INSTANCE_SET_ID, live } from '../driver-stand.ts';
import { answer, PROJECT_ID, type Script, scriptedFleet } from './setup.ts';

const ID = '11110000-0000-4000-8000-000000000001';
const STRANGER = '22220000-0000-4000-8000-000000000002';
const RESERVATION = '33330000-0000-4000-8000-000000000003';

const device = (id: string, change: object = {}) => ({
  id,
  hostname: 'shepherd-ci-33330000-0000-4000',
  state: 'active',
  tags: [`shepherd-owner-${INSTANCE_SET_ID}`],
  ip_addresses: [{ address: '192.0.2.1', address_family: 4, public: true, management: true }],
  hardware_reservation: { href: `/hardware-reservations/${RESERVATION}` },
  ...change,
});
const stranger = (change: object) => device(STRANGER, { hostname: 'theirs', tags: [], ...change });
const meta = (total: number) => ({ total, current_page: 1, last_page: 1 });
const BRACKETS = 200_000;
const nested = '['.repeat(BRACKETS) + ']'.repeat(BRACKETS);

/** @param devices as they stand in the reply, each a JSON text. */
async function listed(devices: readonly string[], reservations: readonly string[] = []) {
  const serve: Script = ({ path }, res) => {
    const [name, list] = path.endsWith('/devices')
      ? ['devices', devices]
      : ['hardware_reservations', reservations];
    answer(res, 200, `{"${name}":[${list.join()}],"meta":${JSON.stringify(meta(list.length))}}`);
  };
  return (await scriptedFleet(serve)).provider.listMachines(live);
}
const json = (value: unknown) => JSON.stringify(value);

test.each<[string, string, string | null]>([
  ['is no object', '7', null],
  ['has no id', json({ hostname: 'theirs' }), null],
  ['has a text that is none', json(stranger({ hostname: 7 })), STRANGER],
  ['has an address without a family', json(stranger({ ip_addresses: [{}] })), STRANGER],
  ['is 200 000 brackets', nested, null],
  ['has 200 000 brackets in a field', `{"id":"${STRANGER}","plan":${nested}}`, STRANGER],
])('A5: a device that %s spoils no other one', async (_, entry, id) => {
  const { machines, complete, unreadable = [] } = await listed([entry, json(device(ID))]);
  expect(machines.map((machine) => [machine.id, machine.ownership])).toEqual([[ID, 'ours']]);
  expect(unreadable.map((each) => each.id)).toEqual(id === null ? [] : [id]);
  // What does not even tell its name may be anything.
  expect(complete).toBe(id !== null);
});

test.each(['constructor', '__proto__'])(
  'A5: the state %s is one that nobody has heard of',
  async (state) => {
    const { machines, complete } = await listed([json(device(ID, { state }))]);
    expect(machines).toMatchObject([{ id: ID, status: 'Unknown', power: 'unknown' }]);
    expect(complete).toBe(true);
  },
);

test('A5: an address that means something on one host only is none', async () => {
  const local = { address: 'fe80::1%eth0', address_family: 6, public: true, management: true };
  const { machines, complete } = await listed([json(device(ID, { ip_addresses: [local] }))]);
  expect(machines).toMatchObject([{ id: ID, address: null }]);
  expect(complete).toBe(true);
});

test('A5: what lies too deep in the customdata of a device is left out', async () => {
  const text = json(device(ID)).replace(/\}$/, `,"customdata":{"ssh_port":22,"x":${nested}}}`);
  expect((await listed([text])).machines).toMatchObject([{ id: ID, status: 'Running' }]);
});

test('A5: our own machine that cannot be read is there, and its slot is not offered', async () => {
  const free = { id: RESERVATION, provisionable: true, plan: { slug: 'c3' }, facility: {} };
  const { machines, complete, unreadable } = await listed(
    [json(device(ID, { locked: 'yes' }))],
    [json(free)],
  );
  expect({ machines, complete }).toEqual({ machines: [], complete: true });
  expect(unreadable).toMatchObject([{ id: ID, reservationId: RESERVATION }]);
  expect(unreadable![0]!.fault).toContain('$.locked');
});

test('A5: a reservation that cannot be read is not offered, the others are', async () => {
  const free = (n: number, change: object = {}) => ({
    id: RESERVATION.slice(0, -1) + n,
    provisionable: true,
    plan: { slug: 'c3' },
    facility: {},
    project: { id: PROJECT_ID },
    ...change,
  });
  const { machines, complete, unreadable } = await listed(
    [],
    [json(free(4)), json(free(5, { spare: 'perhaps' })), json(free(6))],
  );
  expect(machines.map(({ reservationId }) => reservationId!.slice(-1))).toEqual(['4', '6']);
  expect(unreadable).toMatchObject([{ id: null, reservationId: free(5).id }]);
  expect(complete).toBe(true);
});
