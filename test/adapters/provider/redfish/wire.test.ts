import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import {
  errorOf,
  isOwnPath,
  locationOf,
  readReply,
} from '../../../../src/adapters/provider/redfish/client/errors.ts';
import { redfishDriver } from '../../../../src/adapters/provider/redfish/driver.ts';
import { parseInventory } from '../../../../src/adapters/provider/redfish/entries.ts';
import type { Settings } from '../../../../src/adapters/provider/redfish/settings.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { UsageError } from '../../../../src/domain/errors.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { testRows } from '../../../support/rows.ts';
import { driverContext } from '../driver-stand.ts';
import { failureOf, startRack, refusing } from './stand.ts';

const SYSTEM = '/redfish/v1/Systems/{system}';
const PXE = { BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Pxe' };
const same = (text: string) => text;

test.each(['weak', 'refused'] as const)(
  'vectors 17 and 18: clears a permanent override before a reboot on a BMC whose ETags are %s',
  async (does) => {
    const rack = await startRack();
    await rack.boot();
    await rack.raw.override(PXE);
    await rack.fault({ type: 'etag', does });
    await rack.reboot();
    const changes = rack.fake.requests().filter(({ method }) => method !== 'GET');
    const told = changes.slice(-3).map(({ method, status }) => `${method} ${status}`);
    expect(told).toEqual(['PATCH 412', 'PATCH 200', 'POST 204']);
    expect(changes.at(-2)!.body).toEqual({ Boot: { BootSourceOverrideEnabled: 'Disabled' } });
    expect(rack.system().boot.enabled).toBe('Disabled');
  },
);

test('adds a slash to a link if the BMC requires one, and only for reads', async () => {
  const rack = await startRack({ vendor: 'ilo5' });
  await rack.power('on');
  const statuses = rack.sent('GET').map(({ status }) => status);
  expect(statuses.filter((status) => status === 308)).toHaveLength(1);
  expect(rack.resets()).toEqual(['On']);
  expect(rack.sent('POST').map(({ status }) => status)).not.toContain(308);
});

test('does not follow a redirect to another host, so that the token stays here', async () => {
  const [rack, other] = [await startRack(), await startRack()];
  const headers = { location: `${other.fake.bmcs()[0]!.url}${rack.path}` };
  await rack.fault({ type: 'status', code: 307, headers });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'permanent' });
  expect(other.fake.requests()).toEqual([]);
});

test('repeats without the header against compression if the BMC refuses it', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'identityRefused' });
  await rack.power('on');
  expect(rack.sent('GET').filter(({ status }) => status === 406)).toHaveLength(1);
});

test.each(['truncated', 'html', 'notJson', 'wrongType'] as const)(
  'changes nothing, and loses no machine, if the answers of a BMC are %s',
  async (kind) => {
    const rack = await startRack();
    await rack.fault({ type: 'garbage', kind }, { match: { method: 'GET', route: SYSTEM } });
    const failure = await failureOf(rack.power('on'));
    expect(failure.kind).toMatch(/transient|permanent/);
    expect(rack.resets()).toEqual([]);
    expect(await rack.get()).toMatchObject({ id: 'system-1', power: 'unknown' });
    expect((await rack.list()).complete).toBe(true);
  },
);

test('judges an unreadable answer to a change by the state', async () => {
  const rack = await startRack();
  await rack.fault(
    { type: 'garbage', kind: 'html' },
    { match: { route: `${SYSTEM}/Actions/ComputerSystem.Reset` } },
  );
  await rack.power('on');
  expect(rack.resets()).toEqual(['On']);
});

test('reports an unlicensed function as not implemented, and everything else works', async () => {
  const reply = readReply(
    {
      status: 403,
      headers: {},
      text: JSON.stringify({
        error: { '@Message.ExtendedInfo': { MessageId: 'SMC.1.0.OemLicenseNotPassed' } },
      }),
    },
    '/redfish/v1/x',
    same,
  );
  const error = errorOf(reply, { doing: 'POST', changing: true, nowMs: 0 });
  expect(error).toMatchObject({ kind: 'not-implemented', outcome: 'not-done' });
});

