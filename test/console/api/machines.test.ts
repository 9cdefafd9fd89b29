import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createOverdueRule } from '../../../src/daemon/views/overdue.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import { createStays } from '../../../src/domain/explanation/overdue.ts';
import { slot } from '../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { DEFAULT_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { STATES, SUBSTATES } from '../../../src/domain/states.ts';
import type { FleetView } from '../../../src/console/port.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { askApi, openConsole } from './console-stand.ts';
import { testRows } from '../../support/rows.ts';

const MINUTE = 60_000;
const FLEET = [
  machine('c', { state: 'Running', substate: 'healthy', address: '127.0.0.1:2201' }),
  machine('a', {
    ...{ state: 'Running', substate: 'late', location: 'da11', holds: ['no-recover'] },
    labels: 'rack=b4,team=web',
  }),
  machine('d', { state: 'Quarantined', substate: 'needsHuman', reason: 'Disk FELL out' }),
  machine('b'),
];

interface Page {
  readonly total: number;
  readonly revision: number;
  readonly next: string | null;
  readonly machines: readonly { readonly slot: string }[];
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  readonly code: string;
}
const ids = ({ machines }: Page) => machines.map(({ slot: name }) => name.replace('equinix/', ''));
const open = (...machines: typeof FLEET) => openConsole({ fleet: scriptedFleet(...machines) });

testRows([
  ['', 'abcd'],
  ['state:Running', 'ac'],
  ['state:running,Reserved', 'abc'],
  ['state:needsHuman', 'd'],
  ['needs-human', 'd'],
  ['disk fell', 'd'],
  ['"disk fell"', 'd'],
  ['da11', 'a'],
  ['running 2201', 'c'],
  ['provider:other', ''],
  ['location:da11', 'a'],
  ['location:am6 state:Running', 'c'],
  ['location:da', ''],
  ['label:rack=b4', 'a'],
  ['label:rack', 'a'],
  ['label:rack=b5,team=web', 'a'],
  ['label:rack=b', ''],
  ['label:b4', ''],
  ['team=web', 'a'],
  ['hold:no-recover', 'a'],
  ['hold:any', 'a'],
  ['hold:preserve', ''],
])('the filter %j chooses %j', async (filter, expected) => {
  const shown = await open(...FLEET);
  const { body } = await askApi<Page>(shown, `machines?filter=${encodeURIComponent(filter)}`);
  expect([ids(body).join(''), body.total, body.next]).toEqual([expected, expected.length, null]);
});

testRows([
  ['slot', 'abcd'],
  ['-slot', 'dcba'],
  ['state', 'bcad'],
  ['-state', 'dacb'],
  ['location', 'bcda'],
  ['-address', 'cdba'],
])('the sort %s: %s, as a window and in pages', async (sort, expected) => {
  const shown = await open(...FLEET);
  const windows = await Promise.all(
    [0, 1, 2, 3].map((offset) =>
      askApi<Page>(shown, `machines?sort=${sort}&offset=${offset}&limit=1`),
    ),
  );
  expect(windows.flatMap(({ body }) => ids(body)).join('')).toBe(expected);
  const first = await askApi<Page>(shown, `machines?sort=${sort}&limit=3`);
  const rest = await askApi<Page>(shown, `machines?sort=${sort}&limit=3&next=${first.body.next}`);
  expect([...ids(first.body), ...ids(rest.body)].join('')).toBe(expected);
  expect(rest.body.next).toBeNull();
});

test('who needs a human is in one of the states that wait for a decision, and is counted as such', async () => {
  const places = STATES.flatMap((state) =>
    SUBSTATES[state].map((substate) => ({ state, substate })),
  );
  const shown = await open(
    ...places.map(({ state, substate }) => machine(`${state}.${substate}`, { state, substate })),
  );
  const { body } = await askApi<Page>(shown, 'machines?filter=needs-human');
  expect(ids(body)).toEqual([
    ...['Provisioned.failed', 'Quarantined.conflict', 'Quarantined.missing'],
    'Quarantined.needsHuman',
  ]);
  const { body: frame } = await askApi<{ needHuman: number }>(shown, 'fleet');
  expect(frame.needHuman).toBe(body.total);
});

test('what goes by time is asked again', async () => {
  const fleet = scriptedFleet(
    machine('old', { sinceMs: Date.UTC(2026, 0, 15, 12) - 5 * MINUTE }),
    machine('new'),
  );
  const shown = await openConsole({ fleet });
  const filter = async (text: string) =>
    ids((await askApi<Page>(shown, `machines?filter=${encodeURIComponent(text)}`)).body);
  expect(await filter('since>2m')).toEqual(['old']);
  expect(await filter('since<2m')).toEqual(['new']);
  expect(await filter('heard>1m')).toEqual([]);
});

