import { expect, test } from 'vitest';
import { toProviderMachine } from '../../../../src/adapters/driver-kit/entries.ts';
import type { Call } from '../../../../src/adapters/driver-kit/call.ts';
import type { Walked } from '../../../../src/adapters/driver-kit/pages.ts';
import {
  device as deviceSchema,
  reservation as reservationSchema,
  reservation,
  type IpAddress,
  type Reservation,
} from '../../../../src/adapters/provider/equinix/api.ts';
import {
  chooseAddress,
  classify,
  statusOf,
  toFreeCapacity,
  toMachine,
  ownershipOf,
  ownerTag,
  toPortTags,
  witnessTag,
} from '../../../../src/adapters/provider/equinix/device-view.ts';
import { createReservationCache } from '../../../../src/adapters/provider/equinix/stock.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { reservationId } from './stand.ts';

const ID = 'e13a7c52-1f0d-4d6e-8b55-0c9a4de2f701';
const RESERVATION_ID = '4f0c2d9a-7b1e-4c55-9a02-5d1f0c6be111';
const NOW_MS = Date.parse('2026-08-01T00:00:00Z');

test.each([
  ['queued', 'Provisioning'],
  ['provisioning', 'Provisioning'],
  ['post_provisioning', 'Provisioning'],
  ['reinstalling', 'Provisioning'],
  ['active', 'Running'],
  ['inactive', 'Stopped'],
  ['powering_on', 'Stopped'],
  ['powering_off', 'Stopped'],
  ['failed', 'ProvisioningFailedPermanent'],
  ['deleted', 'Missing'],
  ['deprovisioning', 'Missing'],
  ['weird', 'Unknown'],
  [undefined, 'Unknown'],
])('vector 31: maps state %s to status %s', (state, status) => {
  expect(statusOf(state)).toBe(status);
});

const entry = (address: string, change: Partial<IpAddress> = {}): IpAddress => ({
  address,
  address_family: address.includes(':') ? 6 : 4,
  public: true,
  management: true,
  ...change,
});
const PRIVATE_V4 = entry('10.67.0.3', { public: false });
const PUBLIC_V6 = entry('2001:0db8:12::0003');
const PUBLIC_V4 = entry('203.0.113.10');

test('vector 32: uses the public management IPv4, else IPv6, else none', () => {
  const chosen = (...entries: IpAddress[]) => chooseAddress(entries);
  expect(chosen(PRIVATE_V4, PUBLIC_V6, PUBLIC_V4)).toEqual({
    address: '203.0.113.10',
    fallback: false,
  });
  expect(chosen(PRIVATE_V4, PUBLIC_V6)).toEqual({ address: '2001:db8:12::3', fallback: false });
  expect(chosen(PRIVATE_V4)).toBeNull();
  expect(chosen()).toBeNull();
});

test('uses the first address of a kind, and skips unreadable ones', () => {
  const entries = [entry('not-an-address'), entry('203.0.113.1'), entry('203.0.113.2')];
  expect(chooseAddress(entries)?.address).toBe('203.0.113.1');
});

test('uses a public address only if there is no management entry', () => {
  const elastic = entry('198.51.100.7', { management: false });
  expect(chooseAddress([elastic])).toEqual({ address: '198.51.100.7', fallback: true });
  expect(chooseAddress([elastic, PRIVATE_V4])).toBeNull();
});

const DEVICE = deviceSchema.parse({
  id: ID,
  hostname: 'shepherd-ci-4f0c2d9a-7b1e-4c55',
  state: 'active',
  tags: [witnessTag('w-1'), ownerTag('o-1'), 'team=a=b', 'plain'],
  ip_addresses: [PRIVATE_V4, PUBLIC_V4],
  facility: { code: 'fr2', metro: { code: 'fr' } },
  plan: { slug: 'm3.large.x86' },
  hardware_reservation: { href: `/metal/v1/hardware-reservations/${RESERVATION_ID}` },
  customdata: { ssh_port: 2222 },
  never_heard_of: 1,
});

const VIEW = { devicePrefix: 'shepherd-ci-', instanceSetId: 'o-1', sshPortFromCustomdata: false };

test('maps a device to a machine of the port', () => {
  expect(toMachine(DEVICE, VIEW)).toEqual({
    id: ID,
    reservationId: RESERVATION_ID,
    hostname: 'shepherd-ci-4f0c2d9a-7b1e-4c55',
    plan: 'm3.large.x86',
    location: 'fr2',
    address: '203.0.113.10',
    remoteUser: 'root',
    availability: 'KnownUsed',
    failed: false,
    status: 'Running',
    power: 'on',
    tags: { [WITNESS_TAG]: 'w-1', [SET_ID_TAG]: 'o-1', team: 'a=b', plain: '' },
  });
});

test.each([
  ['active', 'on'],
  ['inactive', 'off'],
  ['deleted', 'off'],
  ['deprovisioning', 'unknown'],
  ['powering_off', 'unknown'],
  ['weird', 'unknown'],
])('maps state %s to power %s', (state, power) => {
  expect(toMachine({ ...DEVICE, state }, VIEW).power).toBe(power);
});

test('gives no address behind port forwarding before the port is known', () => {
  const options = { ...VIEW, sshPortFromCustomdata: true };
  expect(toMachine(DEVICE, options).address).toBe('203.0.113.10:2222');
  expect(toMachine({ ...DEVICE, customdata: {} }, options).address).toBeNull();
  const six = { ...DEVICE, ip_addresses: [PUBLIC_V6] };
  expect(toMachine(six, options).address).toBe('[2001:db8:12::3]:2222');
});

