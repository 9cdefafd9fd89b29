import { expect, test } from 'vitest';
import type { Boot } from '../../../emulators/redfish/power.ts';
import { testRows } from '../../support/rows.ts';
import { DISC, eject, type Fish, IMAGE, insert, messagesOf, ROOT, startFish } from './harness.ts';

const disc = async ({ ask }: Fish) => (await ask('GET', DISC)).body;
const rename = ({ ask, path }: Fish, tag = 'rack-7', headers = {}) =>
  ask('PATCH', path, { body: { AssetTag: tag }, headers });
const tagOf = async ({ system }: Fish) => (await system())['AssetTag'];
const powerOf = ({ fake }: Fish) => fake.bmcs()[0]!.systems[0]!.power;
const ONCE_PXE = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' };
const CUT = /socket hang up|ECONNRESET|socket disconnected/;

/**
 * What each fault does, and that it does no more than that. Of those that are missing the tests of the driver
 * show what they do, and `every-emulator.test.ts`.
 */
const FAULTS: Readonly<Record<string, (fish: Fish) => Promise<void>>> = {
  'fault 9: locked out after three wrong logins': async (fish) => {
    await fish.fault({ type: 'lockout', after: 3, ms: 60_000 });
    for (let n = 0; n < 3; n++) {
      expect((await fish.ask('GET', fish.path)).status).toBe(200);
      for (let wrong = 0; wrong < (n === 2 ? 3 : 2); wrong++) {
        expect((await fish.ask('GET', fish.path, { auth: 'wrong' })).status).toBe(401);
      }
    }
    expect((await fish.login()).status).toBe(401);
    await fish.fake.advance(60_000);
    expect((await fish.login()).status).toBe(201);
  },
  'fault 10: certificate changed': async (fish) => {
    const before = fish.fake.bmcs()[0]!.certSha256;
    const { id } = await fish.fault({ type: 'certificate' });
    const shown = (await fish.ask('GET', ROOT)).certSha256;
    expect(shown).not.toBe(before);
    expect(fish.fake.bmcs()[0]!.certSha256).toBe(shown);
    await fish.fake.removeFault(id);
    expect((await fish.ask('GET', ROOT)).certSha256).toBe(before);
  },
  'fault 12: graceful shutdown never ends': async (fish) => {
    await fish.fault({ type: 'gracefulNeverEnds' });
    await fish.start();
    expect((await fish.reset('GracefulShutdown')).status).toBe(204);
    await fish.fake.advance(3_600_000);
    expect(powerOf(fish)).toBe('On');
    await fish.reset('ForceOff');
    await fish.fake.advance(2_000);
    expect(powerOf(fish)).toBe('Off');
  },
  'fault 15: refused because it is so already': async (fish) => {
    await fish.fault({ type: 'sameState', code: 400 });
    expect((await fish.reset('ForceOff')).status).toBe(400);
    await fish.start();
    expect((await fish.reset('On')).status).toBe(400);
    expect((await fish.reset('ForceOff')).status).toBe(204);
  },
  'fault 18: ejected, and shown as inserted': async (fish) => {
    await fish.fault({ type: 'staleMedia' });
    await insert(fish);
    await eject(fish);
    expect(await disc(fish)).toMatchObject({ Inserted: true, Image: IMAGE });
    expect(fish.fake.bmcs()[0]!.systems[0]!.media[0]!.image).toBeNull();
    expect((await insert(fish)).status).toBe(204);
  },
  'fault 19: media not fetched': async (fish) => {
    await fish.fault({ type: 'mediaNotFetched' }, { times: 1 });
    expect((await insert(fish)).status).toBe(204);
    expect(await disc(fish)).toMatchObject({ Inserted: false });
    await insert(fish);
    expect(await disc(fish)).toMatchObject({ Inserted: true });
  },
  'fault 20: 412 always, or to weak tags': async (fish) => {
    const tag = async () => String((await fish.ask('GET', fish.path)).headers.etag);
    const { id } = await fish.fault({ type: 'etag', does: 'refused' });
    expect((await rename(fish, 'a', { 'if-match': await tag() })).status).toBe(412);
    expect((await rename(fish, 'b')).status).toBe(200);
    await fish.fake.removeFault(id);
    await fish.fault({ type: 'etag', does: 'weak' });
    const weak = await tag();
    expect(weak).toMatch(/^W\/"/);
    expect((await rename(fish, 'c', { 'if-match': weak })).status).toBe(412);
    expect((await rename(fish, 'd', { 'if-match': weak.slice(2) })).status).toBe(200);
  },
  'fault 21: refused during POST': async (fish) => {
    await fish.fault({ type: 'postRefusal' }, { times: 2 });
    for (const status of [400, 400, 200]) {
      expect((await fish.override(ONCE_PXE)).status).toBe(status);
    }
  },
  'fault 23: the BMC restarts': async (fish) => {
    await fish.fault({ type: 'bmcRestart', ms: 60_000 });
    await expect(fish.system()).rejects.toThrow(CUT);
    await fish.fake.advance(20_000);
    expect((await fish.ask('GET', fish.path)).status).toBe(404);
    await fish.fake.advance(40_000);
    expect((await fish.ask('GET', fish.path)).status).toBe(200);
  },
  'fault 24: another blade': async (fish) => {
    await fish.fault({ type: 'bladeSwapped', serial: 'OTHER', uuid: 'another' });
    expect(await fish.system()).toMatchObject({ SerialNumber: 'OTHER', UUID: 'another' });
  },
  'fault 25: asset tag read only, cut, or lost at a restart': async (fish) => {
    await fish.fault({ type: 'assetTag', does: 'readOnly' }, { times: 1 });
    expect(messagesOf(await rename(fish))).toEqual(['PropertyNotWritable']);
    await fish.fault({ type: 'assetTag', does: 'truncated', length: 4 });
    await rename(fish);
    expect(await tagOf(fish)).toBe('rack');
    await fish.fault({ type: 'bmcRestart', ms: 3 });
    await fish.fake.advance(3);
    expect(await tagOf(fish)).toBe('rack');
    await fish.fault({ type: 'assetTag', does: 'lostAtRestart' });
    await fish.fault({ type: 'bmcRestart', ms: 3 });
    await fish.fake.advance(3);
    expect(await tagOf(fish)).toBe('');
  },
  'fault 26: not licensed': async (fish) => {
    await fish.fault({ type: 'licence' });
    const refused = await insert(fish);
    expect([refused.status, messagesOf(refused)]).toEqual([403, ['OemLicenseNotPassed']]);
    expect((await rename(fish)).status).toBe(200);
  },
  'fault 27: two requests at once': async (fish) => {
    await fish.fault({ type: 'oneAtATime' });
    expect((await fish.ask('GET', fish.path)).status).toBe(200);
    await fish.fault({ type: 'latency', ms: 1_000 }, { match: { method: 'PATCH' } });
    const slow = rename(fish);
    await expect.poll(() => fish.fake.requests().at(-1)?.fate).toBe('open');
    expect((await fish.ask('GET', fish.path)).status).toBe(503);
    await fish.fake.advance(1_000);
    await slow;
    expect(fish.fake.bmcs()[0]!.requestsMost).toBe(2);
    expect((await fish.ask('GET', fish.path)).status).toBe(200);
  },
  'fault 30: clock wrong by hours': async (fish) => {
    await fish.fault({ type: 'clock', offMs: -7_200_000 });
    const { body, headers } = await fish.ask('GET', `${ROOT}/Managers/BMC`);
    expect(body['DateTime']).toBe('2025-12-31T22:00:00.000Z');
    expect(Date.parse(headers.date!)).toBe(Date.UTC(2025, 11, 31, 22));
    expect(await fish.system()).toMatchObject({ LastResetTime: '2025-12-31T22:00:00.000Z' });
  },
};

testRows(Object.entries(FAULTS))('shows %s', async (_name, proof) => {
  await proof(await startFish());
});

testRows(['fails', 'hangs', 'silent'] as const)(
  'fault 29: the host is told that its installer %s',
  async (does) => {
    const boots: Boot[] = [];
    const { fault, override, start } = await startFish({
      hooks: { down: async () => undefined, boot: async (_name, boot) => void boots.push(boot) },
    });
    await fault({ type: 'installer', does }, { match: { system: 'system-1' }, times: 1 });
    await override({ BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' });
    await start();
    expect(boots).toMatchObject([{ source: 'Pxe', installer: does }]);
  },
);

test('a login without a token, an insertion that wants a parameter, and 406 to identity', async () => {
  const fish = await startFish();
  await fish.fault({ type: 'identityRefused' });
  const headers = { 'accept-encoding': 'identity' };
  expect((await fish.ask('GET', fish.path, { headers })).status).toBe(406);
  expect((await fish.ask('GET', fish.path)).status).toBe(200);
  await fish.fault({ type: 'noToken' }, { times: 1 });
  const made = await fish.login();
  expect([made.status, made.headers['x-auth-token']]).toEqual([201, undefined]);
  await fish.fault({ type: 'mediaWants', parameter: 'TransferProtocolType' });
  const refused = await insert(fish);
  expect(messagesOf(refused)).toEqual(['ActionParameterMissing']);
  expect(JSON.stringify(refused.body)).toContain('"RelatedProperties":["#/TransferProtocolType"]');
  expect((await insert(fish, { TransferProtocolType: 'HTTPS' })).status).toBe(204);
});

test('a rule strikes the BMC and the system that it names', async () => {
  const fish = await startFish({ systems: 3, bmcs: 2 });
  await fish.fault({ type: 'status', code: 500 }, { match: { bmc: 'bmc-1' } });
  await fish.fault({ type: 'status', code: 501 }, { match: { system: 'system-3' } });
  const status = async (bmc: number, id: number) =>
    (await fish.ask('GET', `${ROOT}/Systems/${id}`, { bmc })).status;
  expect([await status(0, 1), await status(1, 1), await status(1, 2)]).toEqual([500, 200, 501]);
  await fish.fake.clearFaults();
  expect(await status(0, 1)).toBe(200);
});

testRows([
  [{ match: { bmc: 'bmc-9' }, effect: { type: 'licence' } }, /no BMC/],
  [{ match: { system: 'system-9' }, effect: { type: 'licence' } }, /no system/],
  [{ match: { nth: 2 }, effect: { type: 'refuse' } }, /at once/],
])('a rule that could never strike is refused: %j', async (rule, message) => {
  const { fake } = await startFish();
  await expect(fake.addFault(rule as never)).rejects.toThrow(message);
  expect(fake.faults()).toEqual([]);
});
