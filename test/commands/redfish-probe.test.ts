import { expect, test } from 'vitest';
import { probe, probeText } from '../../src/commands/redfish-probe.ts';
import { realClock } from '../../emulators/kit/clock.ts';
import { type Bmcs, ROOT, startBmcs } from '../emulators/redfish/harness.ts';

const TIMEOUT_MS = 10_000;

test('a probe without a login shows the certificate, and sends no credentials', async () => {
  const { fake } = await startBmcs({ vendor: 'idrac9', clock: realClock });
  const { url, certSha256 } = fake.bmcs()[0]!;
  const told = await probe({ url, timeoutMs: TIMEOUT_MS, login: null, certSha256: null });
  expect(told).toMatchObject({ certSha256, isTrusted: false, vendor: 'Dell', systems: null });
  expect(fake.requests().map(({ method, auth, path }) => `${method} ${path} ${auth}`)).toEqual([
    'GET /redfish/v1/ none',
  ]);
  expect(probeText(told)).toContain(certSha256);
});

test('a login is sent only to a certificate that somebody vouches for, and is ended', async () => {
  const { fake } = await startBmcs({ vendor: 'openbmc', clock: realClock });
  const { url, certSha256, systems } = fake.bmcs()[0]!;
  const { username, password } = fake.credentials;
  const asked = { url, timeoutMs: TIMEOUT_MS, login: { username, password } };
  await expect(probe({ ...asked, certSha256: null })).rejects.toThrow(certSha256);
  await expect(probe({ ...asked, certSha256: 'a'.repeat(64) })).rejects.toThrow(certSha256);
  const others = { ...asked, login: null, certSha256: 'a'.repeat(64) };
  await expect(probe(others)).rejects.toThrow('does not match --cert-sha256');
  expect(fake.requests()).toEqual([]);
  const told = await probe({ ...asked, certSha256 });
  const { serial, uuid, path } = systems[0]!;
  expect(told.systems).toMatchObject([{ path, serial, uuid, power: 'Off' }]);
  expect(told.systems![0]!.resets).toContain('ForceRestart');
  expect(told.systems![0]!.media.length).toBeGreaterThan(0);
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
  expect(probeText(told)).not.toContain(password);
});

/** With a login, of its only BMC. */
async function probed({ fake }: Bmcs) {
  const { url, certSha256 } = fake.bmcs()[0]!;
  const { username, password } = fake.credentials;
  return probe({ url, timeoutMs: TIMEOUT_MS, login: { username, password }, certSha256 });
}

test('a BMC that lacks parts of itself is shown all the same, with what is not there', async () => {
  const bmcs = await startBmcs({ vendor: 'openbmc', clock: realClock });
  const routes = ['Systems/{system}/ResetActionInfo', 'Managers/{manager}'];
  for (const route of routes) {
    await bmcs.fault({ type: 'status', code: 404 }, { match: { route: `${ROOT}/${route}` } });
  }
  const told = await probed(bmcs);
  const { serial, uuid, path } = bmcs.fake.bmcs()[0]!.systems[0]!;
  expect(told.systems).toMatchObject([{ path, serial, uuid, power: 'Off', media: [] }]);
  expect(told.systems![0]!.resets).toContain('ForceRestart');
  expect(told.unread).toEqual([
    expect.stringMatching(/ResetActionInfo .*404/),
    expect.stringMatching(/Managers\/bmc .*404/),
  ]);
  expect(probeText(told)).toMatch(/not shown .*ResetActionInfo/);
});

test('the service tag of a Dell is shown beside its serial number', async () => {
  const told = await probed(await startBmcs({ vendor: 'idrac9', clock: realClock }));
  const { serial, sku } = told.systems![0]!;
  expect(serial!.slice(0, 7)).toBe(sku);
  expect(probeText(told)).toContain(`sku        ${sku}`);
});
