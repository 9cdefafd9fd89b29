import { expect, test } from 'vitest';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import {
  ACTIVE_MS,
  clientOf,
  createDevice,
  createOn,
  hooksOf,
  KEY,
  OTHER_KEY,
  start,
} from './harness.ts';

const NONE = '00000000-0000-4000-8000-000000000000';
const onDemand = { hardware_reservation_id: undefined, metro: 'fr' };

/** An order, what its device shows, and what the device does not show. */
const ACCEPTED: readonly [order: object, shown?: object, absent?: string][] = [
  [
    {},
    {
      ...{ billing_cycle: 'hourly', network_frozen: false, spot_instance: false },
      ...{ always_pxe: false, locked: false, customdata: {}, tags: [] },
    },
    'termination_time',
  ],
  [{ always_pxe: true }],
  [{ billing_cycle: 'monthly' }],
  [{ billing_cycle: '' }, { billing_cycle: 'hourly' }],
  [{ description: 'a web server' }],
  [{ locked: true, userdata: '#!/bin/sh\necho', tags: ['a', 'b'] }],
  [{ network_frozen: true, ipxe_script_url: 'https://127.0.0.1/boot' }],
  [{ storage: { disks: [{ device: '/dev/sda' }] } }],
  [{ termination_time: '2026-08-02T00:00:00Z' }],
  [{ customdata: { rack: 7 } }],
  [{ customdata: '{"hello":"world"}' }, { customdata: { hello: 'world' } }],
  [{ customdata: '' }, { customdata: {} }],
  [{ ...onDemand, spot_instance: true, spot_price_max: '0.5' }, { spot_price_max: 0.5 }],
  [{ ...onDemand, features: { tpm: 'required' } }, {}, 'features'],
  [{ hardware_reservation_id: '', metro: 'fr' }, {}, 'hardware_reservation'],
  [{ tags: null, project_ssh_keys: null, userdata: null }, { tags: [] }],
];

testRows(ACCEPTED)('shows what a creation with %j ordered', async (order, shown, absent) => {
  const fake = await start();
  const id = await createDevice(fake, 0, order);
  const { body } = await clientOf(fake)('GET', `/devices/${id}`);
  expect(body).toMatchObject(shown ?? order);
  expect(Object.keys(body)).not.toContain(absent ?? 'nothing');
  expect(fake.reservations()[0]!.deviceId).toBe('metro' in order ? null : id);
});

