import { describe, expect, it } from 'vitest';
import type { Fakequinix } from '../../../src/simulator/fakequinix/options.ts';
import { clientOf, createDevice, start } from './harness.ts';

const SECOND = 1_000;
const ACTIVE_MS = 245 * SECOND;

const device = async (fake: Fakequinix, id: string) =>
  (await clientOf(fake)('GET', `/devices/${id}`)).body;
const stateOf = async (fake: Fakequinix, id: string) => {
  const reply = await clientOf(fake)('GET', `/devices/${id}`);
  return reply.status === 200 ? reply.body['state'] : reply.status;
};
const eventTypes = async (fake: Fakequinix, id: string) =>
  (await clientOf(fake)('GET', `/devices/${id}/events?per_page=100`)).body['events']!.map(
    (one) => one['type'],
  );
const act = (fake: Fakequinix, id: string, body: object) =>
  clientOf(fake)('POST', `/devices/${id}/actions`, body);
const activeDevice = async (fake: Fakequinix) => {
  const id = await createDevice(fake);
  await fake.advance(ACTIVE_MS);
  return id;
};

describe('a new device', () => {
  it('is queued for 5 s and provisioning for 240 s', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    expect(await stateOf(fake, id)).toBe('queued');
    await fake.advance(5 * SECOND - 1);
    expect(await stateOf(fake, id)).toBe('queued');
    await fake.advance(1);
    expect(await stateOf(fake, id)).toBe('provisioning');
    await fake.advance(240 * SECOND - 1);
    expect(await stateOf(fake, id)).toBe('provisioning');
    await fake.advance(1);
    expect(await stateOf(fake, id)).toBe('active');
  });

  it('has addresses from 30 s on: public IPv4 and IPv6, private IPv4', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    await fake.advance(30 * SECOND - 1);
    expect((await device(fake, id))['ip_addresses']).toEqual([]);
    await fake.advance(1);
    const addresses = (await device(fake, id))['ip_addresses']!;
    const shape = addresses.map((one) => [one['address_family'], one['public'], one['management']]);
    expect(shape).toEqual([
      [4, true, true],
      [6, true, true],
      [4, false, true],
    ]);
    expect(addresses[0]!['assigned_to']).toEqual({ href: `/devices/${id}` });
    expect(fake.devices()[0]!.address).toBe(addresses[0]!['address']);
  });

  it('reports its progress while it is provisioning only', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    expect(await device(fake, id)).not.toHaveProperty('provisioning_percentage');
    await fake.advance(90 * SECOND);
    const halfway = await device(fake, id);
    expect(halfway['provisioning_percentage']).toBe(30);
    const steps = halfway['provisioning_events']!;
    expect(steps.map((one) => one['type'])).toEqual(
      Array.from({ length: 10 }, (_, i) => `provisioning.${101 + i}`),
    );
    expect(steps[2]).toMatchObject({ created_at: '2026-08-01T10:01:30Z' });
    expect(steps[3]).toMatchObject({ id: null, created_at: null });
    await fake.advance(ACTIVE_MS);
    const done = await device(fake, id);
    expect(done).not.toHaveProperty('provisioning_percentage');
    expect(done['provisioning_events']!.every((one) => one['created_at'] !== null)).toBe(true);
  });

  it('reports 104.01 when it boots from the network', async () => {
    const fake = await start();
    const id = await createDevice(fake, 0, { operating_system: 'custom_ipxe' });
    await fake.advance(ACTIVE_MS);
    expect(await eventTypes(fake, id)).toContain('provisioning.104.01');
  });

  it('passes post_provisioning when that takes time', async () => {
    const fake = await start({ timings: { postProvisioningMs: 7 * SECOND } });
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS);
    expect(await stateOf(fake, id)).toBe('post_provisioning');
    await fake.advance(7 * SECOND);
    expect(await stateOf(fake, id)).toBe('active');
  });

  it('is a hundred times as fast in the fast profile', async () => {
    const fake = await start({ profile: 'fast' });
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS / 100 - 1);
    expect(await stateOf(fake, id)).toBe('provisioning');
    await fake.advance(1);
    expect(await stateOf(fake, id)).toBe('active');
  });
});

describe('provisioning that goes wrong', () => {
  it('ends failed after 120 s and keeps the reservation until deleted', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'failProvisioning', reason: 'no disk' } });
    const id = await createDevice(fake);
    await fake.advance(120 * SECOND - 1);
    expect(await stateOf(fake, id)).toBe('provisioning');
    await fake.advance(1);
    expect(await stateOf(fake, id)).toBe('failed');
    await fake.advance(3_600 * SECOND);
    expect(await stateOf(fake, id)).toBe('failed');
    expect(fake.reservations()[0]!.deviceId).toBe(id);
    expect((await clientOf(fake)('DELETE', `/devices/${id}`)).status).toBe(204);
    const healthy = await createDevice(fake, 1);
    await fake.advance(ACTIVE_MS);
    expect(await stateOf(fake, healthy)).toBe('active');
  });

  it('never ends when it is stuck', async () => {
    const fake = await start();
    fake.addFault({ effect: { type: 'stuck' } });
    const id = await createDevice(fake);
    await fake.advance(24 * 3_600 * SECOND);
    expect(await stateOf(fake, id)).toBe('provisioning');
  });

  it('hides a failed device without reservation under the knob', async () => {
    const fake = await start({ knobs: { onDemandVanish: 403 } });
    fake.addFault({ effect: { type: 'failProvisioning' } });
    const id = await createDevice(fake, 0, { hardware_reservation_id: null, metro: 'fr' });
    await fake.advance(120 * SECOND);
    expect(await stateOf(fake, id)).toBe(403);
  });
});