test.each([
  ['/redfish/v1/Systems/1', true],
  ['/redfish/v1/Systems/1/', true],
  ['/redfish/v1/Systems/437XR1138R2', true],
  ['https://elsewhere/redfish/v1', false],
  ['//elsewhere/redfish/v1', false],
  ['/redfish/../admin', false],
  ['/redfish/v1/%2e%2e/x', false],
  ['/redfish/v1//Systems', false],
  ['/cgi-bin/x', false],
  ['/redfish/v1/a\r\nX: y', false],
  ['/redfish/v1/Chassis#/Power', false],
])('decides whether %s may be requested: %s', (path, may) => {
  expect(isOwnPath(path)).toBe(may);
});

test.each([
  ['/redfish/v1/TaskService/Tasks/1', '/redfish/v1/TaskService/Tasks/1'],
  ['https://bmc.example:8443/redfish/v1/T/1', '/redfish/v1/T/1'],
  ['https://other.example/redfish/v1/T/1', null],
  ['https://u:p@bmc.example:8443/redfish/v1/T/1', null],
  [undefined, null],
])('reads the location %s as %s', (location, path) => {
  expect(locationOf(location, 'https://bmc.example:8443')).toBe(path);
});

testRows([
  ['too long', `{"Name":"${'x'.repeat(512 * 1024)}"}`, /larger than 512 KiB/],
  ['too deep', '['.repeat(400_000), /not a JSON object/],
])('refuses a BMC whose reply is %s', async (_, body, why) => {
  const rack = await startRack();
  await rack.fault({ type: 'status', code: 200, body }, { match: { route: '/redfish/v1' } });
  const failure = await failureOf(rack.power('on'));
  expect(failure.text).toMatch(why);
});

const MINUTE = 60_000;
const LOGIN = { method: 'POST', route: '/redfish/v1/SessionService/Sessions' };
const FULL = refusing(503, 'RAC0218');

testRows([
  ['is not the one of the inventory', {}, { type: 'certificate' }],
  ['nobody vouches for', { entry: () => ({ CertSha256: undefined }) }, null],
] as const)(
  'vector 3: reports the hash of a certificate that %s, and sends nothing',
  async (_, options, fault) => {
    const rack = await startRack({ wire: systemClock, ...options });
    if (fault) await rack.fault(fault);
    const failure = await failureOf(rack.reboot());
    expect(failure).toMatchObject({ kind: 'auth', outcome: 'not-done' });
    expect(failure.text).toContain(rack.fake.bmcs()[0]!.certSha256);
    expect(rack.fake.requests()).toEqual([]);
  },
);

test('vector 4: replaces a session that the BMC forgot by one, and repeats the request once', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.get();
  await rack.after(11 * MINUTE);
  await rack.fault({ type: 'sessionsForgotten' });
  const seq = rack.fake.requests().at(-1)!.seq;
  expect(await rack.get()).toMatchObject({ power: 'on' });
  const later = rack.fake.requests(seq).map(({ method, status }) => `${method} ${status}`);
  expect(later.filter((one) => one === 'POST 201')).toHaveLength(1);
  expect(later.filter((one) => one.startsWith('GET 401'))).toHaveLength(1);
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 1, sessionsMost: 1 });
});

test('vector 5: repeats a refused login only after its pause, or with another secret', async () => {
  const rack = await startRack({ secret: 'wrong-password' });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  const { length } = rack.fake.requests();
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  await rack.after(9 * MINUTE);
  expect(await failureOf(rack.power('off'))).toMatchObject({ kind: 'auth' });
  expect(rack.fake.requests()).toHaveLength(length);
  await rack.after(2 * MINUTE);
  expect(await failureOf(rack.power('off'))).toMatchObject({ kind: 'auth' });
  expect(rack.fake.requests().length).toBeGreaterThan(length);
  rack.env['BMC_PASSWORD'] = rack.fake.credentials.password;
  await rack.power('off');
});

test('vector 6: uses Basic for a while in mode auto when all sessions are taken', async () => {
  const rack = await startRack({});
  await rack.fault(FULL, { match: LOGIN, times: 1 });
  await rack.power('on');
  expect(rack.sent('GET').at(-1)).toMatchObject({ auth: 'basic', status: 200 });
  await rack.after(6 * MINUTE);
  await rack.power('off');
  expect(rack.sent('POST').at(-1)).toMatchObject({ auth: 'session' });
});