test('overdue is who is longer in its place than its step may take and others took, as time passes', async () => {
  let passedMs = 0;
  const nowMs = () => AT_MS + passedMs;
  const stays = createStays();
  const seen = (provider: string, substate: string, forMs: number) => {
    for (let count = 0; count < 20; count += 1) {
      stays.note({ provider, plan: null, state: 'Recovering', substate }, forMs);
    }
  };
  seen('equinix', 'rebooting', 9 * MINUTE);
  seen('equinix', 'powerCycling', MINUTE);
  const places = {
    ...{ rebooted: 'rebooting', cycled: 'powerCycling', unmeasured: 'reinstalling' },
    resting: 'coolingDown',
  };
  const fleet = scriptedFleet(
    ...Object.entries(places).map(([id, substate]) =>
      machine(id, { state: 'Recovering', substate, sinceMs: AT_MS }),
    ),
  );
  const isOverdue = createOverdueRule({
    ...{ stays, loss: DEFAULT_LOSS, ladderOf: () => DEFAULT_LADDER },
    facts: () => new Map(),
  });
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const shown = await openConsole({ fleet: { ...fleet, nowMs, isOverdue }, clock });
  const found = async () => ids((await askApi<Page>(shown, 'machines?filter=overdue')).body);
  const { rebooting, powerCycling } = DEFAULT_LADDER;
  expect([rebooting.patienceMs, powerCycling.patienceMs]).toEqual([15 * MINUTE, 15 * MINUTE]);
  passedMs = 15 * MINUTE;
  expect(await found()).toEqual([]);
  passedMs = 15 * MINUTE + 1_000;
  expect(await found()).toEqual(['cycled']);
  passedMs = 18 * MINUTE + 1_000;
  expect(await found()).toEqual(['cycled', 'rebooted']);
  fleet.set(slot('equinix', 'cycled'), { state: 'Running', substate: 'healthy' });
  expect(await found()).toEqual(['rebooted']);
});

test('a list has another revision when it has other machines, and the same when it has not', async () => {
  const fleet = scriptedFleet(...FLEET);
  const shown = await openConsole({ fleet });
  const revision = async () =>
    (await askApi<Page>(shown, 'machines?filter=state:Running')).body.revision;
  const first = await revision();
  fleet.set(slot('equinix', 'c'), { lastHeartbeatAtMs: 5 });
  fleet.set(slot('equinix', 'b'), { address: '192.0.2.1' });
  expect(await revision()).toBe(first);
  fleet.set(slot('equinix', 'b'), { state: 'Running', substate: 'healthy' });
  expect(await revision()).not.toBe(first);
});

testRows([
  ['filter=state:Happy', '#/query/filter', 'state:Happy: happy is neither a state nor a substate'],
  ['filter=state:', '#/query/filter', 'a value is missing'],
  ['filter=since%3Esoon', '#/query/filter', 'after since comes a time such as >2h'],
  ['filter=hold:all', '#/query/filter', 'holds are no-start'],
  ['limit=0', '#/query/limit', 'it must be at least 1'],
  ['limit=1001', '#/query/limit', 'it must be at most 1000'],
  ['limit=x', '#/query/limit', 'it must be a whole number'],
  ['limit=301&offset=0', '#/query/limit', 'with an offset it may be at most 300'],
  ['next=x', '#/query/next', 'it is not one that a page before told'],
  ['next=x&offset=1', '#/query/offset', 'it cannot be given together with next'],
  ['sort=weight', '#/query/sort', 'it must be one of slot, -slot, state'],
  ['stat=Running', '#/query/stat', 'there is no such part'],
  ['filter=a&filter=b', '#/query/filter', 'give it once'],
])('refuses %s, and says what is wrong where', async (query, pointer, detail) => {
  const { status, text, body } = await askApi<Page>(await open(), `machines?${query}`);
  expect([status, body.code]).toEqual([400, 'malformed']);
  expect(body.errors).toEqual([{ pointer, detail: expect.stringContaining(detail) as string }]);
  expect(text).not.toContain('NaN');
});

test('one machine has a strong ETag, and is not sent again to who has it', async () => {
  const fleet = scriptedFleet(...FLEET);
  const shown = await openConsole({ fleet });
  const first = await askApi<Record<string, unknown>>(shown, 'machines/equinix/d');
  expect(first.body).toMatchObject({ slot: 'equinix/d', slotId: 'd', reason: 'Disk FELL out' });
  const etag = first.headers.get('etag')!;
  expect([first.body['etag'], etag]).toEqual([etag, expect.stringMatching(/^"[\w-]{22}"$/)]);
  const again = () => askApi(shown, 'machines/equinix/d', { 'if-none-match': `"x", ${etag}` });
  expect(await again()).toMatchObject({ status: 304, text: '' });
  fleet.set(slot('equinix', 'd'), { lastHeartbeatAtMs: 1 });
  expect((await again()).status).toBe(304);
  fleet.set(slot('equinix', 'd'), { holds: ['preserve'] });
  expect((await again()).status).toBe(200);
  expect((await askApi(shown, 'machines/equinix/z')).status).toBe(404);
});

