import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../../src/simulator/fakequinix/fault-rules.ts';
import type { Fakequinix } from '../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { adminOf, clientOf, createDevice, createOn, KEY, start } from './harness.ts';

const SECOND = 1_000;
const creates = { method: 'POST', route: '/projects/{id}/devices' };
const create = (fake: Fakequinix, index = 0, more: object = {}) =>
  clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, createOn(fake, index, more));
const raw = (fake: Fakequinix, path = '/user', init: RequestInit = {}) =>
  fetch(`${fake.url}${path}`, { headers: { 'x-auth-token': fake.tokens.user }, ...init });
const last = (fake: Fakequinix) => fake.requests().at(-1)!;
const hosts = (fake: Fakequinix) => fake.devices().map((one) => one.hostname.slice(0, 9));

describe('latency', () => {
  it('has a jitter of its own, the same for the same seed', async () => {
    const waits = async (jitterSeed: number) => {
      const delays: number[] = [];
      const clock = {
        now: () => 0,
        setTimeout: (fn: () => void, ms: number) => {
          delays.push(ms);
          queueMicrotask(fn);
        },
        clearTimeout: () => undefined,
      };
      const fake = await start({ clock });
      fake.addFault({ effect: { type: 'latency', minMs: 10, maxMs: 1_000, jitterSeed } });
      for (let i = 0; i < 3; i++) await raw(fake);
      expect(delays.every((ms) => ms >= 10 && ms < 1_000)).toBe(true);
      return delays;
    };
    const one = await waits(3);
    expect(new Set(one).size).toBe(3);
    expect(await waits(3)).toEqual(one);
    expect(await waits(4)).not.toEqual(one);
  });

  it.each([
    [{ type: 'latency' }],
    [{ type: 'latency', minMs: 5 }],
    [{ type: 'latency', minMs: 5, maxMs: 4 }],
    [{ type: 'latency', ms: 1, minMs: 5, maxMs: 9 }],
    [{ type: 'hang' }],
    [{ type: 'status' }],
    [{ type: 'unstablePages', mode: 'other' }],
    [{ type: 'nothing' }],
  ])('or anything else is refused as %j', async (effect) => {
    const fake = await start();
    const reply = await adminOf(fake)('POST', '/faults', { effect });
    expect([reply.status, fake.faults()]).toEqual([422, []]);
  });
});

describe('status', () => {
  it.each([
    [null, '', null],
    ['<html>no</html>', '<html>no</html>', 'text/html'],
    [{ error: 'no' }, '{"error":"no"}', 'application/json; charset=utf-8'],
  ])('sends the body %j', async (body, sent, type) => {
    const fake = await start();
    fake.addFault({ effect: { type: 'status', code: 502, body } });
    const response = await raw(fake);
    expect([response.status, await response.text(), response.headers.get('content-type')]).toEqual([
      502,
      sent,
      type,
    ]);
  });

  it('sends its headers, which may name another type', async () => {
    const fake = await start();
    const headers = { 'Retry-After': '7', 'Content-Type': 'text/plain' };
    fake.addFault({ effect: { type: 'status', code: 503, body: 'no', headers } });
    const response = await raw(fake);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('x-request-id')).toBe('fake-1');
  });

  it('after execution leaves a refusal of the API alone, and is not spent by it', async () => {
    const fake = await start();
    const fault = fake.addFault({
      match: creates,
      times: 1,
      effect: { type: 'status', code: 500, executed: true },
    });
    expect((await create(fake, 0, { plan: 'none' })).status).toBe(422);
    expect((await create(fake)).status).toBe(500);
    expect((await create(fake, 1)).status).toBe(201);
    expect(fake.devices()).toHaveLength(2);
    expect(fake.faults()).toMatchObject([{ id: fault.id, applied: 1 }]);
  });
});

describe('headers', () => {
  it('join a genuine answer', async () => {
    const fake = await start();
    const headers = { Deprecation: 'true', Sunset: 'Sat, 31 Dec 2033 23:59:59 GMT' };
    fake.addFault({ match: { route: '/user' }, effect: { type: 'headers', headers } });
    const { status, headers: sent } = await clientOf(fake)('GET', '/user');
    expect([status, sent.get('deprecation'), sent.get('sunset')]).toEqual([
      200,
      'true',
      headers.Sunset,
    ]);
    expect((await clientOf(fake)('GET', '/plans')).headers.get('deprecation')).toBeNull();
  });
});