testRows([
  [{ plan: 'x9.huge' }, /^plan: /],
  [{ plan: undefined }, /^plan: /],
  [{ plan: 'c3.small.x86' }, /^plan: /],
  [{ operating_system: 'minix_1' }, /^operating_system: /],
  [{ operating_system: undefined }, /^operating_system: /],
  [{ hostname: 'under_score' }, /^hostname: /],
  [{ hardware_reservation_id: NONE }, /^hardware_reservation_id: /],
  [{ hardware_reservation_id: undefined }, /^metro: /],
  [{ hardware_reservation_id: '' }, /^metro: /],
  [{ metro: 'xx' }, /^metro: /],
  [{ metro: 'am' }, /^metro: /],
  [{ facility: ['nowhere'] }, /^facility: /],
  [{ project_ssh_keys: [NONE] }, /no such key/],
  [{ user_ssh_keys: [NONE] }, /^user_ssh_keys: no such user/],
  [{ ssh_keys: [{ label: 'x', key: 'nonsense' }] }, /^ssh_keys\.0\.key: /],
  [{ customdata: 'hello' }, /^customdata: /],
  [{ customdata: '[1]' }, /^customdata: /],
  [{ billing_cycle: 'now and then' }, /^billing_cycle: /],
  [{ spot_instance: true }, /^spot_instance: /],
  [{ ...onDemand, spot_instance: true, spot_price_max: 0 }, /^spot_price_max: /],
  [{ termination_time: '2026-07-31T00:00:00Z' }, /^termination_time: /],
  [{ termination_time: 'tomorrow' }, /^termination_time: /],
  [{ ip_addresses: [{ address_family: 5 }] }, /^ip_addresses\.0\.address_family: /],
  [{ ip_addresses: [{ address_family: 4 }, { address_family: 4 }] }, /^ip_addresses\.1: /],
  [{ ip_addresses: [{ address_family: 4, cidr: 8 }] }, /^ip_addresses\.0\.cidr: /],
  [{ public_ipv4_subnet_size: 24 }, /^public_ipv4_subnet_size: /],
  [{ network_frozen: 'yes' }, /^network_frozen: /],
  [{ features: 7 }, /^features: /],
])('refuses a creation with %j', async (order, message) => {
  const fake = await start();
  const path = `/projects/${fake.projectId}/devices`;
  const reply = await clientOf(fake)('POST', path, createOn(fake, 0, order));
  expect(reply.status).toBe(422);
  expect(reply.body['errors']!.join()).toMatch(message);
  expect([fake.devices(), fake.reservations()[0]!.deviceId]).toEqual([[], null]);
  expect((await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']).toEqual([]);
});

testRows([
  [{}, '198.18.0.4', ['198.18.0.2/31 .2 .3', '2001:db8:2::2/127 ::2 ::3', '10.64.0.2/31 .2 .3']],
  [
    {
      ip_addresses: [
        { address_family: 4, public: false },
        { address_family: 6, cidr: 126 },
      ],
    },
    '198.18.0.4',
    ['2001:db8:2::/126 ::1 ::3', '10.64.0.2/31 .2 .3'],
  ],
  [
    { public_ipv4_subnet_size: 29 },
    '198.18.0.16',
    ['198.18.0.8/29 .9 .10', '2001:db8:5::2/127 ::2 ::3', '10.64.0.8/31 .8 .9'],
  ],
])(
  'gives devices networks apart from each other: with %j the next one begins at %s',
  async (order, next, networks) => {
    const fake = await start();
    await createDevice(fake, 1);
    const id = await createDevice(fake, 0, order);
    const last = await createDevice(fake, 2);
    await fake.advance(30_000);
    const addressesOf = async (device: string) =>
      (await clientOf(fake)('GET', `/devices/${device}`)).body['ip_addresses']!;
    const shown = (await addressesOf(id)).map((one) =>
      [
        `${one['network']}/${one['cidr']}`,
        ...['gateway', 'address'].map((name) => /(\.|::)\w+$/.exec(String(one[name]))![0]),
      ].join(' '),
    );
    expect(shown).toEqual(networks);
    expect((await addressesOf(last))[0]!['network']).toBe(next);
  },
);

const OWN = { label: 'own', key: `${OTHER_KEY}\n`, tags: ['one-off'] };
const LISTS: readonly [lists: object, labels: string[]][] = [
  [{}, ['in the project', 'of the user']],
  [{ no_ssh_keys: true }, []],
  [{ project_ssh_keys: [], user_ssh_keys: [], ssh_keys: [] }, ['in the project', 'of the user']],
  [{ project_ssh_keys: [], no_ssh_keys: true }, []],
  [{ project_ssh_keys: ['in the project'], no_ssh_keys: true }, ['in the project']],
  [{ user_ssh_keys: ['me'] }, ['of the user']],
  [{ ssh_keys: [{ key: `${KEY} again` }, OWN] }, ['in the project', 'own']],
];

testRows(LISTS)('puts on a machine that was created with %j the keys %j', async (lists, labels) => {
  const assigned: string[] = [];
  const hooks = hooksOf((_, { authorizedKeys = [] }) => void assigned.push(...authorizedKeys));
  const fake = await start({ hooks });
  const call = clientOf(fake);
  const inProject = `/projects/${fake.projectId}/ssh-keys`;
  const made = await call('POST', inProject, { label: 'in the project', key: `${KEY}\n` });
  await call('POST', '/ssh-keys', { label: 'of the user', key: OTHER_KEY });
  const me = (await call('GET', '/user')).body['id'];
  const ids: Record<string, unknown> = { 'in the project': made.body['id'], me };
  const order = JSON.parse(JSON.stringify(lists), (_, value) => ids[value as string] ?? value);
  const id = await createDevice(fake, 0, order as object);
  const { body } = await call('GET', `/devices/${id}?include=ssh_keys`);
  expect(body['ssh_keys']!.map((key) => key['label'])).toEqual(labels);
  const own = body['ssh_keys']!.filter((key) => String(key['label']) === 'own');
  expect(own).toEqual(labels.includes('own') ? [expect.objectContaining(OWN)] : []);
  await fake.advance(30_000);
  expect(assigned).toEqual(labels.map((label) => (label === 'in the project' ? KEY : OTHER_KEY)));
});

test('gives one reservation to one of several creations at the same time', async () => {
  const fake = await start();
  const path = `/projects/${fake.projectId}/devices`;
  const replies = await Promise.all(
    Array.from({ length: 4 }, () => clientOf(fake)('POST', path, createOn(fake, 0))),
  );
  expect(replies.map(({ status }) => status).toSorted()).toEqual([201, 422, 422, 422]);
  expect([fake.devices().length, fake.violations()]).toEqual([1, []]);
});

test('picks the lowest free id for next-available, and has none in the end', async () => {
  const fake = await start();
  const inFrankfurt = fake.reservations().filter((one) => one.facility === 'fr2');
  const more = { hardware_reservation_id: 'next-available', metro: 'fr' };
  for (const id of inFrankfurt.map((one) => one.id).toSorted()) {
    await createDevice(fake, 0, more);
    expect(fake.devices().at(-1)!.reservationId).toBe(id);
  }
  const path = `/projects/${fake.projectId}/devices`;
  const reply = await clientOf(fake)('POST', path, createOn(fake, 0, more));
  expect([reply.status, reply.body['errors']![0]]).toEqual([
    503,
    expect.stringMatching(/^There are no available hardware reservations/),
  ]);
});

test('takes devices on demand from the stock of each facility of the metro', async () => {
  const plan = 'c3.small.x86';
  const world = parseWorld({ facilities: [{ code: 'fr8', metro: 'fr' }] });
  const fake = await start({ world, knobs: { onDemandStock: 3 } });
  const level = async (path: string, place: string) =>
    String((await clientOf(fake)('GET', path)).body['capacity']![place]![plan]!['level']);
  const levels = async () => [
    await level('/capacity', 'fr2'),
    await level('/capacity', 'fr8'),
    await level('/capacity/metros', 'fr'),
  ];
  const order = createOn(fake, 0, { plan, hardware_reservation_id: '', metro: 'fr' });
  const take = () => clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, order);
  const first = await take();
  expect(await levels()).toEqual(['limited', 'normal', 'normal']);
  for (let taken = 1; taken < 6; taken += 1) expect((await take()).status).toBe(201);
  expect(await levels()).toEqual(['unavailable', 'unavailable', 'unavailable']);
  const refused = await take();
  expect([refused.status, refused.body]).toEqual([
    503,
    { errors: [`There is no available capacity for plan ${plan} there`] },
  ]);
  await createDevice(fake, 0);
  await fake.advance(ACTIVE_MS);
  await clientOf(fake)('DELETE', `/devices/${first.body['id']}`);
  await fake.advance(60_000);
  expect(await levels()).toEqual(['limited', 'unavailable', 'limited']);
});

test('deletes a device at its termination time, unless it is locked', async () => {
  const fake = await start();
  const end = { termination_time: '2026-08-01T10:10:00Z' };
  const [, locked, gone] = [
    await createDevice(fake, 0, end),
    await createDevice(fake, 1, end),
    await createDevice(fake, 2, end),
  ];
  await fake.advance(ACTIVE_MS);
  const states = () => fake.devices().map(({ state }) => state);
  await clientOf(fake)('POST', `/devices/${fake.devices()[0]!.id}/actions`, { type: 'power_off' });
  await clientOf(fake)('PUT', `/devices/${locked}`, { locked: true });
  await clientOf(fake)('DELETE', `/devices/${gone}`);
  await fake.advance(600_000 - ACTIVE_MS - 1);
  expect(states()).toEqual(['inactive', 'active']);
  await fake.advance(1);
  expect(states()).toEqual(['deprovisioning', 'active']);
  await fake.advance(60_000);
  expect([states(), fake.violations()]).toEqual([['active'], []]);
});
