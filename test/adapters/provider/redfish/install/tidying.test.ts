import { expect, test, vi } from 'vitest';
import { createMemoryRecords } from '../../../../../src/adapters/driver-kit/memory-shell.ts';
import { leadsElsewhere } from '../../../../../src/adapters/provider/redfish/changes.ts';
import { redfishDriver } from '../../../../../src/adapters/provider/redfish/driver.ts';
import {
  createClaims,
  type ClaimValue,
} from '../../../../../src/adapters/provider/redfish/install/claims.ts';
import { createSealing } from '../../../../../src/adapters/provider/redfish/install/seed-service.ts';
import type { Settings } from '../../../../../src/adapters/provider/redfish/settings.ts';
import { providerName } from '../../../../../src/domain/ids.ts';
import { createSeededRandom } from '../../../../doubles/simulated-clock.ts';
import { INSTANCE_SET_ID, driverContext } from '../../driver-stand.ts';
import { failureOf } from '../stand.ts';
import { OTHER, startInstalls, WITNESS, type Installs } from './stand.ts';

/** Changes the record as another daemon's write would. */
async function rewrite(rack: Installs, change: (claim: ClaimValue) => object): Promise<void> {
  const { key, value, version } = (await rack.record())!;
  const next = { ...(value as object), ...change(value as unknown as ClaimValue) } as typeof value;
  await rack.records.replace(key, next, version, rack.call());
}
const FAILED = { end: 'failed', atMs: 0, why: 'it says so', isTidy: false };

test('keeps the image of another installation than the ended one in its drive', async () => {
  const rack = await startInstalls();
  await rack.create();
  const { image } = rack.media()[0]!;
  await rewrite(rack, ({ install }) => ({
    install: { ...install, tokenSha256: 'f'.repeat(64), sealed: null },
    result: FAILED,
  }));
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  expect(rack.media()[0]!.image).toBe(image);
});

test('keeps override and image of a new installation while another daemon cleans up the old one', async () => {
  const rack = await startInstalls();
  await rack.fault({ type: 'override', does: 'sticky' });
  await rack.create();
  const { image } = rack.media()[0]!;
  const tokenSha256 = (await rack.claim())!.install.tokenSha256;
  await rewrite(rack, ({ install }) => ({ install: { ...install, sealed: null }, result: FAILED }));
  const rule = { match: { method: 'GET' } };
  await rack.fault({ type: 'latency', ms: 20_000 }, rule);
  const gets = rack.sent('GET').length;
  await rack.until(() => rack.sent('GET').length > gets);
  await rewrite(rack, ({ install }) => ({ install, result: null }));
  await rewrite(rack, ({ install }) => ({ install: { ...install, tokenSha256: 'e'.repeat(64) } }));
  await rack.after(5 * 60_000);
  expect(rack.log.count('the cleanup after an installation failed')).toBe(1);
  expect(rack.system().boot.enabled).toBe('Once');
  expect(rack.media()[0]!.image).toBe(image);
  expect(tokenSha256).not.toBe('e'.repeat(64));
});

test('cleans up by the way of the actual installation, not of the present configuration', async () => {
  const rack = await startInstalls();
  await rack.create();
  await rack.inTime(rack.provider.stop());
  const install = { method: 'pxe' as const, seedListen: { host: '127.0.0.1', port: 0 } };
  const { iso: _none, ...others } = rack.settings.install!;
  const settings = { ...rack.settings, install: { ...others, ...install } } as Settings;
  const { clock, log, network, records } = rack;
  const second = redfishDriver.open(
    settings,
    driverContext('rack', { clock, log, network, records }),
  );
  await rack.inTime(second.listMachines({}, rack.call()));
  await rewrite(rack, ({ install: of }) => ({ install: { ...of, sealed: null }, result: FAILED }));
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  expect(rack.media()[0]!.image).toBe(null);
  await rack.inTime(second.stop());
});

const RESET = '/redfish/v1/Systems/{system}/Actions/ComputerSystem.Reset';

/** A creation whose daemon stopped just before the power-off. */
async function startStopped(): Promise<Installs> {
  const settings = { ownerMark: 'assetTag' };
  const rack = await startInstalls({ install: { window: '10m' }, settings });
  await rack.boot();
  const match = { route: RESET };
  await rack.fault({ type: 'hang', phase: 'before' }, { id: 'death', match, times: 1 });
  const mortal = rack.open();
  const call = rack.call({ operationId: WITNESS });
  const ended = failureOf(mortal.createMachine(await rack.request(), call));
  await rack.until(() => rack.fake.faults().some(({ applied }) => applied > 0));
  await rack.inTime(mortal.stop());
  expect(await ended).toMatchObject({ outcome: 'unknown' });
  expect((await rack.claim())?.install.phase).toBe('poweringOff');
  expect(rack.media()[0]!.image).not.toBe(null);
  return rack;
}

