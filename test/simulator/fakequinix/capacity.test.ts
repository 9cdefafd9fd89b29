import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { adminOf, clientOf, createDevice, createOn, start } from './harness.ts';

const plan = 'c3.small.x86';
const onDemand = { plan, hardware_reservation_id: '' };
/** A second facility in Frankfurt. */
const world = parseWorld({ facilities: [{ code: 'fr8', metro: 'fr' }] });

describe('capacity', () => {
  it.each(['/capacity', '/capacity/metros'])(
    '%s: without a stock there is no end',
    async (path) => {
      const fake = await start();
      const { status, body } = await clientOf(fake, fake.tokens.readOnly)('GET', path);
      expect(status).toBe(200);
      const places =
        path === '/capacity' ? ['fr2', 'am6', 'sv15', 'ny5'] : ['fr', 'am', 'sv', 'ny'];
      expect(Object.keys(body['capacity']!)).toEqual(places);
      const levels = Object.values(body['capacity']!).flatMap((plans) => Object.values(plans));
      expect(new Set(levels.map((one) => one['level']))).toEqual(new Set(['normal']));
      const place = path === '/capacity' ? { facility: 'fr2' } : { metro: 'fr' };
      const servers = [{ ...place, plan, quantity: '10000' }];
      const check = await clientOf(fake, fake.tokens.readOnly)('POST', path, { servers });
      expect([check.status, check.body]).toEqual([
        200,
        { servers: [{ ...place, plan, quantity: '10000', available: true }] },
      ]);
    },
  );

  it('follows what is taken, per plan and facility, and a metro has what its facilities have', async () => {
    const fake = await start({ world, knobs: { onDemandStock: 3 } });
    const levels = async () => {
      const [inFacilities, inMetros] = await Promise.all(
        ['/capacity', '/capacity/metros'].map((path) => clientOf(fake)('GET', path)),
      );
      const at = (body: typeof inFacilities, place: string) =>
        body!.body['capacity']![place]![plan]!['level'];
      return [at(inFacilities, 'fr2'), at(inFacilities, 'fr8'), at(inMetros, 'fr')].map(String);
    };
    const take = () => createDevice(fake, 0, { ...onDemand, metro: 'fr' });
    expect(await levels()).toEqual(['normal', 'normal', 'normal']);
    const first = await take();
    expect(await levels()).toEqual(['limited', 'normal', 'normal']);
    await take();
    await take();
    expect(await levels()).toEqual(['unavailable', 'normal', 'normal']);
    await take();
    await take();
    expect(await levels()).toEqual(['unavailable', 'limited', 'limited']);
    await take();
    expect(await levels()).toEqual(['unavailable', 'unavailable', 'unavailable']);
    const path = `/projects/${fake.projectId}/devices`;
    const refused = await clientOf(fake)(
      'POST',
      path,
      createOn(fake, 0, { ...onDemand, metro: 'fr' }),
    );
    expect([refused.status, refused.body]).toEqual([
      503,
      { errors: [`There is no available capacity for plan ${plan} there`] },
    ]);
    await createDevice(fake, 0, { ...onDemand, metro: 'am' });
    await createDevice(fake, 0, { plan: 'm3.large.x86' });
    await fake.advance(245_000);
    await clientOf(fake)('DELETE', `/devices/${first}`);
    await fake.advance(60_000);
    expect(await levels()).toEqual(['limited', 'unavailable', 'limited']);
  });

  it('says of each wish whether it can be met, and of what quantity, as a text', async () => {
    const fake = await start({ world, knobs: { onDemandStock: 3 } });
    const ask = async (path: string, servers: object[]) =>
      (await clientOf(fake)('POST', path, { servers })).body['servers'];
    const inMetro = { metro: 'fr', plan };
    expect(
      await ask('/capacity/metros', [
        { ...inMetro, quantity: '6' },
        { ...inMetro, quantity: 7 },
        inMetro,
      ]),
    ).toEqual([
      { ...inMetro, quantity: '6', available: true },
      { ...inMetro, quantity: '7', available: false },
      { ...inMetro, quantity: '1', available: true },
    ]);
    const inFacility = { facility: 'fr8', plan };
    expect(
      await ask('/capacity', [
        { ...inFacility, quantity: '3' },
        { ...inFacility, quantity: '4' },
      ]),
    ).toEqual([
      { ...inFacility, quantity: '3', available: true },
      { ...inFacility, quantity: '4', available: false },
    ]);
  });

  it.each([
    ['/capacity/metros', {}, /^servers: /],
    ['/capacity/metros', { servers: [{ metro: 'xx', plan }] }, /^servers\.0\.metro: /],
    ['/capacity/metros', { servers: [{ facility: 'fr2', plan }] }, /^servers\.0\.metro: /],
    ['/capacity', { servers: [{ facility: 'fr2', plan: 'x9' }] }, /^servers\.0\.plan: /],
    ['/capacity', { servers: [{ metro: 'fr', plan }] }, /^servers\.0\.facility: /],
    [
      '/capacity',
      { servers: [{ facility: 'fr2', plan, quantity: 'two' }] },
      /^servers\.0\.quantity: /,
    ],
  ])('POST %s refuses %j', async (path, body, message) => {
    const fake = await start();
    const reply = await clientOf(fake)('POST', path, body);
    expect(reply.status).toBe(422);
    expect(reply.body['errors']!.join()).toMatch(message);
  });

  it('is answered to nobody without a token, and fails when a fault says so', async () => {
    const fake = await start();
    expect((await clientOf(fake, null)('GET', '/capacity/metros')).status).toBe(401);
    const effect = { type: 'status', code: 503 } as const;
    fake.addFault({ match: { route: '/capacity/metros' }, times: 1, effect });
    expect((await clientOf(fake)('POST', '/capacity/metros', { servers: [] })).status).toBe(503);
    expect((await clientOf(fake)('POST', '/capacity/metros', { servers: [] })).status).toBe(200);
  });

  it('does not count what stands on reservations', async () => {
    const fake = await start({ knobs: { onDemandStock: 3 } });
    await createDevice(fake, 0);
    const { body } = await clientOf(fake)('GET', '/capacity');
    expect(String(body['capacity']!['fr2']!['m3.large.x86']!['level'])).toBe('normal');
  });

  it('is turned while it runs', async () => {
    const fake = await start();
    await adminOf(fake)('PATCH', '/knobs', { onDemandStock: 0 });
    const { body } = await clientOf(fake)('GET', '/capacity/metros');
    expect(String(body['capacity']!['ny']![plan]!['level'])).toBe('unavailable');
  });
});

it('the plans of a project are those on sale', async () => {
  const fake = await start();
  const [all, own] = await Promise.all(
    ['/plans', `/projects/${fake.projectId}/plans`].map((path) => clientOf(fake)('GET', path)),
  );
  expect(own!.body).toEqual(all!.body);
});