describe('hang', () => {
  it('midBody sends half and then nothing; the journal sees the client leave', async () => {
    const fake = await start();
    fake.addFault({ match: creates, times: 1, effect: { type: 'hang', phase: 'midBody' } });
    const stop = new AbortController();
    const response = await raw(fake, `/projects/${fake.projectId}/devices`, {
      method: 'POST',
      body: JSON.stringify(createOn(fake)),
      signal: stop.signal,
    });
    expect(response.status).toBe(201);
    const reader = response.body!.getReader();
    expect((await reader.read()).value!.length).toBeGreaterThan(100);
    expect(last(fake)).toMatchObject({ fate: 'hung', executed: true, doneAtMs: null });
    const refused = expect(reader.read()).rejects.toThrow();
    stop.abort();
    await refused;
    await expect.poll(() => last(fake).doneAtMs).not.toBeNull();
    expect(fake.devices()).toHaveLength(1);
  });
});

describe('drop', () => {
  it('midBody breaks off in the body', async () => {
    const fake = await start();
    fake.addFault({ times: 1, effect: { type: 'drop', phase: 'midBody' } });
    const response = await raw(fake);
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });
});

describe('stuck and failProvisioning', () => {
  it('strike a given device that is being provisioned at once', async () => {
    const fake = await start();
    const [stuck, failed, late, well] = await Promise.all(
      [0, 1, 2, 3].map((index) => createDevice(fake, index)),
    );
    await fake.advance(60 * SECOND);
    fake.addFault({ match: { deviceId: stuck! }, effect: { type: 'stuck' } });
    fake.addFault({ match: { deviceId: failed! }, effect: { type: 'failProvisioning' } });
    await fake.advance(60 * SECOND);
    const states = () =>
      [stuck, failed, late, well].map((id) => fake.devices().find((one) => one.id === id)!.state);
    expect(states()).toEqual(['provisioning', 'failed', 'provisioning', 'provisioning']);
    await fake.advance(60 * SECOND);
    fake.addFault({ match: { deviceId: late! }, effect: { type: 'failProvisioning' } });
    await fake.advance(0);
    expect(states()).toEqual(['provisioning', 'failed', 'failed', 'provisioning']);
    await fake.advance(3_600 * SECOND);
    expect(states()).toEqual(['provisioning', 'failed', 'failed', 'active']);
    expect(fake.faults().map((one) => one.applied)).toEqual([1, 1, 1]);
  });

  it('leave a failed device without events of a progress that is over', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    fake.addFault({
      match: { deviceId: id },
      effect: { type: 'failProvisioning', reason: 'dust' },
    });
    await fake.advance(3_600 * SECOND);
    const { body } = await clientOf(fake)('GET', `/devices/${id}/events?per_page=50`);
    expect(body['events']![0]).toMatchObject({
      type: 'provisioning.failed',
      body: 'Provisioning failed: dust',
    });
  });

  it('strike the next device of a reservation', async () => {
    const fake = await start();
    const reservationId = fake.reservations()[1]!.id;
    fake.addFault({ match: { reservationId }, effect: { type: 'failProvisioning' } });
    await createDevice(fake, 0);
    await createDevice(fake, 1);
    await fake.advance(300 * SECOND);
    expect(fake.devices().map((one) => one.state)).toEqual(['active', 'failed']);
  });
});

