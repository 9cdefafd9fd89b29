import { expect, test } from 'vitest';
import type { EquinixFaultRule } from '../../../emulators/equinix/fault-rules.ts';
import type { EquinixEmulator } from '../../../emulators/equinix/options.ts';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { testRows } from '../../support/rows.ts';
import { ACTIVE_MS, clientOf, createDevice, createOn, start } from './harness.ts';

type EquinixRuleEffect = EquinixFaultRule['effect'];
const LAG_MS = 10_000;
const creates = { method: 'POST', route: '/projects/{p}/devices' };
const create = (fake: EquinixEmulator, index = 0, init: RequestInit = {}) =>
  clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, createOn(fake, index), init);
const statusOf = async (fake: EquinixEmulator, path = '/projects') =>
  (await clientOf(fake)('GET', path)).status;
/** Prefix of all host names; those of strangers begin with `stranger-`. */
const hosts = (fake: EquinixEmulator) => fake.devices().map((one) => one.hostname.slice(0, 9));
const reservationPath = (fake: EquinixEmulator, index = 0) =>
  `/hardware-reservations/${fake.reservations()[index]!.id}`;

const race = (when: 'betweenCheckAndCreate' | 'afterLostReply'): EquinixRuleEffect => ({
  type: 'race',
  when,
});
const lost = (phase: 'before' | 'after', type: 'drop' | 'hang' = 'drop'): EquinixFaultRule => ({
  ...{ match: creates, effect: { type, phase } },
});
/** Rules, the answer to a creation on the first reservation, and the device there afterwards. */
const RACES: readonly (readonly [readonly EquinixFaultRule[], number | null, readonly string[]])[] =
  [
    [[{ effect: race('betweenCheckAndCreate') }], 422, ['stranger-']],
    [[{ effect: race('afterLostReply') }], 201, ['machine-0']],
    [[lost('before'), { effect: race('afterLostReply') }], null, ['stranger-']],
    [[lost('before', 'hang'), { effect: race('afterLostReply') }], null, ['stranger-']],
    [[lost('after'), { effect: race('afterLostReply') }], null, ['machine-0']],
  ];

testRows(RACES)('lets a stranger in by %j', async (rules, created, expected) => {
  const fake = await start();
  for (const rule of rules) fake.addFault(rule);
  const stop = new AbortController();
  const seen = create(fake, 0, { signal: stop.signal }).then(
    (one) => one.status,
    () => null,
  );
  await expect.poll(() => hosts(fake)).toEqual(expected);
  if (created === null) stop.abort();
  expect(await seen).toBe(created);
  expect(fake.violations()).toEqual([]);
});

/**
 * A rule, and what the API shows of a new device: whether its reservation is free, alone and in the
 * list, the status of its own page, and how many devices of its tag are listed.
 */
testRows([
  [{ view: 'both' }, [true, true, 404, 0]],
  [{ view: 'list', resource: 'reservation' }, [false, true, 200, 1]],
  [{ view: 'single', resource: 'device' }, [false, false, 404, 1]],
] as const)('shows changes late by %j', async (rule, expected) => {
  const fake = await start();
  fake.addFault({ effect: { type: 'stale', lagMs: LAG_MS, ...rule } });
  const id = await createDevice(fake, 0, { tags: ['witness'] });
  const see = async () => {
    const project = `/projects/${fake.projectId}`;
    const ask = (path: string) => clientOf(fake)('GET', path);
    const list = (await ask(`${project}/hardware-reservations`)).body['hardware_reservations'];
    return [
      (await ask(reservationPath(fake))).body['provisionable'],
      list![0]!['provisionable'],
      (await ask(`/devices/${id}`)).status,
      (await ask(`${project}/devices?tag=witness`)).body['devices']!.length,
    ];
  };
  expect(await see()).toEqual(expected);
  expect((await create(fake)).status).toBe(422);
  await fake.advance(LAG_MS - 1);
  expect(await see()).toEqual(expected);
  await fake.advance(1);
  expect(await see()).toEqual([false, false, 200, 1]);
});

test('delays each step of a reservation as the rule says', async () => {
  const fake = await start();
  fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: LAG_MS } });
  const id = await createDevice(fake);
  await fake.advance(ACTIVE_MS);
  await clientOf(fake)('DELETE', `/devices/${id}`);
  const seen: unknown[] = [];
  for (const ms of [60_000, LAG_MS - 1, 1, 240_000 - LAG_MS, LAG_MS - 1, 1]) {
    await fake.advance(ms);
    const { body } = await clientOf(fake)('GET', reservationPath(fake));
    seen.push(`${body['device'] === null ? 'empty' : 'in use'} ${String(body['provisionable'])}`);
  }
  const empty = 'empty false';
  expect(seen).toEqual(['in use false', 'in use false', empty, empty, empty, 'empty true']);
});

/** How pages of 25 devices are spoiled, and whether a walk over them shows all. */
testRows([
  ['omit', false],
  ['totalDrift', true],
] as const)('spoils pages by %s; whole: %j', async (mode, isWhole) => {
  const devices = Array.from({ length: 25 }, (_, i) => ({ hostname: `host-${i}` }));
  const fake = await start({ world: parseWorld({ devices }) });
  const walk = async () => {
    const [ids, totals] = [new Set<unknown>(), new Set<unknown>()];
    for (const page of [1, 2, 3]) {
      const path = `/projects/${fake.projectId}/devices?page=${page}`;
      const { body } = await clientOf(fake)('GET', path);
      for (const one of body['devices']!) ids.add(one['id']);
      totals.add(body['meta']!['total']);
    }
    return { isWhole: ids.size === 25, drifts: totals.size > 1 };
  };
  fake.addFault({ times: 3, effect: { type: 'unstablePages', mode } });
  expect(await walk()).toEqual({ isWhole, drifts: mode === 'totalDrift' });
  expect(await walk()).toEqual({ isWhole: true, drifts: false });
});

test('revokes the token of a request that matches the rule', async () => {
  const fake = await start();
  fake.addFault({ match: { ...creates, nth: 2 }, effect: { type: 'tokenRevoked' } });
  const created = [(await create(fake, 0)).status, (await create(fake, 1)).status];
  expect([created, await statusOf(fake), fake.devices().length]).toEqual([[201, 401], 401, 1]);
  expect((await clientOf(fake, fake.tokens.project)('GET', '/projects')).status).toBe(200);
});

test('applies a rule to one device alone', async () => {
  const fake = await start();
  const [one, other] = [await createDevice(fake, 0), await createDevice(fake, 1)];
  fake.addFault({ match: { deviceId: one }, effect: { type: 'status', code: 500 } });
  const seen = [await statusOf(fake, `/devices/${one}`), await statusOf(fake, `/devices/${other}`)];
  expect(seen).toEqual([500, 200]);
});