test('vector 6: waits five minutes in mode session when all sessions are taken', async () => {
  const rack = await startRack({ settings: { auth: 'session' } });
  await rack.fault(FULL, { match: LOGIN });
  const failure = await failureOf(rack.reboot());
  expect(failure).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  const inMs = failure.rateLimit!.retryAt.getTime() - rack.clock.now();
  expect(Math.round(inMs / MINUTE)).toBe(5);
});

test('vector 7: uses Basic after a login without a token, or gives up', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'noToken' });
  await rack.power('on');
  expect(rack.sent('POST').at(-1)).toMatchObject({ auth: 'basic', status: 204 });
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });

  const strict = await startRack({ settings: { auth: 'session' } });
  await strict.fault({ type: 'noToken' });
  expect(await failureOf(strict.power('on'))).toMatchObject({ kind: 'permanent' });
  expect(strict.fake.bmcs()[0]!.sessions).toBe(0);
});

test('vector 35: ends three sessions on stop by three requests', async () => {
  const rack = await startRack({ systems: 3 });
  for (const id of ['system-1', 'system-2', 'system-3']) await rack.get(id);
  expect(rack.fake.bmcs().map(({ sessions }) => sessions)).toEqual([1, 1, 1]);
  const startMs = rack.clock.monotonic();
  await rack.inTime(rack.provider.stop());
  expect(rack.sent('DELETE')).toHaveLength(3);
  expect(rack.fake.bmcs().map(({ sessions }) => sessions)).toEqual([0, 0, 0]);
  expect(rack.clock.monotonic() - startMs).toBeLessThanOrEqual(10_000);
  expect(await failureOf(rack.get())).toMatchObject({ kind: 'stopped' });
});

test('vector 35: does not wait on stop for a BMC that does not answer', async () => {
  const rack = await startRack();
  await rack.get();
  await rack.fault({ type: 'hang', phase: 'before' });
  const startMs = rack.clock.monotonic();
  await rack.inTime(rack.provider.stop());
  expect(rack.clock.monotonic() - startMs).toBeLessThanOrEqual(10_000);
});

const OWN = '/redfish/v1/SessionService/Sessions/1';

test.each([`https://ilo.rack.example${OWN}`, OWN, 'https://elsewhere.example/else'])(
  'ends a session at its own BMC, whatever location the BMC reports: %s',
  async (location) => {
    const rack = await startRack();
    await rack.fault({ type: 'headers', headers: { location } }, { match: LOGIN });
    await rack.get();
    await rack.inTime(rack.provider.stop());
    expect(rack.sent('DELETE').map(({ path, status }) => [path, status])).toEqual([[OWN, 204]]);
  },
);

test('repeats a wrong password that a BMC answers with 400 only after the pause', async () => {
  const rack = await startRack();
  await rack.fault(refusing(400, 'UnauthorizedLoginAttempt'), { match: LOGIN });
  await failureOf(rack.reboot());
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  expect(rack.sent('POST')).toHaveLength(1);
});

test('ends the session of a login whose caller leaves', async () => {
  const rack = await startRack({ settings: { powerPoll: '2h' } });
  await rack.fault({ type: 'latency', ms: 1_000 }, { match: LOGIN });
  const leaving = new AbortController();
  rack.clock.setTimeout(() => leaving.abort(new Error('left')), 500);
  const how = rack.call({ signal: leaving.signal });
  expect(await failureOf(rack.power('on', how))).toMatchObject({ kind: 'aborted' });
  await rack.after(5_000);
  await rack.power('on');
  await rack.inTime(rack.provider.stop());
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
});

test('sends one request at a time over one session from each of two daemons on a rack, under any load', async () => {
  const rack = await startRack({ systems: 4, bmcs: 2, settings: { powerPoll: '1m' } });
  await rack.fault({ type: 'latency', ms: 50 });
  const ids = Array.from({ length: 4 }, (_, n) => `system-${n + 1}`);
  const ask = (provider: typeof rack.provider) =>
    Promise.all([
      provider.prepare!(rack.call()),
      ...ids.map((id) => provider.getMachine(id, rack.call())),
      ...ids.map((id) => provider.setPower!(id, 'on', rack.call())),
    ]);
  const most = () => rack.fake.bmcs().map((bmc) => [bmc.requestsMost, bmc.sessionsMost]);
  await rack.inTime(ask(rack.provider));
  expect(most()).toEqual([
    [1, 1],
    [1, 1],
  ]);
  await rack.after(5_000);
  const other = rack.open();
  await rack.inTime(Promise.all([ask(rack.provider), ask(other)]));
  for (const counts of most()) expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  expect(rack.resets()).toEqual(['On', 'On', 'On', 'On']);
});