describe('race', () => {
  it('strikes a create that leaves the choice, on the reservation it names', async () => {
    const fake = await start();
    const [lowest, second] = fake
      .reservations()
      .filter((one) => one.facility === 'fr2')
      .map((one) => one.id)
      .toSorted();
    fake.addFault({
      effect: { type: 'race', reservationId: lowest!, when: 'betweenCheckAndCreate' },
    });
    await createDevice(fake, 0, { hardware_reservation_id: 'next-available', metro: 'fr' });
    expect(hosts(fake)).toEqual(['stranger-', 'machine-0']);
    expect(fake.devices()[1]!.reservationId).toBe(second);
  });

  it('waits for the reservation that it names, and for one that is free', async () => {
    const fake = await start();
    const reservationId = fake.reservations()[1]!.id;
    fake.addFault({ effect: { type: 'race', reservationId, when: 'betweenCheckAndCreate' } });
    expect((await create(fake, 0)).status).toBe(201);
    expect((await create(fake, 1)).status).toBe(422);
    expect(hosts(fake)).toEqual(['machine-0', 'stranger-']);
  });

  it('afterLostReply comes after a create that hangs, too, and not after one that worked', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'race', when: 'afterLostReply' } });
    fake.addFault({ match: creates, times: 1, effect: { type: 'drop', phase: 'after' } });
    await expect(create(fake)).rejects.toThrow();
    expect(hosts(fake)).toEqual(['machine-0']);
    fake.addFault({ match: creates, times: 1, effect: { type: 'hang', phase: 'before' } });
    const stop = new AbortController();
    const refused = expect(
      raw(fake, `/projects/${fake.projectId}/devices`, {
        method: 'POST',
        body: JSON.stringify(createOn(fake, 1)),
        signal: stop.signal,
      }),
    ).rejects.toThrow();
    await expect.poll(() => hosts(fake)).toEqual(['machine-0', 'stranger-']);
    stop.abort();
    await refused;
  });
});

describe('unstablePages', () => {
  const world = (hostname: (i: number) => string) =>
    parseWorld({ devices: Array.from({ length: 25 }, (_, i) => ({ hostname: hostname(i) })) });
  const walk = async (fake: Fakequinix) => {
    const ids: unknown[] = [];
    for (const page of [1, 2, 3]) {
      const path = `/projects/${fake.projectId}/devices?sort_by=hostname&page=${page}`;
      ids.push(...(await clientOf(fake)('GET', path)).body['devices']!.map((one) => one['id']));
    }
    return new Set(ids).size;
  };

  it('shuffle is healed by sort_by on unique values', async () => {
    const fake = await start({ world: world((i) => `host-${i}`) });
    fake.addFault({ effect: { type: 'unstablePages', mode: 'shuffle' } });
    expect(await walk(fake)).toBe(25);
  });

  it('shuffle is not healed by sort_by on equal values', async () => {
    const fake = await start({ world: world(() => 'same') });
    fake.addFault({ effect: { type: 'unstablePages', mode: 'shuffle' } });
    expect(await walk(fake)).toBeLessThan(25);
  });

  it.each(['duplicate', 'omit'] as const)('%s is healed by nothing', async (mode) => {
    const fake = await start({ world: world((i) => `host-${i}`) });
    fake.addFault({ effect: { type: 'unstablePages', mode } });
    expect(await walk(fake)).toBeLessThan(25);
  });

  it('does not spoil what comes after it', async () => {
    const fake = await start({ world: world((i) => `host-${i}`) });
    fake.addFault({ times: 3, effect: { type: 'unstablePages', mode: 'omit' } });
    await walk(fake);
    expect(await walk(fake)).toBe(25);
  });
});

describe('stale', () => {
  const LAG_MS = 10 * SECOND;
  const seeReservation = async (fake: Fakequinix) => {
    const path = `/hardware-reservations/${fake.reservations()[0]!.id}`;
    const { body } = await clientOf(fake)('GET', path);
    return [body['device'] === null ? null : body['device']!['href'], body['provisionable']];
  };

  it('shows each step of a reservation as late as it says', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'stale', view: 'both', lagMs: LAG_MS } });
    const id = await createDevice(fake);
    const link = `/devices/${id}`;
    await fake.advance(245 * SECOND);
    await clientOf(fake)('DELETE', link);
    const seen: unknown[] = [];
    for (const ms of [60 * SECOND, LAG_MS - 1, 1, 240 * SECOND - LAG_MS, LAG_MS - 1, 1]) {
      await fake.advance(ms);
      seen.push(await seeReservation(fake));
    }
    expect(seen).toEqual([
      [link, false],
      [link, false],
      [null, false],
      [null, false],
      [null, false],
      [null, true],
    ]);
  });

  it('shows the state that a device had', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    fake.addFault({ effect: { type: 'stale', resource: 'device', view: 'single', lagMs: LAG_MS } });
    await fake.advance(245 * SECOND);
    const state = async () => (await clientOf(fake)('GET', `/devices/${id}`)).body['state'];
    expect(await state()).toBe('provisioning');
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(list.body['devices']![0]!['state']).toBe('active');
    await fake.advance(LAG_MS);
    expect(await state()).toBe('active');
  });

  it('can be about the list alone, and about reservations alone', async () => {
    const fake = await start();
    fake.addFault({
      effect: { type: 'stale', resource: 'reservation', view: 'list', lagMs: LAG_MS },
    });
    const id = await createDevice(fake);
    const path = `/projects/${fake.projectId}/hardware-reservations`;
    const { body } = await clientOf(fake)('GET', path);
    expect(body['hardware_reservations']![0]).toMatchObject({ device: null, provisionable: true });
    expect(await seeReservation(fake)).toEqual([`/devices/${id}`, false]);
    const devices = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(devices.body['devices']).toHaveLength(1);
  });
});

