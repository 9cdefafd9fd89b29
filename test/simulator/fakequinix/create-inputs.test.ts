import { describe, expect, it } from 'vitest';
import { clientOf, createDevice, createOn, KEY, OTHER_KEY, start } from './harness.ts';

const none = '00000000-0000-4000-8000-000000000000';
const ACTIVE_MS = 245_000;
const onDemand = { hardware_reservation_id: undefined, metro: 'fr' };

describe('what a create says, the device shows', () => {
  it.each([
    { always_pxe: true },
    { billing_cycle: 'monthly' },
    { description: 'a web server' },
    { customdata: { rack: 7 } },
    { locked: true },
    { userdata: '#!/bin/sh\necho' },
    { tags: ['a', 'b'] },
    { network_frozen: true },
    { ipxe_script_url: 'https://127.0.0.1/boot' },
    { storage: { disks: [{ device: '/dev/sda' }] } },
    { termination_time: '2026-08-02T00:00:00Z' },
    { ...onDemand, spot_instance: true, spot_price_max: 0.5 },
  ])('%j', async (more) => {
    const fake = await start();
    const id = await createDevice(fake, 0, more);
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    const { metro: _metro, hardware_reservation_id: _none, ...shown } = more as typeof onDemand;
    expect(body).toMatchObject(shown);
  });

  it('shows what nobody named as the service does', async () => {
    const fake = await start();
    const { body } = await clientOf(fake)('GET', `/devices/${await createDevice(fake)}`);
    expect(body).toMatchObject({
      billing_cycle: 'hourly',
      network_frozen: false,
      spot_instance: false,
      always_pxe: false,
      locked: false,
      customdata: {},
      tags: [],
    });
    for (const field of ['termination_time', 'spot_price_max', 'storage', 'firmware_set_id']) {
      expect(body).not.toHaveProperty(field);
    }
  });

  it.each([
    [{ customdata: '{"hello":"world"}' }, { customdata: { hello: 'world' } }],
    [{ customdata: '' }, { customdata: {} }],
    [{ billing_cycle: '' }, { billing_cycle: 'hourly' }],
    [{ spot_price_max: '0.04' }, { spot_price_max: 0.04 }],
  ])('reads %j as it is meant', async (more, shown) => {
    const fake = await start();
    const id = await createDevice(fake, 0, { ...onDemand, ...more });
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    expect(body).toMatchObject(shown);
  });

  it('accepts features, which pick a machine and are not shown', async () => {
    const fake = await start();
    for (const features of [['tpm'], { tpm: 'required' }]) {
      const id = await createDevice(fake, 0, { ...onDemand, features });
      expect((await clientOf(fake)('GET', `/devices/${id}`)).body).not.toHaveProperty('features');
    }
  });
});