test('a line of a healthy machine has at most 300 bytes', async () => {
  const id = '06aa1c5e-7c35-4b4e-9d3c-0a5f1c2b3d4e';
  const healthy = machine(id, {
    machineId: id,
    providerId: id,
    address: '192.0.2.117',
    state: 'Running',
    substate: 'healthy',
    lastHeartbeatAtMs: 1_764_000_000_000,
  });
  const { body } = await askApi<Page>(await open(healthy), 'machines');
  expect(JSON.stringify(body.machines[0]).length).toBeLessThanOrEqual(300);
});

interface Resolved {
  readonly machines: readonly { readonly slot: string; readonly by: string }[];
  readonly more: boolean;
}

test('V42: a name is a slot, an id, an address, or how an id of four characters begins', async () => {
  const named = (id: string, machineId: string) =>
    machine(id, { machineId, providerId: `device-${id}`, address: `192.0.2.${id.length}` });
  const shown = await open(named('abcd-1', '11112222'), named('abcd-22', '11113333'));
  const resolve = async (name: string) => {
    const { body } = await askApi<Resolved>(shown, `resolve?name=${encodeURIComponent(name)}`);
    return body.machines.map(({ slot: found, by }) => `${found} ${by}`);
  };
  expect(await resolve('equinix/abcd-1')).toEqual(['equinix/abcd-1 slot']);
  expect(await resolve('abcd-1')).toEqual(['equinix/abcd-1 slot']);
  expect(await resolve('abcd-2')).toEqual(['equinix/abcd-22 slot']);
  expect(await resolve('abcd')).toEqual(['equinix/abcd-1 slot', 'equinix/abcd-22 slot']);
  expect(await resolve('abc')).toEqual([]);
  expect(await resolve('11113')).toEqual(['equinix/abcd-22 machine']);
  expect(await resolve('device-abcd-1')).toEqual(['equinix/abcd-1 device']);
  expect(await resolve('192.0.2.7')).toEqual(['equinix/abcd-22 address']);
  expect(await resolve('192.0')).toEqual([]);
});

test('a name is an address without its port, or a host name; what several have is told of each', async () => {
  const hostnames: Readonly<Record<string, string>> = {
    a: 'Web-1.example.org',
    b: 'both',
    c: '192.0.2.9',
  };
  const fleet: FleetView = {
    ...scriptedFleet(
      machine('a', { address: '192.0.2.7:2201' }),
      machine('b', { address: '[2001:db8::7]:22' }),
      machine('c', { address: 'both:22' }),
      machine('d', { address: '192.0.2.70:22' }),
      machine('e', { address: '2001:db8::9' }),
    ),
    facts: (name) =>
      ({ listed: { hostname: hostnames[name.split('/')[1]!] ?? null } }) as SlotFacts,
  };
  const shown = await openConsole({ fleet });
  const resolve = async (name: string) => {
    const { body } = await askApi<Resolved>(shown, `resolve?name=${encodeURIComponent(name)}`);
    return body.machines.map(({ slot: found, by }) => `${found} ${by}`);
  };
  expect(await resolve('192.0.2.7')).toEqual(['equinix/a address']);
  expect(await resolve('192.0.2.7:2201')).toEqual(['equinix/a address']);
  expect(await resolve('2001:db8::7')).toEqual(['equinix/b address']);
  expect(await resolve('web-1.example.org')).toEqual(['equinix/a hostname']);
  expect(await resolve('192.0.2.9')).toEqual(['equinix/c hostname']);
  expect(await resolve('both')).toEqual(['equinix/b hostname', 'equinix/c address']);
  expect(await resolve('2001:db8::9')).toEqual(['equinix/e address']);
  for (const none of ['web-1', '2001:db8', '192.0.2']) expect(await resolve(none)).toEqual([]);
});

test('the fleet as a whole, with its cells', async () => {
  const { body } = await askApi<Record<string, unknown>>(await open(...FLEET), 'fleet');
  expect(body).toMatchObject({
    total: 4,
    needHuman: 1,
    counts: { Running: 2, Quarantined: 1, Reserved: 1 },
    providers: ['equinix'],
    traits: [{ name: 'location', label: 'Location' }],
  });
  expect(body['cells']).toContainEqual({
    provider: 'equinix',
    location: 'am6',
    state: 'Running',
    word: 'healthy',
    machines: 1,
  });
});