describe('tokens and keys', () => {
  it('keyCreate404 strikes keys of a user and of a project, and no other create', async () => {
    const fake = await start();
    fake.addFault({ times: 2, effect: { type: 'keyCreate404' } });
    expect((await create(fake)).status).toBe(201);
    for (const path of ['/ssh-keys', `/projects/${fake.projectId}/ssh-keys`]) {
      const reply = await clientOf(fake)('POST', path, { label: path, key: KEY });
      expect([reply.status, reply.body]).toEqual([404, { errors: ['Not found'] }]);
    }
    expect((await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']).toHaveLength(2);
  });

  it('tokenRevoked can come in the middle, and takes the token of the request', async () => {
    const fake = await start();
    fake.addFault({ match: { ...creates, nth: 2 }, effect: { type: 'tokenRevoked' } });
    expect((await create(fake, 0)).status).toBe(201);
    expect((await create(fake, 1)).status).toBe(401);
    expect((await clientOf(fake)('GET', '/user')).status).toBe(401);
    expect((await clientOf(fake, fake.tokens.project)('GET', '/user')).status).toBe(200);
    expect(fake.devices()).toHaveLength(1);
  });
});

describe('a rule', () => {
  it.each([
    [{ method: 'post' }, [500, 200]],
    [{ route: '/projects/:any/devices/' }, [500, 200]],
    [{ method: 'POST', route: '/user' }, [201, 200]],
  ])('matches by %j', async (match, expected) => {
    const fake = await start();
    fake.addFault({ match, effect: { type: 'status', code: 500 } });
    const statuses = [(await create(fake)).status, (await clientOf(fake)('GET', '/user')).status];
    expect(statuses).toEqual(expected);
  });

  it('knows the reservation of a create and of its own routes', async () => {
    const fake = await start();
    const reservationId = fake.reservations()[0]!.id;
    fake.addFault({ match: { reservationId }, effect: { type: 'status', code: 500 } });
    const read = (index: number) =>
      clientOf(fake)('GET', `/hardware-reservations/${fake.reservations()[index]!.id}`);
    const replies = [await create(fake, 0), await read(0), await create(fake, 1), await read(1)];
    expect(replies.map(({ status }) => status)).toEqual([500, 500, 201, 200]);
  });

  it('with a known id takes the place of that one', async () => {
    const fake = await start();
    const rule = (code: number): FaultRule => ({ id: 'one', effect: { type: 'status', code } });
    fake.addFault(rule(500));
    fake.addFault(rule(503));
    expect(fake.faults()).toHaveLength(1);
    expect((await clientOf(fake)('GET', '/user')).status).toBe(503);
  });

  it('comes before a later one of the same kind, and beside one of another kind', async () => {
    const fake = await start();
    fake.addFault({ times: 1, effect: { type: 'status', code: 500 } });
    fake.addFault({ times: 1, effect: { type: 'status', code: 503 } });
    fake.addFault({ effect: { type: 'rateLimit', limit: 2, windowMs: 1_000 } });
    const seen: number[] = [];
    for (let i = 0; i < 3; i++) seen.push((await clientOf(fake)('GET', '/user')).status);
    expect(seen).toEqual([500, 503, 429]);
  });
});
