import { expect, test } from 'vitest';
import { createHoldKeeper } from '../../../../src/actors/providers/holds.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../../../src/domain/recovery/guard-judgement.ts';
import { createMemBmdb } from '../../../doubles/mem-bmdb/mem-bmdb.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { advance, createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { INSTANCE_SET_ID, live as call, live } from '../driver-stand.ts';
import { answer, scriptedFleet, PROJECT_ID, type Script, type ScriptedApi } from './setup.ts';
import { OURS, startStand, type EquinixStand } from './stand.ts';

const ID = '11110000-0000-4000-8000-000000000001';
const RESERVATION = '33330000-0000-4000-8000-000000000003';
const DEVICE = {
  id: ID,
  hostname: 'shepherd-ci-33330000-0000-4000',
  state: 'active',
  tags: [`shepherd-owner-${INSTANCE_SET_ID}`],
  hardware_reservation: { href: `/hardware-reservations/${RESERVATION}` },
};
const meta = (total: number) => ({ total, current_page: 1, last_page: 1 });

let api: ScriptedApi;
let provider: FleetProvider;

/** The lists come from the API. The test chooses who answers requests for a single object. */
async function behind(
  script: Script,
  listed: readonly object[] = [DEVICE],
  reservations: readonly object[] = [],
) {
  const serve: Script = (request, res, count) => {
    const { path } = request;
    if (path.endsWith('/devices')) {
      return answer(res, 200, { devices: listed, meta: meta(listed.length) });
    }
    if (path.endsWith(`/hardware-reservations`)) {
      return answer(res, 200, {
        hardware_reservations: reservations,
        meta: meta(reservations.length),
      });
    }
    return script(request, res, count);
  };
  ({ api, provider } = await scriptedFleet(serve));
}
const changes = () => api.seen.filter(({ method }) => method !== 'GET').map(({ method }) => method);

const PROXIES: readonly (readonly [string, number, string, string])[] = [
  ['an ingress', 404, 'text/plain; charset=utf-8', 'default backend - 404'],
  ['a gateway in JSON', 404, 'application/json', '{"message":"no Route matched"}'],
  ['a list of objects', 404, 'application/json', '{"errors":[{"code":7}]}'],
  ['a page that is gone', 410, 'text/html', '<html><h1>410 Gone</h1></html>'],
  ['a firewall', 403, 'text/html', '<html>Forbidden</html>'],
];