describe('a deleted device', () => {
  const reservation = async (fake: Fakequinix) => {
    const path = `/hardware-reservations/${fake.reservations()[0]!.id}`;
    const { body } = await clientOf(fake)('GET', path);
    return [body['device'] !== null, body['provisionable']];
  };

  it('goes after 60 s; its reservation is in use, cleaned for 240 s, free', async () => {
    const fake = await start();
    const id = await activeDevice(fake);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    expect(await stateOf(fake, id)).toBe('deprovisioning');
    await fake.advance(60 * SECOND - 1);
    expect([await stateOf(fake, id), await reservation(fake)]).toEqual([
      'deprovisioning',
      [true, false],
    ]);
    await fake.advance(1);
    expect([await stateOf(fake, id), await reservation(fake)]).toEqual([404, [false, false]]);
    await fake.advance(240 * SECOND - 1);
    expect(await reservation(fake)).toEqual([false, false]);
    await fake.advance(1);
    expect(await reservation(fake)).toEqual([false, true]);
    await expect(createDevice(fake)).resolves.toEqual(expect.any(String));
    expect(fake.violations()).toEqual([]);
  });

  it('stays visible as deleted for the tombstone time', async () => {
    const fake = await start({ timings: { tombstoneMs: 30 * SECOND } });
    const id = await activeDevice(fake);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    await fake.advance(60 * SECOND);
    expect(await stateOf(fake, id)).toBe('deleted');
    expect((await clientOf(fake)('DELETE', `/devices/${id}`)).status).toBe(404);
    await fake.advance(30 * SECOND);
    expect(await stateOf(fake, id)).toBe(404);
  });

  it('is gone at once under the knob', async () => {
    const fake = await start({ knobs: { deleteVisibility: 'immediate404' } });
    const id = await activeDevice(fake);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    expect(await stateOf(fake, id)).toBe(404);
    const list = await clientOf(fake)('GET', `/projects/${fake.projectId}/devices`);
    expect(list.body['devices']).toEqual([]);
  });
});

describe('power', () => {
  it('takes 10 s to go and 20 s to come', async () => {
    const fake = await start();
    const id = await activeDevice(fake);
    await act(fake, id, { type: 'power_off' });
    expect(await stateOf(fake, id)).toBe('powering_off');
    await fake.advance(10 * SECOND);
    expect(await stateOf(fake, id)).toBe('inactive');
    await act(fake, id, { type: 'power_on' });
    await fake.advance(20 * SECOND - 1);
    expect(await stateOf(fake, id)).toBe('powering_on');
    await fake.advance(1);
    expect(await stateOf(fake, id)).toBe('active');
  });

  it('stays active over a reboot, and the event is there at once', async () => {
    const fake = await start();
    const id = await activeDevice(fake);
    await fake.advance(SECOND);
    await act(fake, id, { type: 'reboot' });
    const { body } = await clientOf(fake)('GET', `/devices/${id}/events?per_page=1`);
    expect(body['events']![0]).toMatchObject({
      type: expect.stringContaining('reboot'),
      created_at: '2026-08-01T10:04:06Z',
      relationships: [{ href: `/devices/${id}` }],
    });
    expect(await stateOf(fake, id)).toBe('active');
    const single = await clientOf(fake)('GET', `/events/${String(body['events']![0]!['id'])}`);
    expect(single.body['type']).toBe(body['events']![0]!['type']);
    const ofProject = await clientOf(fake)('GET', `/projects/${fake.projectId}/events`);
    expect(ofProject.body['events']![0]!['id']).toBe(body['events']![0]!['id']);
  });

  it.each([
    [false, 180],
    [true, 60],
  ])('is reinstalled (fast: %j) in %i s', async (deprovision_fast, seconds) => {
    const fake = await start();
    const id = await activeDevice(fake);
    await act(fake, id, { type: 'reinstall', operating_system: 'debian_12', deprovision_fast });
    await fake.advance(seconds * SECOND - 1);
    expect(await stateOf(fake, id)).toBe('reinstalling');
    await fake.advance(1);
    const after = await device(fake, id);
    expect([after['state'], after['operating_system']!['slug']]).toEqual(['active', 'debian_12']);
  });
});

describe('the inside view', () => {
  it('tells every change of state', async () => {
    const fake = await start();
    const seen: string[] = [];
    fake.events.on('change', (change) => {
      seen.push(`${change.kind} ${change.from ?? 'nothing'} > ${change.to}`);
    });
    const id = await activeDevice(fake);
    await clientOf(fake)('DELETE', `/devices/${id}`);
    await fake.advance(300 * SECOND);
    expect(seen).toEqual([
      'reservation free > in-use',
      'device nothing > queued',
      'device queued > provisioning',
      'device provisioning > active',
      'device active > deprovisioning',
      'device deprovisioning > deleted',
      'reservation in-use > cleaning',
      'reservation cleaning > free',
    ]);
  });

  it('is the same again for the same seed, and another for another', async () => {
    const run = async (seed: number) => {
      const fake = await start({ seed });
      await activeDevice(fake);
      return [fake.projectId, fake.devices(), fake.reservations()];
    };
    expect(await run(7)).toEqual(await run(7));
    expect(await run(7)).not.toEqual(await run(8));
  });

  it('refuses to advance a clock that is not manual', async () => {
    const fake = await start({ clock: 'real' });
    await expect(fake.advance(1)).rejects.toThrow('not manual');
  });

  it('runs by itself on the real clock', async () => {
    const fake = await start({ clock: 'real', profile: 'fast', timings: { provisioningMs: 20 } });
    const active = new Promise((resolve) => {
      fake.events.on('change', ({ to }) => to === 'active' && resolve(undefined));
    });
    await createDevice(fake);
    await active;
    expect(fake.devices()[0]!.state).toBe('active');
  });
});
