import { expect, test } from 'vitest';
import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import { clientOf, createDevice, createOn, KEY, start } from '../../emulators/equinix/harness.ts';
import { allowances } from './allowances.ts';
import { takeTally } from './court.ts';
import { inputs } from './inputs.ts';
import { emptyTally, judge } from './judge.ts';
import { operations } from './operations.ts';
import { opaque, resources } from './resources.ts';
import { parseType, type Type } from './types.ts';
import { testRows } from '../../support/rows.ts';

const ID = '0b6e1111-1111-4111-8111-111111111111';
const CREATOR = { id: ID, short_id: '0b6e1111' };
/** An exchange that is as it should be, and a change of it. */
const exchangeOf = (change: Partial<Exchange> & { readonly shown?: unknown } = {}): Exchange => {
  const { shown = { id: ID, created_by: CREATOR }, ...rest } = change;
  return {
    method: 'GET',
    route: '/devices/{id}',
    path: `/devices/${ID}`,
    query: {},
    body: undefined,
    userAgent: '',
    status: 200,
    reply: JSON.stringify(shown),
    isInjected: false,
    forcedStates: new Set<string>(),
    ...rest,
  };
};
const problemsOf = (change: Parameters<typeof exchangeOf>[0]) =>
  judge(exchangeOf(change), emptyTally());
const LIST = { route: '/projects/{id}/devices', path: '/projects/x/devices' };
const OURS = { userAgent: 'shepherd/1.0.0' };
const CREATE = { ...OURS, ...LIST, method: 'POST', status: 201 };
const ORDER = { plan: 'm3.large.x86', operating_system: 'ubuntu_24_04' };

test('what is as published has no problem, and is counted', () => {
  const tally = emptyTally();
  expect(judge(exchangeOf(), tally)).toEqual([]);
  expect(tally).toMatchObject({ replies: 1, injected: 0, requests: 0, values: 4 });
  expect([...tally.fields].toSorted()).toEqual([
    'Device.created_by',
    'Device.id',
    'UserLite.id',
    'UserLite.short_id',
  ]);
});

testRows([
  [{ shown: { id: ID, colour: 'red' } }, 'Device.colour is not declared (at colour)'],
  [
    { shown: { created_by: { id: ID } } },
    'UserLite.short_id is required and absent (at created_by)',
  ],
  [{ shown: { created_by: { ...CREATOR, short_id: null } } }, 'UserLite.short_id is required'],
  [{ shown: { id: 'one' } }, 'Device.id is to be uuid and is "one" (at id)'],
  [{ shown: { tags: 'a' } }, 'Device.tags is to be [text] and is "a" (at tags)'],
  [{ shown: { tags: ['a', 1] } }, 'Device.tags is to be text and is 1 (at tags[1])'],
  [{ shown: { locked: 'no' } }, 'Device.locked is to be boolean and is "no"'],
  [{ shown: { created_at: '1 May 2026' } }, 'Device.created_at is to be time'],
  [{ shown: { provisioning_percentage: '4' } }, 'Device.provisioning_percentage is to be number'],
  [{ shown: { bonding_mode: 4.5 } }, 'Device.bonding_mode is to be integer and is 4.5'],
  [{ shown: { state: 'weird' } }, 'Device.state is to be =queued'],
  [{ shown: { plan: { href: '/plans/x' } } }, 'Device.plan is an href and nobody excluded it'],
  [{ shown: { project: { href: 'nowhere' } } }, 'Device.project is to be href and is "nowhere"'],
  [{ shown: { ssh_keys: [{ href: '/k', label: 'x' }] } }, 'Href.label is not declared'],
  [
    { shown: { project: { name: 'x', price: 1 } } },
    'Project.price is not declared (at project.price)',
  ],
  [{ ...LIST, shown: { devices: [{}, { x: 1 }] } }, 'Device.x is not declared (at devices[1].x)'],
  [{ ...LIST, shown: [] }, 'DeviceList is expected and a list is there'],
  [{ reply: '' }, 'Device is expected and nothing is there'],
  [{ status: 418, shown: { errors: [] } }, 'the status is not declared'],
  [{ status: 404, shown: { message: 'x' } }, 'Error.message is not declared'],
  [{ status: 500, shown: { errors: [] } }, 'the status is not declared'],
  [{ method: 'DELETE', status: 204 }, 'the body is to be empty'],
  [{ route: '/volumes' }, 'the operation is not declared'],
  [{ route: null, status: 400, shown: {} }, 'the operation is not declared'],
  [
    { ...OURS, route: '/volumes', isInjected: true },
    'our client asks for an operation that is not',
  ],
  [{ ...OURS, query: { colour: 'red' } }, 'our client sends the undeclared query parameter colour'],
  [
    { ...OURS, query: { sort_by: 'id' } },
    'our client sends the undeclared query parameter sort_by',
  ],
  [{ ...OURS, body: {} }, 'our client sends a body where none is declared'],
  [{ ...CREATE, body: ORDER }, "our client's request: DeviceCreateInMetroInput.metro is required"],
  [{ ...CREATE, body: { ...ORDER, metro: 'fr', project_id: ID } }, 'project_id is not declared'],
  [
    { ...CREATE, body: { ...ORDER, metro: 'fr', tags: null } },
    'DeviceCreateInMetroInput.tags is null',
  ],
  [{ ...CREATE, body: { metro: 'fr', plan: 'x' } }, 'operating_system is required and absent'],
  [{ ...CREATE, body: { ...ORDER, metro: 'fr', userdata: 1 } }, 'userdata is to be text and is 1'],
  [{ ...CREATE, body: undefined }, 'DeviceCreateInMetroInput is expected and nothing is there'],
])('%j is a violation: %s', (change, problem) => {
  expect(problemsOf(change)).toContainEqual(expect.stringContaining(problem));
});

