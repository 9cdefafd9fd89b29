import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { emptyTally, judge, type Tally } from '../../published/equinix/judge.ts';
import { resources } from '../../published/equinix/resources.ts';
import { clientOf, createOn, KEY, OTHER_KEY, start, text } from './harness.ts';

const CHANNEL = 'shepherd:fakequinix:exchange';
let tally: Tally;
let problems: string[];
const listen = (message: unknown) => void problems.push(...judge(message as Exchange, tally));
beforeEach(() => {
  tally = emptyTally();
  problems = [];
  subscribe(CHANNEL, listen);
});
afterEach(() => void unsubscribe(CHANNEL, listen));

/** Everything that can be done, once, by a user of the account. */
async function tour(): Promise<void> {
  const world = parseWorld({
    projects: [{ name: 'a' }, { name: 'b' }],
    reservations: [{ count: 4, terminationTime: '2027-01-01T00:00:00Z' }, { spare: true }],
    keys: [{ label: 'fleet', key: KEY }],
  });
  const fake = await start({ world });
  const call = clientOf(fake);
  const of = async (method: string, path: string, body?: object) =>
    (await call(method, path, body)).body;
  const project = `/projects/${fake.projectId}`;
  const organization = `/organizations/${fake.organizationId}`;
  const everything =
    'include=project,project_lite,facility,metro,hardware_reservation.project,ssh_keys';

  await of('GET', '/user');
  await of('GET', '/organizations?include=projects,members');
  await of('GET', organization);
  for (const path of ['/plans', '/operating-systems', '/facilities', '/locations/metros']) {
    await of('GET', path);
  }
  for (const path of ['/capacity', '/capacity/metros']) await of('GET', path);
  const metro = { plan: 'm3.large.x86', metro: 'fr', quantity: '1' };
  await of('POST', '/capacity/metros', { servers: [metro] });
  await of('POST', '/capacity', { servers: [{ plan: 'm3.large.x86', facility: 'fr2' }] });

  const owned = text((await of('POST', '/ssh-keys', { label: 'mine', key: OTHER_KEY }))['id']);
  const key = await of('POST', `${project}/ssh-keys`, { label: 'ci', key: KEY, tags: ['x'] });
  const keyPath = `/ssh-keys/${text(key['id'])}`;
  await of('GET', '/ssh-keys');
  await of('GET', `${project}/ssh-keys?include=entity,owner`);
  await of('GET', `/ssh-keys/${owned}?include=owner`);
  await of('PUT', keyPath, { label: 'ci-2' });
  await of('PATCH', keyPath, { label: 'ci-3' });

  const made = text((await of('POST', '/projects', { name: 'c', tags: ['t'] }))['id']);
  await of('GET', '/projects?include=organization,members,ssh_keys');
  await of('PUT', `/projects/${made}`, { backend_transfer_enabled: true });
  await of('PATCH', `/projects/${made}`, { name: 'd' });
  await of('GET', `/projects/${made}`);
  await of('DELETE', `/projects/${made}`);
  await of('GET', `${project}/plans`);

  const order = createOn(fake, 0, {
    description: 'first',
    ipxe_script_url: 'https://boot.example/ipxe',
    spot_price_max: 1.5,
    storage: { disks: [] },
    termination_time: '2027-01-01T00:00:00Z',
    userdata: '#!/bin/sh',
    customdata: { a: 1 },
    tags: ['x'],
  });
  const device = `/devices/${text((await of('POST', `${project}/devices`, order))['id'])}`;
  await of('DELETE', device);
  await fake.advance(100_000);
  await of('GET', `${device}?${everything}`);
  await fake.advance(200_000);
  const firmware = '11111111-1111-4111-8111-111111111111';
  await of('PUT', device, { hostname: 'renamed', firmware_set_id: firmware });
  await of('PATCH', device, { tags: ['y'] });
  await of('GET', `${project}/devices?${everything}`);
  await of('GET', `${organization}/devices?exclude=plan,created_by,operating_system`);
  await of('POST', `${device}/actions`, { type: 'reboot' });
  const events = await of('GET', `${device}/events?per_page=2`);
  await of('GET', `/events/${text(events['events']![0]!['id'])}`);
  await of('GET', `${project}/events?per_page=1&page=2`);

  const [, second, third] = fake.reservations().map(({ id }) => `/hardware-reservations/${id}`);
  const target = text((await of('GET', '/projects'))['projects']![1]!['id']);
  await of('GET', `${project}/hardware-reservations?include=device,facility,project`);
  await of('GET', `${organization}/hardware-reservations`);
  await of('GET', `${second}?include=device.plan`);
  await of('POST', `${second}/move`, { project_id: target });
  await of('POST', `${third}/activate`);
  await of('DELETE', device);
  await of('DELETE', keyPath);
  await fake.advance(400_000);

  for (const refused of [
    clientOf(fake, 'nobody')('GET', '/user'),
    clientOf(fake, fake.tokens.readOnly)('POST', '/projects', { name: 'x' }),
    call('GET', '/nothing'),
    call('POST', '/ssh-keys', { label: 'x' }),
    call('PUT', '/ssh-keys', {}),
  ]) {
    expect((await refused).status).toBeGreaterThanOrEqual(400);
  }
  await checkThatAllWasMet(fake);
}