test.each(PROXIES)(
  'A2: does not accept %s with %i as an answer of the API',
  async (_, status, type, body) => {
    // Even if the listing does not mention the machine.
    await behind((_request, res) => answer(res, status, body, { 'Content-Type': type }), []);
    const error = await provider.getMachine(ID, call).then(
      () => null,
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toMatchObject({ code: 'transient', outcome: 'not-done' });
    const told = error!.message;
    expect(told).toContain(`status ${status}`);
    expect(told).toContain(`${type.split(';')[0]}, ${Buffer.byteLength(body)} bytes`);
    expect(told).toContain('a proxy may have answered');
  },
);

test('A2: does not treat a machine that only a proxy does not know as given back', async () => {
  const type = { 'Content-Type': 'text/plain' };
  await behind((_, res) => answer(res, 404, 'default backend - 404', type));
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual([]);
});

test('A2: does not treat a machine that the API does not know and lists as given back', async () => {
  await behind((_, res) => answer(res, 404, { errors: ['Not found'] }));
  await expect(provider.getMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual([]);
});

test('A2: treats a machine that the API neither knows nor lists as gone', async () => {
  await behind((_, res) => answer(res, 404, { errors: ['Not found'] }), []);
  await expect(provider.getMachine(ID, call)).rejects.toMatchObject({ code: 'not-found' });
  await provider.deprovisionMachine(ID, call);
});

test('A2: reports an unknown outcome for a deletion that a proxy answers', async () => {
  await behind(({ method }, res) => {
    if (method === 'DELETE')
      return answer(res, 404, 'no backend', { 'Content-Type': 'text/plain' });
    return answer(res, 200, DEVICE);
  });
  const late = { ...call, timeoutMs: 60_000 };
  await expect(provider.deprovisionMachine(ID, late)).rejects.toMatchObject({ outcome: 'unknown' });
});

test('A2: does not finish a deletion if the API finds nothing to delete, and lists the machine', async () => {
  await behind(({ method }, res) =>
    method === 'DELETE' ? answer(res, 404, { errors: ['Not found'] }) : answer(res, 200, DEVICE),
  );
  const error = await provider.deprovisionMachine(ID, call).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: does not finish it if the rename finds nothing, and no deletion was sent', async () => {
  await behind(({ method }, res) =>
    method === 'GET' ? answer(res, 200, DEVICE) : answer(res, 404, { errors: ['Not found'] }),
  );
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT']);
});

test('A4: does not even rename a machine whose deletion was withdrawn', async () => {
  await behind((_, res) => answer(res, 200, DEVICE));
  const beforeSending = () => Promise.reject(new Error('it was withdrawn'));
  const giving = provider.deprovisionMachine(ID, { ...call, beforeSending });
  await expect(giving).rejects.toThrow('it was withdrawn');
  expect(changes()).toEqual([]);
});

const NOTHING_TO_DELETE: Script = ({ method }, res) =>
  method === 'DELETE' ? answer(res, 404, { errors: ['Not found'] }) : answer(res, 200, DEVICE);
const UNREADABLE_RESERVATION = { id: RESERVATION, plan: 7 };

test.each([
  ['the device cannot be read in its list', [{ ...DEVICE, state: 7 }], []],
  ['a reservation cannot be read', [], [UNREADABLE_RESERVATION]],
  ['a reservation has the device', [], [{ id: RESERVATION, device: { href: `/devices/${ID}` } }]],
])('A2: does not trust "nothing to delete" while %s', async (_, devices, slots) => {
  await behind(NOTHING_TO_DELETE, devices, slots);
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: trusts "nothing to delete" for a machine that the list shows as leaving', async () => {
  await behind(NOTHING_TO_DELETE, [{ ...DEVICE, state: 'deprovisioning' }]);
  await provider.deprovisionMachine(ID, call);
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: keeps control of a reservation that only a proxy does not know', async () => {
  await behind((_, res) => answer(res, 404, 'no backend', { 'Content-Type': 'text/plain' }));
  await expect(provider.isReusable(RESERVATION, call)).rejects.toMatchObject({ code: 'transient' });
});

let stand: EquinixStand;

test('A3: keeps a long pause only in the BMDB, where clearing it ends it in all daemons', async () => {
  stand = await startStand({ devices: [{ hostname: 'shepherd-ci-x', tags: OURS }] });
  const { fake, deps, provider } = stand;
  const { clock } = deps;
  const bmdb = createMemBmdb({
    clock,
    random: createSeededRandom(1),
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    guard: DEFAULT_GUARD,
  });
  const daemon = (of: typeof provider) => {
    const holds = createHoldKeeper({
      repository: bmdb.providerHolds,
      nowMs: clock.now,
      clock,
      log: recordingLog(),
      rows: () => [...bmdb.tables.providerHolds.values()],
    });
    const id = fake.devices()[0]!.id;
    return { holds, get: () => holds.guard(of.name, 'get', () => of.getMachine(id, live)) };
  };
  const [one, other] = [daemon(provider), daemon(stand.another())];
  const headers = { 'Retry-After': '999999' };
  fake.addFault({ times: 1, effect: { type: 'status', code: 429, headers } });

  await expect(one.get()).rejects.toMatchObject({ code: 'transient' });
  const [row] = bmdb.tables.providerHolds.values();
  expect(row).toMatchObject({ kind: 'throttle', key: 'get' });
  expect(row!.untilMs - clock.now()).toBeLessThanOrEqual(15 * 60_000);
  await expect(other.get()).rejects.toThrow('throttled');
  expect(fake.requests()).toHaveLength(1);

  // Like `shepherd provider clear --hold throttle`.
  await bmdb.providerHolds.lift(provider.name, 'throttle');
  // A daemon's own knowledge of it counts for ten seconds.
  await advance(clock, 10_001);
  await one.get();
  await other.get();
  expect(fake.requests()).toHaveLength(3);
});

const STRANGER = '22220000-0000-4000-8000-000000000002';

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
const BRACKETS = 200_000;
const nested = '['.repeat(BRACKETS) + ']'.repeat(BRACKETS);

/** @param devices the devices of the reply, each as JSON text. */
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
])('A5: keeps all other devices when one device %s', async (_, entry, id) => {
  const { machines, complete, unreadable = [] } = await listed([entry, json(device(ID))]);
  expect(machines.map((machine) => [machine.id, machine.ownership])).toEqual([[ID, 'ours']]);
  expect(unreadable.map((each) => each.id)).toEqual(id === null ? [] : [id]);
  // A nameless entry may be any machine.
  expect(complete).toBe(id !== null);
});

test.each(['constructor', '__proto__'])('A5: treats the state %s as unknown', async (state) => {
  const { machines, complete } = await listed([json(device(ID, { state }))]);
  expect(machines).toMatchObject([{ id: ID, status: 'Unknown', power: 'unknown' }]);
  expect(complete).toBe(true);
});

test('A5: accepts no address that has a meaning on one host only', async () => {
  const local = { address: 'fe80::1%eth0', address_family: 6, public: true, management: true };
  const { machines, complete } = await listed([json(device(ID, { ip_addresses: [local] }))]);
  expect(machines).toMatchObject([{ id: ID, address: null }]);
  expect(complete).toBe(true);
});

test('A5: omits values nested too deep in the customdata of a device', async () => {
  const text = json(device(ID)).replace(/\}$/, `,"customdata":{"ssh_port":22,"x":${nested}}}`);
  expect((await listed([text])).machines).toMatchObject([{ id: ID, status: 'Running' }]);
});

test('A5: counts our own unreadable machine as present, and does not offer its slot', async () => {
  const free = { id: RESERVATION, provisionable: true, plan: { slug: 'c3' }, facility: {} };
  const { machines, complete, unreadable } = await listed(
    [json(device(ID, { locked: 'yes' }))],
    [json(free)],
  );
  expect({ machines, complete }).toEqual({ machines: [], complete: true });
  expect(unreadable).toMatchObject([{ id: ID, reservationId: RESERVATION }]);
  expect(unreadable![0]!.fault).toContain('$.locked');
});

test('A5: does not offer an unreadable reservation, and offers the others', async () => {
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
