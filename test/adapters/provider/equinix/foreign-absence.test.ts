import { expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { INSTANCE_SET_ID, live as call } from '../driver-stand.ts';
import { answer, type Script, type ScriptedApi, scriptedFleet } from './setup.ts';

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

/** The lists are the API's; what is asked of a single thing is answered by whom the test says. */
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

test.each(PROXIES)('A2: %s with %i is no word of the API', async (_, status, type, body) => {
  // Even where the listing says nothing of the machine.
  await behind((_request, res) => answer(res, status, body, { 'Content-Type': type }), []);
  const error = await provider.getMachine(ID, call).then(
    () => null,
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toMatchObject({ code: 'transient', outcome: 'not-done' });
  const told = String((error!.cause as Error).message);
  expect(told).toContain(`status ${status}`);
  expect(told).toContain(`${type.split(';')[0]}, ${Buffer.byteLength(body)} bytes`);
  expect(told).toContain('a proxy may have answered');
});

test('A2: a machine that only a proxy does not know is not given back', async () => {
  const type = { 'Content-Type': 'text/plain' };
  await behind((_, res) => answer(res, 404, 'default backend - 404', type));
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual([]);
});

test('A2: nor one that the API does not know and lists', async () => {
  await behind((_, res) => answer(res, 404, { errors: ['Not found'] }));
  await expect(provider.getMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual([]);
});

test('A2: what the API neither knows nor lists is gone', async () => {
  await behind((_, res) => answer(res, 404, { errors: ['Not found'] }), []);
  await expect(provider.getMachine(ID, call)).rejects.toMatchObject({ code: 'not-found' });
  await provider.deprovisionMachine(ID, call);
});

test('A2: a request to delete that a proxy answers has no known outcome', async () => {
  await behind(({ method }, res) => {
    if (method === 'DELETE')
      return answer(res, 404, 'no backend', { 'Content-Type': 'text/plain' });
    return answer(res, 200, DEVICE);
  });
  const late = { ...call, timeoutMs: 60_000 };
  await expect(provider.deprovisionMachine(ID, late)).rejects.toMatchObject({ outcome: 'unknown' });
});

test('A2: nor is it done when the API says that there is nothing to delete, and lists it', async () => {
  await behind(({ method }, res) =>
    method === 'DELETE' ? answer(res, 404, { errors: ['Not found'] }) : answer(res, 200, DEVICE),
  );
  const error = await provider.deprovisionMachine(ID, call).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: nor when it says so of the change of the name, and nothing was asked to go', async () => {
  await behind(({ method }, res) =>
    method === 'GET' ? answer(res, 200, DEVICE) : answer(res, 404, { errors: ['Not found'] }),
  );
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT']);
});

test('A4: a machine that is not to be given back any more is not even renamed', async () => {
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
])('A2: that there is nothing to delete is not believed while %s', async (_, devices, slots) => {
  await behind(NOTHING_TO_DELETE, devices, slots);
  await expect(provider.deprovisionMachine(ID, call)).rejects.toMatchObject({ code: 'transient' });
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: that there is nothing to delete is believed of what the list shows on its way out', async () => {
  await behind(NOTHING_TO_DELETE, [{ ...DEVICE, state: 'deprovisioning' }]);
  await provider.deprovisionMachine(ID, call);
  expect(changes()).toEqual(['PUT', 'DELETE']);
});

test('A2: a reservation that only a proxy does not know is not out of our hands', async () => {
  await behind((_, res) => answer(res, 404, 'no backend', { 'Content-Type': 'text/plain' }));
  await expect(provider.isReusable(RESERVATION, call)).rejects.toMatchObject({ code: 'transient' });
});
