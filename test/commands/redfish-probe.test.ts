import { expect, test } from 'vitest';
import { probe, probeText } from '../../src/commands/redfish-probe.ts';
import { realClock } from '../../src/simulator/fakequinix/time/clock.ts';
import { startFish } from '../simulator/fakefish/harness.ts';

const TIMEOUT_MS = 10_000;

test('a probe without a login shows the certificate, and sends no credentials', async () => {
  const { fake } = await startFish({ profile: 'idrac9', clock: realClock });
  const { url, certSha256 } = fake.bmcs()[0]!;
  const told = await probe({ url, timeoutMs: TIMEOUT_MS, login: null, certSha256: null });
  expect(told).toMatchObject({ certSha256, isTrusted: false, vendor: 'Dell', systems: null });
  expect(fake.requests().map(({ method, auth, path }) => `${method} ${path} ${auth}`)).toEqual([
    'GET /redfish/v1/ none',
  ]);
  expect(probeText(told)).toContain(certSha256);
});

test('a login is sent only to a certificate that somebody vouches for, and is ended', async () => {
  const { fake } = await startFish({ profile: 'openbmc', clock: realClock });
  const { url, certSha256, systems } = fake.bmcs()[0]!;
  const { username, password } = fake.credentials;
  const asked = { url, timeoutMs: TIMEOUT_MS, login: { username, password } };
  await expect(probe({ ...asked, certSha256: null })).rejects.toThrow(certSha256);
  await expect(probe({ ...asked, certSha256: 'a'.repeat(64) })).rejects.toThrow(certSha256);
  const others = { ...asked, login: null, certSha256: 'a'.repeat(64) };
  await expect(probe(others)).rejects.toThrow('not the one of --cert-sha256');
  expect(fake.requests()).toEqual([]);
  const told = await probe({ ...asked, certSha256 });
  const { serial, uuid, path } = systems[0]!;
  expect(told.systems).toMatchObject([{ path, serial, uuid, power: 'Off' }]);
  expect(told.systems![0]!.resets).toContain('ForceRestart');
  expect(told.systems![0]!.media.length).toBeGreaterThan(0);
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
  expect(probeText(told)).not.toContain(password);
});
