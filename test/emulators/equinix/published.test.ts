import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { judge } from '../../published/equinix/judge.ts';
import { resources } from '../../published/equinix/description.ts';
import { clientOf, createOn, KEY, OTHER_KEY, start, text } from './harness.ts';

const CHANNEL = 'shepherd:equinix:exchange';
let met: Set<string>;
let problems: string[];
const listen = (message: unknown) => void problems.push(...judge(message as Exchange, met));
beforeEach(() => {
  met = new Set();
  problems = [];
  subscribe(CHANNEL, listen);
});
afterEach(() => void unsubscribe(CHANNEL, listen));

/** Every operation possible for a user of the account, once. */
async function tour(): Promise<void> {
  const world = parseWorld({
    projects: [{ name: 'a' }, { name: 'b' }],
    reservations: [{ count: 4 }, { spare: true }],
    keys: [{ label: 'fleet', key: KEY }],
  });
  const fake = await start({ world });
  const call = clientOf(fake);
  const of = async (method: string, path: string, body?: object) =>
    (await call(method, path, body)).body;
  const project = `/projects/${fake.projectId}`;
  const everything =
    'include=project,project_lite,facility,metro,hardware_reservation.project,ssh_keys';

  for (const path of ['/plans', '/operating-systems', '/facilities', `${project}/plans`]) {
    await of('GET', path);
  }
  const owned = text((await of('POST', '/ssh-keys', { label: 'mine', key: OTHER_KEY }))['id']);
  const key = await of('POST', `${project}/ssh-keys`, { label: 'ci', key: KEY, tags: ['x'] });
  const keyPath = `/ssh-keys/${text(key['id'])}`;
  await of('GET', '/ssh-keys');
  await of('GET', `${project}/ssh-keys?include=entity,owner`);
  await of('GET', `/ssh-keys/${owned}?include=owner`);
  await of('PUT', keyPath, { label: 'ci-2' });
  await of('PATCH', keyPath, { label: 'ci-3' });

  const made = text((await of('POST', '/projects', { name: 'c' }))['id']);
  const target = text((await of('GET', '/projects'))['projects']![1]!['id']);
  await of('DELETE', `/projects/${made}`);

  const order = createOn(fake, 0, {
    ...{ description: 'first', ipxe_script_url: 'https://boot.example/ipxe', tags: ['x'] },
    ...{ userdata: '#!/bin/sh', customdata: { a: 1 } },
  });
  const device = `/devices/${text((await of('POST', `${project}/devices`, order))['id'])}`;
  await of('DELETE', device);
  await fake.advance(100_000);
  await of('GET', `${device}?${everything}`);
  await fake.advance(200_000);
  await of('PUT', device, { hostname: 'renamed' });
  await of('PATCH', device, { tags: ['y'] });
  await of('GET', `${project}/devices?${everything}`);
  await of('GET', `${project}/devices?exclude=plan,created_by,operating_system`);
  await of('POST', `${device}/actions`, { type: 'reboot' });
  await of('GET', `${device}/events?per_page=2&page=2`);

  const [, second] = fake.reservations().map(({ id }) => `/hardware-reservations/${id}`);
  await of('GET', `${project}/hardware-reservations?include=device,facility,project`);
  await of('GET', `/organizations/${fake.organizationId}/hardware-reservations`);
  await of('GET', `${second}?include=device.plan`);
  await of('POST', `${second}/move`, { project_id: target });
  await of('DELETE', device);
  await of('DELETE', keyPath);
  await fake.advance(400_000);

  for (const refused of [
    clientOf(fake, 'nobody')('GET', '/projects'),
    clientOf(fake, fake.tokens.project)('POST', '/ssh-keys', { label: 'x', key: KEY }),
    call('GET', '/nothing'),
    call('POST', '/ssh-keys', { label: 'x' }),
    call('PUT', '/ssh-keys', {}),
  ]) {
    expect((await refused).status).toBeGreaterThanOrEqual(400);
  }
  await checkThatAllWasMet(fake);
}

/** Reads the served paths from an error, and their methods from refusals. */
async function checkThatAllWasMet(fake: Awaited<ReturnType<typeof start>>): Promise<void> {
  const asked = [...met].filter((name) => name.includes(' ')).toSorted();
  const served: string[] = [];
  for (const path of pathsOf(fake)) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status } = await clientOf(fake)(method, path.replace('{id}', 'x'));
      if (status !== 405) served.push(`${method} ${path}`);
    }
  }
  expect(asked).toEqual(served.toSorted());
}

function pathsOf(fake: Awaited<ReturnType<typeof start>>): string[] {
  try {
    fake.addFault({ match: { route: '/nowhere' }, effect: { type: 'tokenRevoked' } });
  } catch (error) {
    const [, list = ''] = /there are ([^"]+)/.exec((error as Error).message) ?? [];
    return list.split(', ');
  }
  throw new Error('a fault of no route was taken');
}

/** Declared and never answered, with the reason. */
const NEVER_ANSWERED: Readonly<Record<string, string>> = {
  'Device.firmware_set_id': 'there is no firmware',
  'Device.image_url': 'no device is made of an image',
  'Device.spot_instance': 'there is no spot market',
  'Device.spot_price_max': 'there is no spot market',
  'Device.storage': 'disks are as they are',
  'Device.termination_time': 'devices have no end of their own',
  'HardwareReservation.termination_time': 'reservations have no end',
  'Project.url': 'nothing is known of it',
  'OperatingSystem.build_date': 'images have no dates here',
  'OperatingSystem.deprecation_date': 'images have no dates here',
  'OperatingSystem.end_of_life_date': 'images have no dates here',
  'OperatingSystem.end_of_service_date': 'images have no dates here',
  'OperatingSystem.release_date': 'images have no dates here',
  'OperatingSystem.release_notes': 'images have no notes here',
  'Event.ip': 'nobody remembers where a request came from',
  'Event.modified_by': 'nobody remembers who asked',
  'Event.state': 'nothing is known of it',
  'IPAssignment.next_hop': 'there is no routing',
  'IPAssignment.parent_block': 'addresses are of no block',
  'Address.address2': 'one line is enough',
  'Address.coordinates': 'nobody travels there',
  'Address.state': 'one line is enough',
  'Port.native_virtual_network': 'there are no virtual networks',
};

test('A: serves every operation and field as published', async () => {
  await tour();
  expect(problems).toEqual([]);
  const absent = Object.entries(resources)
    .flatMap(([name, fields]) => Object.keys(fields).map((field) => `${name}.${field}`))
    .filter((field) => !met.has(field));
  expect(absent.toSorted()).toEqual(Object.keys(NEVER_ANSWERED).toSorted());
});
