import { expect, test } from 'vitest';
import { leadsElsewhere } from '../../../../../src/adapters/provider/redfish/changes.ts';
import type { ClaimValue } from '../../../../../src/adapters/provider/redfish/install/claims.ts';
import { redfishDriver } from '../../../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../../../src/adapters/provider/redfish/settings.ts';
import { INSTANCE_SET_ID, driverContext } from '../../driver-stand.ts';
import { failureOf } from '../stand.ts';
import { type Installs, OTHER, startInstalls, WITNESS } from './stand.ts';

/** Has the record say something else, as another daemon's writing would. */
async function rewrite(rack: Installs, change: (claim: ClaimValue) => object): Promise<void> {
  const { key, value, version } = (await rack.record())!;
  const next = { ...(value as object), ...change(value as unknown as ClaimValue) } as typeof value;
  await rack.records.replace(key, next, version, rack.call());
}
const FAILED = { end: 'failed', atMs: 0, why: 'it says so', isTidy: false };

test('the image of another installation than the one that ended stays in its drive', async () => {
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

test('what is begun anew while a daemon tidies up after the end keeps its override and its image', async () => {
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
  expect(rack.log.count('an installation could not be tidied up')).toBe(1);
  expect(rack.system().boot.enabled).toBe('Once');
  expect(rack.media()[0]!.image).toBe(image);
  expect(tokenSha256).not.toBe('e'.repeat(64));
});

test('what is tidied up goes by how the machine was installed, not by how it would be now', async () => {
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

/** A creation whose daemon stopped when the machine was to be switched off. */
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

const NOT_TAKEN_BACK = 'what was prepared for an installation that failed is not taken back';

test.each([
  ['makes the override one for every boot', { type: 'override', does: 'lasting' }, {}],
  ['does not switch off', { type: 'status', code: 403 }, { match: { route: RESET } }],
] as const)(
  'D6: an installation on a BMC that %s leaves neither override nor medium in the running machine',
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

test('an override that stays is told, and the medium is taken out all the same', async () => {
  const rack = await startInstalls();
  await rack.boot();
  await rack.fault({ type: 'status', code: 403 }, { match: { route: RESET } });
  await rack.fault({ type: 'status', code: 403 }, { match: { method: 'PATCH', nth: 2 } });
  expect(await failureOf(rack.create())).toMatchObject({ outcome: 'unknown' });
  expect(rack.log.count(NOT_TAKEN_BACK)).toBe(1);
  expect(rack.media()[0]!.image).toBe(null);
});

test('a creation that stopped before its power-on, and that nobody takes up, is given up when its time is over', async () => {
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

test('the mark of a creation that is given up goes with it, and none is put on before it is under way', async () => {
  const rack = await startStopped();
  await rack.after(5 * 60_000);
  expect(rack.system().assetTag ?? '').toBe('');
  // As an earlier program did.
  const AssetTag = `shep:${INSTANCE_SET_ID}`;
  await rack.inTime(rack.raw.ask('PATCH', rack.path, { body: { AssetTag } }));
  expect(rack.system().assetTag).toBe(AssetTag);
  await rack.until(async () => (await rack.record()) === undefined);
  expect(rack.system().assetTag).toBe('');
  await rack.inTime(rack.provider.prepare!(rack.call()));
});

test('one that somebody takes up while it is being given up stays as it is', async () => {
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