describe('a create is refused for', () => {
  it.each([
    [{ customdata: 'hello' }, /^customdata: /],
    [{ customdata: '[1]' }, /^customdata: /],
    [{ billing_cycle: 'now and then' }, /^billing_cycle: /],
    [{ spot_instance: true }, /^spot_instance: /],
    [{ ...onDemand, spot_instance: true, spot_price_max: 0 }, /^spot_price_max: /],
    [{ termination_time: '2026-07-31T00:00:00Z' }, /^termination_time: /],
    [{ termination_time: 'tomorrow' }, /^termination_time: /],
    [{ user_ssh_keys: [none] }, /^user_ssh_keys: no such user/],
    [{ ssh_keys: [{ label: 'x', key: 'nonsense' }] }, /^ssh_keys\.0\.key: /],
    [{ ip_addresses: [{ address_family: 5 }] }, /^ip_addresses\.0\.address_family: /],
    [{ ip_addresses: [{ address_family: 6, public: false }] }, /^ip_addresses\.0: /],
    [{ ip_addresses: [{ address_family: 4 }, { address_family: 4 }] }, /^ip_addresses\.1: /],
    [{ ip_addresses: [{ address_family: 4, cidr: 8 }] }, /^ip_addresses\.0\.cidr: /],
    [
      { ip_addresses: [{ address_family: 4, ip_reservations: [none] }] },
      /^ip_addresses\.0\.ip_reservations: /,
    ],
    [{ public_ipv4_subnet_size: 24 }, /^public_ipv4_subnet_size: /],
    [{ private_ipv4_subnet_size: 32 }, /^private_ipv4_subnet_size: /],
    [{ network_frozen: 'yes' }, /^network_frozen: /],
    [{ features: 7 }, /^features: /],
  ])('%j', async (more, message) => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/devices`;
    const reply = await clientOf(fake)('POST', path, createOn(fake, 0, more));
    expect(reply.status).toBe(422);
    expect(reply.body['errors']!.join()).toMatch(message);
    expect(fake.devices()).toEqual([]);
    expect((await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']).toEqual([]);
  });
});

it('an empty hardware_reservation_id is none', async () => {
  const fake = await start();
  const id = await createDevice(fake, 0, { hardware_reservation_id: '', metro: 'fr' });
  const { body } = await clientOf(fake)('GET', `/devices/${id}`);
  expect(body).not.toHaveProperty('hardware_reservation');
  expect(fake.reservations().every(({ deviceId }) => deviceId === null)).toBe(true);
  const path = `/projects/${fake.projectId}/devices`;
  const nowhere = createOn(fake, 0, { hardware_reservation_id: '' });
  expect((await clientOf(fake)('POST', path, nowhere)).status).toBe(422);
});

it('locks, prices and the rest are changed by an update too', async () => {
  const fake = await start();
  const path = `/devices/${await createDevice(fake, 0, onDemand)}`;
  const change = {
    billing_cycle: 'daily',
    network_frozen: true,
    spot_instance: true,
    firmware_set_id: none,
    customdata: { hi: 'earth' },
  };
  const changed = await clientOf(fake)('PUT', path, { ...change, customdata: '{"hi":"earth"}' });
  expect([changed.status, changed.body]).toEqual([200, expect.objectContaining(change)]);
  expect((await clientOf(fake)('PUT', path, { customdata: '' })).body['customdata']).toEqual({});
});

describe('addresses', () => {
  const addressesOf = async (more: object) => {
    const fake = await start();
    const id = await createDevice(fake, 0, more);
    await createDevice(fake, 1, more);
    await fake.advance(30_000);
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    return body['ip_addresses']!.map((one) =>
      ['address', 'public', 'cidr', 'network', 'netmask', 'gateway'].map((name) => one[name]),
    );
  };

  it('are three unless the create lists others', async () => {
    expect(await addressesOf({ ip_addresses: [] })).toEqual([
      ['198.18.0.1', true, 31, '198.18.0.0', '255.255.255.254', '198.18.0.0'],
      [
        ...['2001:db8:1::3', true, 127, '2001:db8:1::2'],
        ...['ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe', '2001:db8:1::2'],
      ],
      ['10.64.0.1', false, 31, '10.64.0.0', '255.255.255.254', '10.64.0.0'],
    ]);
  });

  it('are only the listed ones, as large as they are to be', async () => {
    const listed = [
      { address_family: 4, public: false },
      { address_family: 6, cidr: 126 },
    ];
    expect(await addressesOf({ ip_addresses: listed })).toEqual([
      [
        ...['2001:db8:1::3', true, 126, '2001:db8:1::'],
        ...['ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc', '2001:db8:1::1'],
      ],
      ['10.64.0.1', false, 31, '10.64.0.0', '255.255.255.254', '10.64.0.0'],
    ]);
  });

  it('are in networks of the sizes named, which do not overlap', async () => {
    const fake = await start();
    await createDevice(fake, 1);
    const id = await createDevice(fake, 0, { public_ipv4_subnet_size: 29 });
    const last = await createDevice(fake, 2, { private_ipv4_subnet_size: 30 });
    await fake.advance(30_000);
    const fours = async (device: string) => {
      const { body } = await clientOf(fake)('GET', `/devices/${device}`);
      const four = body['ip_addresses']!.filter((one) => Number(one['address_family']) === 4);
      return four.map(
        (one) => `${one['network']}/${one['cidr']} ${one['gateway']} ${one['address']}`,
      );
    };
    expect(await fours(id)).toEqual([
      '198.18.0.8/29 198.18.0.9 198.18.0.10',
      '10.64.0.8/31 10.64.0.8 10.64.0.9',
    ]);
    expect(await fours(last)).toEqual([
      '198.18.0.16/31 198.18.0.16 198.18.0.17',
      '10.64.0.16/30 10.64.0.17 10.64.0.18',
    ]);
  });
});

it('a machine that was not to have a public IPv4 address shows none, and the others once', async () => {
  const fake = await start({
    hooks: {
      assign: async () => ({ address: '127.0.0.1', sshPort: 2222 }),
      up: async () => undefined,
      down: async () => undefined,
      reinstalled: async () => undefined,
      gone: async () => undefined,
    },
  });
  const id = await createDevice(fake, 0, { ip_addresses: [{ address_family: 6 }] });
  const addresses = async () =>
    (await clientOf(fake)('GET', `/devices/${id}`)).body['ip_addresses']!.map((one) =>
      String(one['address']),
    );
  await fake.advance(30_000);
  expect(await addresses()).toEqual(['2001:db8:1::3']);
  await fake.advance(ACTIVE_MS);
  expect(await addresses()).toEqual(['2001:db8:1::3']);
});

describe('a termination time', () => {
  const soon = { termination_time: '2026-08-01T10:10:00Z' };

  it('deletes the device', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, soon);
    await fake.advance(599_000);
    expect(fake.devices()[0]!.state).toBe('active');
    await fake.advance(1_000);
    expect(fake.devices()[0]!.state).toBe('deprovisioning');
    await fake.advance(60_000);
    expect((await clientOf(fake)('GET', `/devices/${id}`)).status).toBe(404);
    expect([fake.devices(), fake.violations()]).toEqual([[], []]);
  });

  it('holds whatever was done with the device meanwhile, unless it is locked', async () => {
    const fake = await start();
    const [first, locked] = [await createDevice(fake, 0, soon), await createDevice(fake, 1, soon)];
    await fake.advance(ACTIVE_MS);
    await clientOf(fake)('POST', `/devices/${first}/actions`, { type: 'power_off' });
    await clientOf(fake)('PUT', `/devices/${locked}`, { locked: true });
    await fake.advance(600_000 - ACTIVE_MS);
    expect(fake.devices().map(({ state }) => state)).toEqual(['deprovisioning', 'active']);
  });

  it('leaves nothing of a device that went before', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, soon);
    await fake.advance(ACTIVE_MS);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    await fake.advance(60_000);
    expect(fake.devices()).toEqual([]);
    await createDevice(fake, 1);
    await fake.advance(600_000);
    expect(fake.devices().map(({ state }) => state)).toEqual(['active']);
  });
});

describe('SSH keys of a create', () => {
  const OWN = { label: 'own', key: `${OTHER_KEY}\n`, tags: ['one-off'] };

  it.each([
    [{}, ['in the project', 'of the user']],
    [{ project_ssh_keys: [], user_ssh_keys: [], ssh_keys: [] }, ['in the project', 'of the user']],
    [{ project_ssh_keys: [], no_ssh_keys: true }, []],
    [{ project_ssh_keys: ['in the project'] }, ['in the project']],
    [{ project_ssh_keys: ['in the project'], no_ssh_keys: true }, ['in the project']],
    [{ user_ssh_keys: ['me'] }, ['of the user']],
    [{ ssh_keys: [OWN] }, ['own']],
    [{ ssh_keys: [{ key: `${KEY} again` }, OWN] }, ['in the project', 'own']],
  ])('%j', async (lists, labels) => {
    const fake = await start();
    const call = clientOf(fake);
    const inProject = `/projects/${fake.projectId}/ssh-keys`;
    const made = await call('POST', inProject, { label: 'in the project', key: KEY });
    await call('POST', '/ssh-keys', { label: 'of the user', key: OTHER_KEY });
    const me = (await call('GET', '/user')).body['id'];
    const ids: Record<string, unknown> = { 'in the project': made.body['id'], me };
    const more = JSON.parse(JSON.stringify(lists), (_, value) => ids[value as string] ?? value);
    const id = await createDevice(fake, 0, more as object);
    const { body } = await call('GET', `/devices/${id}?include=ssh_keys`);
    expect(body['ssh_keys']!.map((key) => key['label'])).toEqual(labels);
    const listed = (await call('GET', inProject)).body['ssh_keys']!;
    const own = listed.filter((key) => String(key['label']) === 'own');
    expect(own).toEqual(labels.includes('own') ? [expect.objectContaining(OWN)] : []);
  });
});
