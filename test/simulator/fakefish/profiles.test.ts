import { expect, test } from 'vitest';
import type { Boot } from '../../../src/simulator/fakefish/power.ts';
import { PROFILE_NAMES } from '../../../src/simulator/fakefish/profiles.ts';
import { type Fish, messagesOf, ROOT, startFish } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const VM = 'VirtualMedia';
const PLACES = {
  generic: ['Systems/1', `Managers/BMC/${VM}/Cd`],
  idrac9: ['Systems/System.Embedded.1', `Systems/System.Embedded.1/${VM}/1`],
  idrac10: ['Systems/System.Embedded.1', `Systems/System.Embedded.1/${VM}/1`],
  ilo5: ['Systems/1/', `Managers/1/${VM}/2/`],
  supermicro: ['Systems/1', `Managers/1/${VM}/VirtualMedia1`],
  openbmc: ['Systems/system', `Managers/bmc/${VM}/Slot_0`],
  lenovo: ['Systems/1', `Managers/1/${VM}/EXT1`],
  'supermicro-ars': ['Systems/1', `Managers/1/${VM}/VirtualMedia1`],
  ami: ['Systems/Self', `Managers/Self/${VM}/Cd`],
  dgx: ['Systems/DGX', `Managers/BMC/${VM}/Cd`],
} as const;
const IMAGE = 'https://images.test/installer.iso';
const place = (profile: keyof typeof PLACES) => ({
  system: `${ROOT}/${PLACES[profile][0]}`,
  disc: `${ROOT}/${PLACES[profile][1]}`,
});
const actionOf = (path: string, name: string) =>
  `${path}${path.endsWith('/') ? '' : '/'}Actions/${VM}.${name}${path.endsWith('/') ? '/' : ''}`;
const insert = ({ ask }: Fish, disc: string, body: object) =>
  ask('POST', actionOf(disc, 'InsertMedia'), { body });

/** The system's Boot, and what was told to the host at each boot. */
async function bootingFish(profile: keyof typeof PLACES) {
  const boots: Boot[] = [];
  const hooks = {
    down: async () => undefined,
    boot: async (_: string, boot: Boot) => void boots.push(boot),
  };
  const fish = await startFish({ profile, hooks });
  return { ...fish, fish, boots };
}

