import type { MetricName } from '../../../../src/adapters/metrics/port.ts';
import { expect, test } from 'vitest';
import type { CreateRequest } from '../../../../src/adapters/provider/port.ts';
import { endOfCreation } from '../../../../src/domain/provisioning/provider-tags.ts';
import { witness } from '../../../../src/domain/ids.ts';
import { callOf, live } from '../driver-stand.ts';
import { OURS, reservationId, type EquinixStand, startStand } from './stand.ts';

const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const SLOT = reservationId(1);
const WITNESS = witness('0b6e1111-1111-4111-8111-111111111111');

let stand: EquinixStand;

async function order() {
  const { machines } = await stand.provider.listMachines(live);
  const hostname = stand.provider.hostnameFor(SLOT);
  return { unused: machines[0]!, witness: WITNESS, hostname };
}
const answer = (code: number, message: string, headers = {}) =>
  stand.fake.addFault({
    match: CREATE,
    effect: { type: 'status', code, body: { errors: [message] }, headers },
  });
const start = (options?: Parameters<typeof startStand>[1]) =>
  startStand({ reservations: [{ id: SLOT }] }, options);

test.each([
  [422, 'You have reached your device limit'],
  [422, 'Quota exceeded'],
  [403, 'maximum number of servers reached'],
])('treats %i "%s" as a quota, and not as a fault of the reservation', async (code, message) => {
  stand = await start();
  const asked = await order();
  answer(code, message);
  await expect(stand.provider.createMachine(asked, live)).rejects.toMatchObject({
    code: 'transient',
    outcome: 'not-done',
    quota: true,
  });
});

test('does not treat another limit as a quota of machines', async () => {
  stand = await start();
  const asked = await order();
  answer(422, 'tags: exceeds the maximum number of tags (80)');
  const failure = await stand.provider.createMachine(asked, live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'invalid', outcome: 'not-done' });
  expect(failure).not.toHaveProperty('quota', true);
});

test('counts every reservation by its class at each refresh', async () => {
  const counted: unknown[] = [];
  stand = await startStand({
    reservations: [1, 2, 3].map((n) => ({ id: reservationId(n), ...(n === 3 && { spare: true }) })),
    devices: [{ hostname: 'x', reservation: reservationId(1) }],
  });
  Object.assign(stand.deps.metrics, {
    set(name: MetricName, { class: of }: { readonly class: string }, machines: number) {
      if (name === 'equinix_reservations') counted.push([of, machines]);
    },
  });
  await stand.provider.listMachines(live);
  await stand.provider.listMachines(live);
  expect(counted).toEqual([
    ['available', 1],
    ['in_use', 1],
    ['not_provisionable', 1],
  ]);
});

test('sends the first-boot script with the creation, and logs it nowhere', async () => {
  stand = await start();
  const { unused, hostname } = await order();
  const request: CreateRequest = {
    unused,
    hostname,
    plan: unused.plan,
    image: 'debian_12',
    publicKey: '',
    resumed: false,
    tags: { team: 'a' },
    initCommand: '#!/bin/sh\necho very-secret',
    onAttempt: async () => undefined,
  };
  await stand.driver.createMachine(request, callOf({ operationId: WITNESS }));
  const creation = stand.fake
    .requests()
    .find(({ method, route }) => method === 'POST' && route === CREATE.route);
  expect(creation?.body).toMatchObject({
    operating_system: 'debian_12',
    userdata: expect.anything(),
    tags: ['team=a', `shepherd-idempotency-${WITNESS}`, ...OURS],
  });
  expect(stand.deps.lines.join('\n')).not.toContain('very-secret');
});

test('does not create a device that could not be identified as ours', async () => {
  stand = await start();
  const asked = { ...(await order()), hostname: 'stranger' };
  await expect(stand.provider.createMachine(asked, live)).rejects.toMatchObject({
    code: 'invalid',
    outcome: 'not-done',
  });
  expect(stand.fake.devices()).toEqual([]);
});

test('stores and names no key with useProjectKeys, and warns about that', async () => {
  stand = await start({ config: { useProjectKeys: true } });
  await stand.provider.prepare(live);
  await stand.provider.createMachine(await order(), live);
  const [creation, ...others] = stand.fake.requests().filter(({ method }) => method === 'POST');
  expect(others).toEqual([]);
  expect(creation?.body).not.toHaveProperty('project_ssh_keys');
  expect(stand.deps.lines.join('\n')).toContain('INSECURE');
});

test('restores a vanished key, so that no creation fails', async () => {
  const slots = [1, 2, 3, 4, 5].map(reservationId);
  stand = await startStand({ reservations: slots.map((id) => ({ id })) });
  const { machines } = await stand.provider.listMachines(live);
  await stand.provider.prepare(live);
  await removeKeys();
  const made = machines.map((unused, n) =>
    stand.provider.createMachine(
      {
        unused,
        witness: witness(`0b6e1111-1111-4111-8111-00000000000${n}`),
        hostname: stand.provider.hostnameFor(unused.reservationId!),
      },
      live,
    ),
  );
  expect((await Promise.allSettled(made)).map(({ status }) => status)).toEqual(
    slots.map(() => 'fulfilled'),
  );
  expect(stand.count('POST /projects/{id}/ssh-keys')).toBe(2);
});

/** Somebody removes the project's keys. */
async function removeKeys() {
  const headers = { 'X-Auth-Token': stand.fake.tokens.user };
  const found = await stand.deps.network.fetch(
    `${stand.fake.url}/projects/${stand.fake.projectId}/ssh-keys`,
    { headers },
  );
  const { ssh_keys: keys } = (await found.json()) as { ssh_keys: { id: string }[] };
  for (const { id } of keys) {
    await stand.deps.network.fetch(`${stand.fake.url}/ssh-keys/${id}`, {
      method: 'DELETE',
      headers,
    });
  }
}

test('does not blame the reservation for a key that is refused repeatedly', async () => {
  stand = await start();
  const asked = await order();
  answer(422, 'project_ssh_keys: no such key');
  const failure = await stand.provider.createMachine(asked, live).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'auth', outcome: 'not-done' });
  expect(stand.count('POST /projects/{id}/devices')).toBe(2);
  const progress = { isResumed: false, isAttempted: true };
  expect(endOfCreation(failure, progress)).toMatchObject({
    intent: 'failed',
    isSlotToBlame: false,
  });
});

test('looks for the key again after a refused creation', async () => {
  stand = await start();
  const asked = await order();
  answer(422, 'no such key');
  await stand.provider.createMachine(asked, live).catch(() => undefined);
  const looks = stand.count('GET /projects/{id}/ssh-keys');
  stand.fake.clearFaults();
  await stand.provider.createMachine(asked, live);
  expect(stand.count('GET /projects/{id}/ssh-keys')).toBe(looks + 1);
});

test('lists spot machines and machines elsewhere until they run out', async () => {
  stand = await start();
  const group = (location: string | null, spot: boolean) =>
    stand.driver.capacityGroup({ name: 'm3', location, spot });
  expect(new Set([group('fr', false), group('fr', true), group('am', false)]).size).toBe(3);
  expect(group('fr', false)).toBe(group('fr', false));
});