test('what include opens and exclude shrinks is as it is then', () => {
  const opened = {
    ssh_keys: [{ href: '/k', label: 'x' }],
    project_lite: { name: 'x', href: '/p' },
  };
  const query = { include: 'ssh_keys,project_lite' };
  expect(problemsOf({ query, shown: opened })).toEqual([]);
  expect(problemsOf({ query, shown: { ssh_keys: [{ label: 1 }] } })).toHaveLength(1);
  const shrunk = { plan: { href: '/plans/x' } };
  expect(problemsOf({ query: { exclude: 'plan' }, shown: shrunk })).toEqual([]);
  expect(problemsOf({ query: { exclude: 'metro' }, shown: shrunk })).toHaveLength(1);
});

test('of a reply that a fault made only the request is judged', () => {
  const tally = emptyTally();
  const injected = { isInjected: true, status: 418, reply: '<html>' };
  expect(judge(exchangeOf(injected), tally)).toEqual([]);
  expect(judge(exchangeOf({ ...injected, ...OURS, query: { x: '1' } }), tally)).toHaveLength(1);
  expect(tally).toMatchObject({ replies: 0, injected: 2, requests: 1 });
});

test('every type that the tables name exists', () => {
  const leafOf = (type: Type): Type => ('of' in type ? leafOf(type.of) : type);
  const known = (table: typeof resources) =>
    Object.values(table)
      .flatMap((fields) => Object.values(fields))
      .map((text) => leafOf(parseType(text.replace('!', ''))))
      .filter(({ kind }) => kind === 'resource')
      .map(({ text }) => text)
      .filter((text) => !(text in table) && !opaque.has(text));
  expect([known(resources), known(inputs)]).toEqual([[], []]);
  const named = Object.values(operations).flatMap(({ reply, body = 'object' }) => [
    ...(reply === undefined || reply in resources ? [] : [reply]),
    ...body.split(' | ').filter((one) => one !== 'object' && !(one in inputs)),
  ]);
  expect(named).toEqual([]);
  expect(Object.keys(operations)).toHaveLength(24);
});

test('every allowance is needed', async () => {
  takeTally();
  const fake = await start();
  const call = clientOf(fake);
  const headers = { 'x-auth-token': fake.tokens.user, 'user-agent': 'shepherd/1.0.0' };
  const ours = (method: string, path: string, body?: object) =>
    call(method, path, body, { headers });
  const project = `/projects/${fake.projectId}`;
  const id = await createDevice(fake);
  await call('GET', `/devices/${id}?include=ssh_keys,project_lite`);
  fake.setDeviceState(id, 'weird');
  await call('PATCH', `/devices/${id}`, { tags: [] });

  await call('POST', '/ssh-keys', '{');
  await clientOf(fake, fake.tokens.project)('POST', '/ssh-keys', { label: 'x', key: KEY });
  await call('GET', `/projects/${ID}/ssh-keys`);
  const move = `/hardware-reservations/${fake.reservations()[0]!.id}/move`;
  const { body } = await call('POST', '/projects', { name: 'b' });
  await call('POST', move, { project_id: body['id'] });

  await ours('GET', `/organizations/${fake.organizationId}/hardware-reservations?sort_by=id`);
  await ours('POST', `${project}/devices`, createOn(fake, 1));
  await ours('POST', '/ssh-keys', { label: 'x', key: KEY });
  await call('GET', '/nothing');
  expect([...takeTally().allowances].toSorted()).toEqual(Object.keys(allowances).toSorted());
});