const NOT_TAKEN_BACK = 'the preparation of a failed installation could not be undone';

test.each([
  ['makes the override one for every boot', { type: 'override', does: 'lasting' }, {}],
  ['does not switch off', { type: 'status', code: 403 }, { match: { route: RESET } }],
] as const)(
  'D6: leaves neither override nor medium in the running machine on a BMC that %s',
  async (_what, effect, rest) => {
    const rack = await startInstalls();
    await rack.boot();
    await rack.fault(effect, rest);
    expect(await failureOf(rack.create())).toMatchObject({ outcome: 'unknown' });
    expect(rack.media()[0]!.image).toBe(null);
    expect(leadsElsewhere({ ...rack.system().boot, targets: null })).toBe(false);
    expect(rack.system().power).toBe('On');
    expect(rack.log.count(NOT_TAKEN_BACK)).toBe(0);
  },
);

test('reports an override that stays, and removes the medium all the same', async () => {
  const rack = await startInstalls();
  await rack.boot();
  await rack.fault({ type: 'status', code: 403 }, { match: { route: RESET } });
  await rack.fault({ type: 'status', code: 403 }, { match: { method: 'PATCH', nth: 2 } });
  expect(await failureOf(rack.create())).toMatchObject({ outcome: 'unknown' });
  expect(rack.log.count(NOT_TAKEN_BACK)).toBe(1);
  expect(rack.media()[0]!.image).toBe(null);
});

test('gives up an abandoned creation that stopped before its power-on when its time is over', async () => {
  const rack = await startStopped();
  await rack.after(8 * 60_000);
  expect(await rack.free()).toMatchObject({ id: null, availability: 'KnownUnused' });
  expect(await failureOf(rack.create({}, OTHER))).toMatchObject({ kind: 'race-lost' });
  await rack.until(async () => (await rack.record()) === undefined);
  expect(rack.media()[0]!.image).toBe(null);
  expect(rack.system()).toMatchObject({ power: 'On', boot: { enabled: 'Disabled' } });
  rack.fake.clearFaults();
  expect(await rack.create({}, OTHER)).toMatchObject({ id: 'system-1.33334444' });
});

test('removes the mark with an abandoned creation, and sets none before a creation is under way', async () => {
  const rack = await startStopped();
  await rack.after(5 * 60_000);
  expect(rack.system().assetTag ?? '').toBe('');
  // Like an earlier program version.
  const AssetTag = `shep:${INSTANCE_SET_ID}`;
  await rack.inTime(rack.raw.ask('PATCH', rack.path, { body: { AssetTag } }));
  expect(rack.system().assetTag).toBe(AssetTag);
  await rack.until(async () => (await rack.record()) === undefined);
  expect(rack.system().assetTag).toBe('');
  await rack.inTime(rack.provider.prepare!(rack.call()));
});

test('keeps a creation that is resumed while it is being given up', async () => {
  const rack = await startStopped();
  const { image } = rack.media()[0]!;
  await rack.after(9 * 60_000);
  await rack.fault({ type: 'latency', ms: 20_000 }, { match: { method: 'GET' } });
  const { deadlineMs } = (await rack.claim())!.install;
  await rack.until(() => rack.clock.now() >= deadlineMs);
  const gets = rack.sent('GET').length;
  await rack.until(() => rack.sent('GET').length > gets);
  await rewrite(rack, ({ install }) => ({
    install: { ...install, deadlineMs: install.deadlineMs + 3_600_000 },
  }));
  await rack.after(5 * 60_000);
  expect(rack.media()[0]!.image).toBe(image);
  expect(rack.system().boot.enabled).toBe('Once');
  expect(await rack.record()).not.toBe(undefined);
});

const FOREIGN = 'shep:othe1-othe1-othe1othe1othe1';

