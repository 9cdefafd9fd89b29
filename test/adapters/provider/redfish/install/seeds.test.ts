import { expect, test, vi } from 'vitest';
import { createSealing } from '../../../../../src/adapters/provider/redfish/install/seed-desk.ts';
import { startInstalls } from './stand.ts';

const STRANGER = `/s/${'b'.repeat(52)}`;

test('strangers who ask for seeds share few readings of the records, and hold nobody up', async () => {
  const rack = await startInstalls();
  await rack.create();
  const { mac } = rack.system();
  const readings = vi.spyOn(rack.records, 'all');
  const asked = Array.from({ length: 40 }, (_, n) => {
    if (n % 4 === 0) return rack.ask(`/m/${mac.replace(/..$/, 'ff')}/ipxe`);
    return rack.ask(`${STRANGER}/${n % 2 ? 'user-data' : 'done'}`, n % 2 ? 'GET' : 'POST');
  });
  const answers = await Promise.all(asked);
  expect(answers.every(({ status }) => status === 404)).toBe(true);
  expect(readings.mock.calls.length).toBeLessThanOrEqual(4);
  const startMs = rack.clock.monotonic();
  expect((await rack.ask(`/s/${rack.token()}/user-data`)).status).toBe(200);
  expect(rack.clock.monotonic() - startMs).toBeLessThan(1_000);
});

test('a claim that another daemon made just now is found', async () => {
  const rack = await startInstalls();
  await rack.free();
  await rack.ask(`${STRANGER}/user-data`);
  const second = rack.open();
  await rack.create({}, undefined, second);
  expect((await rack.ask(`/s/${rack.token()}/user-data`)).status).toBe(200);
});

test('a seed is opened with the secret of the configuration alone, and for its own machine', () => {
  const sealing = createSealing(() => 'k'.repeat(43), 'rack');
  const sealed = sealing.seal('the seed', 'srv-1');
  expect(sealed).not.toContain('seed');
  expect(sealing.open(sealed, 'srv-1')).toBe('the seed');
  expect(sealing.open(sealed, 'srv-2')).toBe(null);
  expect(createSealing(() => 'x'.repeat(43), 'rack').open(sealed, 'srv-1')).toBe(null);
  expect(createSealing(() => 'k'.repeat(43), 'other').open(sealed, 'srv-1')).toBe(null);
});

test('a password of a BMC that is changed meanwhile spoils no installation', async () => {
  const rack = await startInstalls();
  await rack.create();
  rack.env['BMC_PASSWORD'] = 'another one';
  expect((await rack.ask(`/s/${rack.token()}/user-data`)).status).toBe(200);
});

test('that somebody far from the machine asks for its seed is said once', async () => {
  const rack = await startInstalls({ entry: () => ({ Addr: '192.0.2.7' }) });
  const far = () =>
    rack.log.count('a seed is asked for from another network than that of its machine');
  await rack.create();
  const path = `/s/${rack.token()}`;
  for (const which of ['meta-data', 'user-data', 'user-data']) {
    expect((await rack.ask(`${path}/${which}`)).status).toBe(200);
  }
  expect(far()).toBe(1);
});
