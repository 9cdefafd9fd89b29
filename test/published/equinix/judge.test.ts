import { expect, test } from 'vitest';
import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import { testRows } from '../../support/rows.ts';
import { inputs, opaque, operations, resources } from './description.ts';
import { judge } from './judge.ts';

const ID = '0b6e1111-1111-4111-8111-111111111111';
const CREATOR = { id: ID, short_id: '0b6e1111' };
/** A correct exchange, and a change to it. */
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
const problemsOf = (change: Parameters<typeof exchangeOf>[0]) => judge(exchangeOf(change));
const LIST = { route: '/projects/{id}/devices', path: '/projects/x/devices' };
const OURS = { userAgent: 'shepherd/1.0.0' };
const CREATE = { ...OURS, ...LIST, method: 'POST', status: 201 };
const ORDER = { plan: 'm3.large.x86', operating_system: 'ubuntu_24_04' };

test('finds no problem in a published exchange, and counts it', () => {
  const met = new Set<string>();
  expect(judge(exchangeOf(), met)).toEqual([]);
  expect([...met].toSorted()).toEqual([
    ...['Device.created_by', 'Device.id', 'GET /devices/{id}', 'UserLite.id', 'UserLite.short_id'],
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
  [{ shown: { state: 'weird' } }, 'Device.state is to be =queued'],
  [{ shown: { plan: { href: '/plans/x' } } }, 'Device.plan is an href and nobody excluded it'],
  [{ shown: { project: { href: 'nowhere' } } }, 'Device.project is to be href and is "nowhere"'],
  [{ shown: { ssh_keys: [{ href: '/k', label: 'x' }] } }, 'Href.label is not declared'],
  [
    { shown: { project: { name: 'x', price: 1 } } },
    'Project.price is not declared (at project.price)',
  ],
  [{ ...LIST, shown: { devices: [{}, { x: 1 }] } }, 'Device.x is not declared (at devices[1].x)'],
  [{ reply: '' }, 'Device is expected and nothing is there'],
  [{ status: 418, shown: { errors: [] } }, 'the status is not declared'],
  [{ status: 404, shown: { message: 'x' } }, 'Error.message is not declared'],
  [{ method: 'DELETE', status: 204 }, 'the body is to be empty'],
  [{ route: '/volumes' }, 'the operation is not declared'],
  [
    { ...OURS, route: '/volumes', isInjected: true },
    'our client asks for an operation that is not',
  ],
  [{ ...OURS, query: { colour: 'red' } }, 'our client sends the undeclared query parameter colour'],
  [{ ...OURS, body: {} }, 'our client sends a body where none is declared'],
  [{ ...CREATE, body: ORDER }, "our client's request: DeviceCreateInput.metro is required"],
  [{ ...CREATE, body: { ...ORDER, metro: 'fr', project_id: ID } }, 'project_id is not declared'],
  [{ ...CREATE, body: { ...ORDER, metro: 'fr', tags: null } }, 'DeviceCreateInput.tags is null'],
  [{ ...CREATE, body: { metro: 'fr', plan: 'x' } }, 'operating_system is required and absent'],
  [{ ...CREATE, body: { ...ORDER, metro: 'fr', userdata: 1 } }, 'userdata is to be text and is 1'],
  [{ ...CREATE, body: undefined }, 'DeviceCreateInput is expected and nothing is there'],
])('%j is a violation: %s', (change, problem) => {
  expect(problemsOf(change)).toContainEqual(expect.stringContaining(problem));
});

test('judges fields by what include opens and exclude shrinks', () => {
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

test('judges only the request when a fault made the reply', () => {
  const injected = { isInjected: true, status: 418, reply: '<html>' };
  expect(problemsOf(injected)).toEqual([]);
  expect(problemsOf({ ...injected, ...OURS, query: { x: '1' } })).toHaveLength(1);
});

test('knows every type that the description names', () => {
  const types = [resources, inputs].flatMap((table) =>
    Object.values(table).flatMap((fields) => Object.values(fields)),
  );
  const named = types.flatMap((type) => /^\[?([A-Z]\w*)\]?!?$/.exec(type)?.[1] ?? []);
  const { reply, body } = {
    reply: Object.values(operations).map((operation) => operation.reply),
    body: Object.values(operations).map((operation) => operation.body),
  };
  const missing = [...named, ...reply, ...body].filter(
    (name) => name && !resources[name] && !inputs[name] && !opaque.has(name),
  );
  expect(missing).toEqual([]);
  expect(Object.keys(operations)).toHaveLength(25);
});