const env = {
  ...{ BMC_PASSWORD: 'x', OLD_BMC_PASSWORD: 'y', WEAK: 'calvin', SEED_KEY: 's'.repeat(43) },
};
const around = { env, baseDirectory: '/', checkFiles: false };
const blocksOf = (name: string, language: string) => {
  const page = readFileSync(`docs/${name}.md`, 'utf8');
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(
    ([, text]) => text!,
  );
};
type Section = Readonly<Record<string, unknown>>;
const sectionsOf = (name: string) =>
  blocksOf(name, 'yaml').flatMap((text) =>
    Object.values((parse(text) as { providers: Record<string, Section> }).providers),
  );

test('has complete and valid configurations in redfish.md', () => {
  const sections = sectionsOf('redfish');
  expect(sections.map((section) => 'install' in section)).toEqual([false, true]);
  for (const section of sections) {
    expect(providerSchema(around).parse(section)).toMatchObject({ driver: 'redfish' });
  }
});

test('has a valid inventory on the page', () => {
  const [text] = blocksOf('redfish', 'json');
  const named = { credentials: new Set(['default', 'old']), passwords: new Set<string>() };
  expect(parseInventory(text!, named).map(({ id }) => id)).toEqual(['srv-1', 'blade-3']);
  expect(() => parseInventory(text!, { ...named, credentials: new Set(['default']) })).toThrow(
    UsageError,
  );
});

const IMAGE = { url: 'http://images.test/debian.raw', sha256: 'ab'.repeat(32) };

/** From the page, with its installation changed, by an ISO of the site's own. */
function installing(change: Section = {}) {
  const iso = 'http://images.test/{token}/a.iso';
  const ours = { iso, installer: undefined, image: undefined };
  const [, { driver: _, instanceSetId: _id, ...own } = {}] = sectionsOf('redfish');
  return { ...own, install: { ...(own['install'] as object), ...ours, ...change } };
}

test.each([
  [{ iso: undefined }, /^install\.iso is missing; vmedia needs it/],
  [{ method: 'uefihttp' }, /^install\.bootUri is missing; uefihttp needs it/],
  [{ iso: 'http://images.test/a.iso?token={token}' }, /^install\.iso .*without credentials/],
  [{ installer: '/installer', seedUrl: 'http://seed' }, /^install\.image is missing/],
  [{ installer: '/installer', image: IMAGE, seedUrl: undefined }, /^install\.seedUrl is missing/],
  [{ image: { ...IMAGE, sha256: undefined } }, /^install\.image\.sha256 is missing/],
  [{ seedKey: undefined }, /^install\.seedKey is missing/],
  [{ seedKey: '${WEAK}' }, /^install\.seedKey is shorter than 32.*openssl rand/],
  [{ method: 'floppy' }, /^install\.method .*vmedia, uefihttp, pxe/],
])('refuses %j, and names its place', (change, complaint) => {
  const { error } = redfishDriver.settings(around).safeParse(installing(change));
  const told = error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  expect(told).toEqual([expect.stringMatching(complaint)]);
});

test('opens a driver for a configuration check without a wait', async () => {
  const clock = createSimulatedClock();
  const settings = redfishDriver.settings(around).parse(installing()) as Settings;
  const provider = redfishDriver.open(settings, driverContext('rack', { clock }));
  expect(clock.pending).toBe(0);
  await provider.stop();
});

test('installs nothing from an inventory without serial numbers', () => {
  const list = JSON.stringify([{ ID: 'a1', Bmc: 'https://bmc.test', Addr: '192.0.2.1' }]);
  const named = { credentials: new Set(['default']), passwords: new Set<string>() };
  expect(() => parseInventory(list, { ...named, install: { needsMac: true } })).toThrow(
    /"a1": Serial or Uuid is missing.*"a1": Mac is missing/,
  );
  expect(parseInventory(list, named)).toHaveLength(1);
});