test("does not install a machine with another fleet's mark that was not read before", async () => {
  const rack = await startInstalls({ settings: { powerPoll: '2h' } });
  const request = await rack.request();
  await rack.inTime(rack.raw.ask('PATCH', rack.path, { body: { AssetTag: FOREIGN } }));
  const call = rack.call({ operationId: WITNESS });
  const made = rack.inTime(rack.provider.createMachine(request, call));
  expect(await failureOf(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(rack.resets()).toEqual([]);
  expect(rack.sent('PATCH')).toHaveLength(1);
  expect(await rack.claim()).toBeUndefined();
});

test('prepares a rack without records despite a hanging BMC', async () => {
  const rack = await startInstalls({ systems: 2 });
  await rack.fault({ type: 'hang', phase: 'before' }, { match: { bmc: 'bmc-2' } });
  const limit = new AbortController();
  const timer = rack.clock.setTimeout(() => limit.abort(new Error('its time is over')), 30_000);
  await rack.inTime(rack.provider.prepare!(rack.call({ signal: limit.signal })));
  rack.clock.clearTimeout(timer);
  expect(rack.log.count('not all machines showed whether they carry a mark')).toBe(1);
});

test('shows a claim although a read of the records began before it', async () => {
  const rack = await startInstalls();
  await rack.create();
  const claim = (await rack.record())!.value as unknown as ClaimValue;
  const table = createMemoryRecords(createSeededRandom(7))(providerName('rack'));
  const signal = new AbortController().signal;
  const slow = Promise.withResolvers<void>();
  const claims = createClaims({
    ...table,
    async all(options) {
      const all = await table.all(options);
      await slow.promise;
      return all;
    },
  });
  const reading = claims.read(signal);
  await claims.make('system-1', claim, signal);
  slow.resolve();
  await reading;
  expect(claims.known().claims.get('system-1')).toMatchObject({ witness: WITNESS });
  const { claims: later } = await claims.read(signal);
  await claims.drop(later.get('system-1')!, signal);
  expect((await claims.read(signal)).claims.size).toBe(0);
});

test('does not restart a hanging BMC while a machine behind it is being installed', async () => {
  const rack = await startInstalls({ install: { window: '4h' }, settings: { bmcReset: true } });
  await rack.prepare();
  await rack.after(120_000);
  await rack.create();
  await rack.fault({ type: 'bmcHangs' });
  await rack.after(3_600_000);
  const id = 'system-1.11112222';
  expect((await rack.get(id)).controller).toMatchObject({ hangs: true });
  const restarted = rack.inTime(rack.provider.resetController!(id, rack.call()));
  expect(await failureOf(restarted)).toMatchObject({
    kind: 'conflict',
    text: expect.stringContaining('is being installed') as string,
  });
  expect(rack.sent('POST').filter(({ route }) => route.endsWith('Manager.Reset'))).toEqual([]);
});

test('shows a claimed machine without an entry, does not change it, and releases it when given back', async () => {
  const rack = await startInstalls({ systems: 2, settings: { refresh: '1m' } });
  const { provider, inTime, call } = rack;
  const { id } = await rack.create();
  await rack.ask(`/s/${rack.token()}/done`, 'POST');
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  const entries = JSON.parse(rack.page.text) as object[];
  rack.page.text = JSON.stringify(entries.slice(1));
  await rack.after(61_000);

  const { machines, complete, unreadable } = await rack.list();
  expect([complete, unreadable]).toEqual([true, []]);
  const away = machines.find((machine) => machine.id === id);
  expect(away).toMatchObject({
    reservationId: 'system-1',
    availability: 'KnownUsed',
    plan: 'redfish',
    power: 'unknown',
    status: 'Unknown',
    tags: rack.tagsOf('11112222-0000-4000-8000-000000000001'),
  });
  expect(await rack.get(id!)).toEqual(away);
  await rack.list();
  expect(rack.log.count('a claimed machine is no longer in the inventory')).toBe(1);

  const sent = rack.fake.requests().length;
  const refused = await failureOf(inTime(provider.rebootMachine(id!, 'force', call())));
  expect(refused).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(refused.text).toContain('restore the entry');
  expect(await inTime(provider.isReusable!('system-1', call()))).toBe(false);
  await inTime(provider.deprovisionMachine(id!, call()));
  expect(await rack.claim()).toBeUndefined();
  expect(rack.fake.requests()).toHaveLength(sent);
  expect((await rack.list()).machines).toHaveLength(1);
});

const STRANGER = `/s/${'b'.repeat(52)}`;

test('reads the records rarely for strangers who request seeds, and blocks nobody', async () => {
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

test('finds a claim that another daemon made just now', async () => {
  const rack = await startInstalls();
  await rack.free();
  await rack.ask(`${STRANGER}/user-data`);
  const second = rack.open();
  await rack.create({}, undefined, second);
  expect((await rack.ask(`/s/${rack.token()}/user-data`)).status).toBe(200);
});

test('opens a seed only with the configured secret, and for its own machine', () => {
  const sealing = createSealing(() => 'k'.repeat(43), 'rack');
  const sealed = sealing.seal('the seed', 'srv-1');
  expect(sealed).not.toContain('seed');
  expect(sealing.open(sealed, 'srv-1')).toBe('the seed');
  expect(sealing.open(sealed, 'srv-2')).toBe(null);
  expect(createSealing(() => 'x'.repeat(43), 'rack').open(sealed, 'srv-1')).toBe(null);
  expect(createSealing(() => 'k'.repeat(43), 'other').open(sealed, 'srv-1')).toBe(null);
});

test('reports once that a distant host requests the seed of a machine', async () => {
  const rack = await startInstalls({ entry: () => ({ Addr: '192.0.2.7' }) });
  const far = () => rack.log.count('a seed was requested from another network than its machine’s');
  await rack.create();
  const path = `/s/${rack.token()}`;
  for (const which of ['meta-data', 'user-data', 'user-data']) {
    expect((await rack.ask(`${path}/${which}`)).status).toBe(200);
  }
  expect(far()).toBe(1);
});