testRows(PROFILE_NAMES)('%s has its resources at its places', async (profile) => {
  const { ask } = await startFish({ profile });
  for (const path of Object.values(place(profile))) {
    const { status, body, headers } = await ask('GET', path);
    expect([path, status, body['@odata.id']]).toEqual([path, 200, path]);
    expect(headers.etag).toMatch(/^"/);
  }
});

testRows(PROFILE_NAMES)('%s boots a virtual CD when its target is named', async (profile) => {
  const { fish, ask, boots, start } = await bootingFish(profile);
  const { system, disc } = place(profile);
  if (profile === 'lenovo') {
    const body = { Image: IMAGE, Inserted: true, WriteProtected: true };
    expect((await ask('PATCH', disc, { body })).status).toBe(200);
  } else {
    const login = profile === 'dgx' ? { UserName: 'none', Password: 'none' } : {};
    expect((await insert(fish, disc, { Image: IMAGE, ...login })).status).toBe(204);
  }
  expect((await ask('GET', disc)).body).toMatchObject({
    Image: IMAGE,
    ImageName: 'installer.iso',
    Inserted: true,
    ConnectedVia: 'URI',
  });
  const target = profile === 'supermicro' ? 'UsbCd' : 'Cd';
  const isAmi = profile === 'ami';
  const boot = {
    BootSourceOverrideEnabled: 'Once',
    BootSourceOverrideTarget: target,
    ...(isAmi && { BootSourceOverrideMode: 'UEFI' }),
  };
  const changed = await ask('PATCH', isAmi ? `${system}/SD` : system, { body: { Boot: boot } });
  expect(changed.status).toBe(profile === 'openbmc' || isAmi ? 204 : 200);
  await start();
  const reached = {
    source: target,
    image: IMAGE,
    mode: profile.startsWith('supermicro') ? 'Legacy' : 'UEFI',
  };
  expect(boots).toMatchObject([profile === 'idrac10' ? { source: 'Hdd', image: null } : reached]);
});

test('what is inserted must be ejected before the next', async () => {
  const fish = await startFish();
  const { disc } = place('generic');
  await insert(fish, disc, { Image: IMAGE });
  expect((await insert(fish, disc, { Image: IMAGE })).status).toBe(409);
  expect((await fish.ask('POST', actionOf(disc, 'EjectMedia'))).status).toBe(204);
  expect((await fish.ask('GET', disc)).body).toMatchObject({ Image: null, Inserted: false });
  expect((await insert(fish, disc, { Image: IMAGE })).status).toBe(204);
});

testRows([
  ['generic', { Image: 'ftp://images.test/a.iso' }, 'ActionParameterValueFormatError'],
  ['generic', {}, 'ActionParameterMissing'],
  ['generic', { Image: IMAGE, Speed: 'fast' }, 'ActionParameterUnknown'],
  ['generic', { Image: IMAGE, Inserted: 'yes' }, 'ActionParameterValueTypeError'],
  ['openbmc', { Image: 'http://images.test/a.iso' }, 'ActionParameterValueFormatError'],
  ['supermicro', { Image: IMAGE, Inserted: true }, 'ActionParameterUnknown'],
] as const)('%s refuses to insert %j', async (profile, body, name) => {
  const fish = await startFish({ profile });
  const refused = await insert(fish, place(profile).disc, body);
  expect([refused.status, messagesOf(refused)]).toEqual([400, [name]]);
});

test('Lenovo has no actions, wants everything said, and ejects by a change', async () => {
  const { ask } = await startFish({ profile: 'lenovo' });
  const { disc } = place('lenovo');
  expect((await ask('GET', disc)).body).not.toHaveProperty('Actions');
  const short = await ask('PATCH', disc, { body: { Image: IMAGE } });
  expect(messagesOf(short)).toEqual(['PropertyMissing', 'PropertyMissing']);
  await ask('PATCH', disc, { body: { Image: IMAGE, Inserted: true, WriteProtected: true } });
  expect((await ask('PATCH', disc, { body: { Image: null, Inserted: false } })).status).toBe(200);
  expect((await ask('GET', disc)).body).toMatchObject({ Image: null, Inserted: false });
});

test('only Lenovo changes media by PATCH', async () => {
  const { ask } = await startFish();
  const refused = await ask('PATCH', place('generic').disc, { body: { Image: IMAGE } });
  expect(refused.status).toBe(405);
});

test('iLO 5 redirects to paths with a slash, and wants a body to eject', async () => {
  const { ask } = await startFish({ profile: 'ilo5' });
  const moved = await ask('GET', `${ROOT}/Systems/1`);
  expect([moved.status, moved.headers.location]).toEqual([308, `${ROOT}/Systems/1/`]);
  const eject = actionOf(place('ilo5').disc, 'EjectMedia');
  expect((await ask('POST', eject)).status).toBe(400);
  expect((await ask('POST', eject, { body: {} })).status).toBe(204);
});

test('iLO 5 changes no boot override during POST', async () => {
  const { fake, ask, start } = await startFish({ profile: 'ilo5' });
  const { system } = place('ilo5');
  const change = () =>
    ask('PATCH', system, { body: { Boot: { BootSourceOverrideTarget: 'Pxe' } } });
  fake.reset('system-1', 'On');
  await fake.advance(3_000);
  const refused = await change();
  expect([refused.status, messagesOf(refused)]).toEqual([400, ['UnableToModifyDuringSystemPOST']]);
  await start();
  await fake.advance(60_000);
  expect((await change()).status).toBe(200);
});

test('iDRAC 10 tells no boot targets and is slow to switch on again', async () => {
  const { fake, reset, start, system } = await startFish({ profile: 'idrac10' });
  expect((await system())['Boot']).not.toHaveProperty(
    'BootSourceOverrideTarget@Redfish.AllowableValues',
  );
  await start();
  await reset('ForceOff');
  await fake.advance(2_000 + 29_999);
  const refused = await reset('On');
  expect([refused.status, messagesOf(refused)]).toEqual([409, ['ActionParameterValueConflict']]);
  await fake.advance(1);
  expect((await reset('On')).status).toBe(204);
});

test('OpenBMC tells its reset types in a resource of their own', async () => {
  const { ask, system } = await startFish({ profile: 'openbmc' });
  const { Actions: actions } = (await system()) as { Actions: Record<string, object> };
  const info = `${ROOT}/Systems/system/ResetActionInfo`;
  expect(actions['#ComputerSystem.Reset']).toEqual({
    target: `${ROOT}/Systems/system/Actions/ComputerSystem.Reset`,
    '@Redfish.ActionInfo': info,
  });
  expect((await ask('GET', info)).body).toMatchObject({
    Parameters: [{ Name: 'ResetType', AllowableValues: expect.arrayContaining(['On']) }],
  });
  const other = await startFish();
  expect((await other.ask('GET', `${other.path}/ResetActionInfo`)).status).toBe(404);
});

test('Supermicro wants to hear how long an override counts', async () => {
  const { override } = await startFish({ profile: 'supermicro' });
  const refused = await override({ BootSourceOverrideTarget: 'Pxe' });
  expect(messagesOf(refused)).toEqual(['PropertyMissing']);
});

test('iDRAC 9 has no graceful restart', async () => {
  const { reset } = await startFish({ profile: 'idrac9' });
  expect(messagesOf(await reset('GracefulRestart'))).toEqual(['ActionParameterNotSupported']);
});

test('systems are dealt out to BMCs, and OpenBMC has one', async () => {
  const { fake } = await startFish({ systems: 5, bmcs: 2 });
  const names = fake.bmcs().map(({ systems }) => systems.map(({ name }) => name));
  expect(names).toEqual([
    ['system-1', 'system-2'],
    ['system-3', 'system-4', 'system-5'],
  ]);
  await expect(startFish({ profile: 'openbmc', systems: 2, bmcs: 1 })).rejects.toThrow(
    /one system/,
  );
  await expect(startFish({ systems: 1, bmcs: 2 })).rejects.toThrow(/more BMCs/);
});

test('the same seed makes the same machines', async () => {
  const serials = async (seed: number) => {
    const { fake } = await startFish({ seed, systems: 2 });
    return fake.bmcs().flatMap(({ systems }) => systems.map(({ serial, mac }) => [serial, mac]));
  };
  expect(await serials(5)).toEqual(await serials(5));
  expect(await serials(5)).not.toEqual(await serials(6));
});