/** What the emulator serves it says itself: its paths in an error, their methods in `allow`. */
async function checkThatAllWasMet(fake: Awaited<ReturnType<typeof start>>): Promise<void> {
  const served: string[] = [];
  for (const path of pathsOf(fake)) {
    const { headers } = await clientOf(fake)('OPTIONS', path.replace('{id}', 'x'));
    for (const method of (headers.get('allow') ?? '').split(', ')) served.push(`${method} ${path}`);
  }
  expect(served.length).toBeGreaterThan(40);
  expect([...tally.operations].toSorted()).toEqual(served.toSorted());
}

function pathsOf(fake: Awaited<ReturnType<typeof start>>): string[] {
  try {
    fake.addFault({ match: { route: '/nowhere' }, effect: { type: 'stuck' } });
  } catch (error) {
    const [, list = ''] = /there are ([^"]+)/.exec((error as Error).message) ?? [];
    return list.split(', ');
  }
  throw new Error('a fault of no route was taken');
}

/** Declared and never answered, with the reason. */
const NEVER_ANSWERED: Readonly<Record<string, string>> = {
  'Device.image_url': 'no device is made of an image',
  'Project.url': 'nothing is known of it',
  'OperatingSystem.build_date': 'images have no dates here',
  'OperatingSystem.deprecation_date': 'images have no dates here',
  'OperatingSystem.end_of_life_date': 'images have no dates here',
  'OperatingSystem.end_of_service_date': 'images have no dates here',
  'OperatingSystem.release_notes': 'images have no notes here',
  'Event.ip': 'nobody remembers where a request came from',
  'Event.modified_by': 'nobody remembers who asked',
  'Event.state': 'nothing is known of it',
  'Organization.enforce_2fa_at': 'there is no two-factor login',
  'Organization.logo': 'organisations have none',
  'IPAssignment.next_hop': 'there is no routing',
  'IPAssignment.parent_block': 'addresses are of no block',
  'Address.address2': 'one line is enough',
  'Address.coordinates': 'nobody travels there',
  'Address.state': 'one line is enough',
  'Port.native_virtual_network': 'there are no virtual networks',
  'IPAssignmentList.ip_addresses': 'GET /devices/{id}/ips is not served',
};

test('A: every operation and field that is served is as published', async () => {
  await tour();
  expect(problems).toEqual([]);
  const absent = Object.entries(resources)
    .flatMap(([name, fields]) => Object.keys(fields).map((field) => `${name}.${field}`))
    .filter((field) => !tally.fields.has(field));
  expect(absent.toSorted()).toEqual(Object.keys(NEVER_ANSWERED).toSorted());
});