test('marks a failed device, and uses the metro in place of a missing facility', () => {
  const { facility: _, ...rest } = DEVICE;
  const failed = toMachine({ ...rest, state: 'failed', metro: { code: 'fr' } }, VIEW);
  expect(failed).toMatchObject({ failed: true, location: 'fr', power: 'unknown' });
});

test.each([
  ['ours', ['team=a', ownerTag('o-1')]],
  ['ours', [ownerTag('o-1'), ownerTag('o-1')]],
  ['untagged', []],
  ['untagged', [witnessTag('w-1'), 'owner=o-1']],
  ['untagged', [`${SET_ID_TAG}=o-1`]],
  ['foreign', [ownerTag('o-2')]],
  ['foreign', [ownerTag('o-11')]],
  ['foreign', [ownerTag('')]],
  ['foreign', [ownerTag('o-1'), ownerTag('o-2')]],
  ['foreign', [ownerTag('o-2'), ownerTag('o-1')]],
])('finds a machine %s with the tags %j', (expected, tags) => {
  expect(ownershipOf(tags, 'o-1')).toBe(expected);
});

test('never lets foreign tags hide ours', () => {
  expect(toPortTags([`${WITNESS_TAG}=forged`, witnessTag('w')])).toEqual({ [WITNESS_TAG]: 'w' });
});

const FREE = reservationSchema.parse({
  id: RESERVATION_ID,
  provisionable: true,
  plan: { slug: 'm3.large.x86' },
  facility: { code: 'fr2' },
});

test.each([
  ['available', {}],
  ['inUse', { device: DEVICE }],
  ['inUse', { device: { href: `/devices/${ID}` } }],
  ['inUse', { device: { href: `/devices/${ID}` }, provisionable: false }],
  ['notProvisionable', { provisionable: false }],
  ['notProvisionable', { provisionable: undefined }],
  ['notProvisionable', { spare: true }],
  ['notProvisionable', { need_of_service: true }],
  ['notProvisionable', { termination_time: '2026-07-31T00:00:00Z' }],
  ['available', { termination_time: '2026-08-02T00:00:00Z' }],
  ['notProvisionable', { plan: undefined }],
  ['notProvisionable', { facility: undefined }],
])('classifies a reservation as %s with %j', (expected, change) => {
  const reservation = reservationSchema.parse({ ...FREE, ...change });
  expect(classify(reservation, NOW_MS)).toBe(expected);
});

test('maps free capacity to the port', () => {
  const shown = toFreeCapacity(FREE);
  expect(toProviderMachine(shown, { instanceSetId: 'o-1', observedAtMs: 5 })).toMatchObject({
    id: null,
    reservationId: RESERVATION_ID,
    availability: 'KnownUnused',
    address: null,
    status: null,
    ownership: 'ours',
    location: 'fr2',
  });
});

const call = {} as Call;
const [X, Y] = [reservationId(1), reservationId(2)];
const free = (id: string): Reservation =>
  reservation.parse({ id, provisionable: true, plan: { slug: 'm3' }, facility: { code: 'fr2' } });

/** A cache whose listings end when the test decides. */
function start() {
  const clock = createSimulatedClock();
  const lists: PromiseWithResolvers<Walked<Reservation>>[] = [];
  const list = () => {
    const one = Promise.withResolvers<Walked<Reservation>>();
    lists.push(one);
    return one.promise;
  };
  const deps = { clock, list, onRefresh: () => undefined };
  const cache = createReservationCache({ timeoutMs: 900_000 }, deps);
  const end = (n: number, ids: readonly string[], complete = true) =>
    lists[n]!.resolve({ items: ids.map(free), complete, unread: [] });
  const available = async () => (await cache.available(call)).items.map(({ id }) => id);
  return { clock, cache, end, available, listings: () => lists.length };
}

test('does not list an entry that left while the listing was read', async () => {
  const { clock, cache, end, available } = start();
  const reading = available();
  clock.increment(5);
  cache.evict(X);
  end(0, [X, Y]);
  expect(await reading).toEqual([Y]);
  expect(await available()).toEqual([Y]);
});

test('lists an entry again in a listing that began later', async () => {
  const { clock, cache, end, available } = start();
  cache.evict(X);
  clock.increment(1);
  const reading = available();
  end(0, [X, Y]);
  expect(await reading).toEqual([X, Y]);
});

test('ignores a listing that ends after a younger one', async () => {
  const { clock, cache, end, available, listings } = start();
  const old = available();
  clock.increment(5);
  cache.evict(X);
  clock.increment(5);
  const young = available();
  clock.increment(2);
  end(1, [Y]);
  expect(await young).toEqual([Y]);
  clock.increment(8);
  end(0, [X, Y]);
  expect(await old).toEqual([Y]);
  expect(await available()).toEqual([Y]);
  expect(listings()).toBe(2);
});

test('reads the list again after a contradiction during the read', async () => {
  const { clock, cache, end, available, listings } = start();
  const reading = available();
  clock.increment(5);
  cache.expire();
  end(0, [X]);
  expect(await reading).toEqual([X]);
  clock.increment(1);
  const again = available();
  end(1, []);
  expect(await again).toEqual([]);
  expect(listings()).toBe(2);
});
