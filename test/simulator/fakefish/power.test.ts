import { expect, test } from 'vitest';
import type { Boot } from '../../../src/simulator/fakefish/power.ts';
import { messagesOf, ROOT, START_MS, startFish } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const iso = (afterMs: number) => new Date(START_MS + afterMs).toISOString();

test('power comes, POST takes its time, and the operating system runs', async () => {
  const { fake, reset, system } = await startFish();
  expect(await system()).toMatchObject({ PowerState: 'Off', BootProgress: { LastState: 'None' } });
  expect((await reset('On')).status).toBe(204);
  expect(await system()).toMatchObject({ PowerState: 'PoweringOn' });
  await fake.advance(2_000);
  expect(await system()).toMatchObject({
    PowerState: 'On',
    LastResetTime: iso(2_000),
    BootProgress: { LastState: 'PrimaryProcessorInitializationStarted' },
  });
  await fake.advance(59_999);
  expect(await system()).toMatchObject({
    BootProgress: { LastState: 'SystemHardwareInitializationComplete' },
  });
  await fake.advance(1);
  expect(await system()).toMatchObject({
    BootProgress: { LastState: 'OSRunning', LastStateTime: iso(62_000) },
  });
});

testRows([
  ['ForceOff', 0, 2_000],
  ['GracefulShutdown', 20_000, 22_000],
  ['PushPowerButton', 20_000, 22_000],
])('%s: on for %i ms, off after %i ms', async (type, onMs, offMs) => {
  const { fake, reset, start, system } = await startFish();
  await start();
  expect((await reset(type)).status).toBe(204);
  if (onMs > 0) {
    await fake.advance(onMs - 1);
    expect(await system()).toMatchObject({ PowerState: 'On' });
    await fake.advance(1);
  }
  expect(await system()).toMatchObject({ PowerState: 'PoweringOff' });
  await fake.advance(offMs - onMs);
  expect(await system()).toMatchObject({ PowerState: 'Off' });
});

testRows([
  ['ForceRestart', 0],
  ['GracefulRestart', 20_000],
])('%s resets after %i ms and stays on', async (type, afterMs) => {
  const { fake, reset, start, system } = await startFish();
  await start();
  await reset(type);
  await fake.advance(afterMs);
  expect(await system()).toMatchObject({ PowerState: 'On', LastResetTime: iso(62_000 + afterMs) });
  await fake.advance(60_000);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSRunning' } });
});

test('a power cycle goes off and comes again', async () => {
  const { fake, reset, start, system } = await startFish();
  await start();
  await reset('PowerCycle');
  await fake.advance(1_999);
  expect(await system()).toMatchObject({ PowerState: 'PoweringOff' });
  await fake.advance(1);
  expect(await system()).toMatchObject({ PowerState: 'PoweringOn' });
  await fake.advance(2_000);
  expect(await system()).toMatchObject({ PowerState: 'On' });
});

test('a later reset takes the place of one that is under way', async () => {
  const { fake, reset, start, system } = await startFish();
  await start();
  await reset('GracefulRestart');
  await reset('ForceOff');
  await fake.advance(300_000);
  expect(await system()).toMatchObject({ PowerState: 'Off' });
});

testRows([
  ['generic', 409, 'ResourceInUse'],
  ['ilo5', 400, 'InvalidOperationForSystemState'],
] as const)('%s refuses to restart what is off', async (profile, status, message) => {
  const { ask, path } = await startFish({ profile });
  const body = { ResetType: 'ForceRestart' };
  const refused = await ask('POST', `${path}/Actions/ComputerSystem.Reset/`, { body });
  expect([refused.status, messagesOf(refused)]).toEqual([status, [message]]);
});

test('an override for one time is used up by the boot, a continuous one is not', async () => {
  const boots: Boot[] = [];
  const { fake, override, start, system } = await startFish({
    hooks: { down: async () => undefined, boot: async (_name, boot) => void boots.push(boot) },
  });
  await override({ BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' });
  await start();
  expect(await system()).toMatchObject({
    Boot: { BootSourceOverrideEnabled: 'Disabled', BootSourceOverrideTarget: 'None' },
  });
  const uri = 'http://seed.test/boot.efi';
  await override({
    BootSourceOverrideEnabled: 'Continuous',
    BootSourceOverrideTarget: 'UefiHttp',
    HttpBootUri: uri,
  });
  for (let n = 0; n < 2; n++) {
    fake.reset('system-1', 'ForceRestart');
    await fake.advance(60_000);
  }
  await override({ BootSourceOverrideEnabled: 'Disabled', HttpBootUri: null });
  fake.reset('system-1', 'ForceRestart');
  await fake.advance(60_000);
  const http = { source: 'UefiHttp', httpBootUri: uri, image: null };
  expect(boots).toMatchObject([
    { source: 'Pxe', mode: 'UEFI', installer: 'works' },
    http,
    http,
    { source: 'Hdd', httpBootUri: null },
  ]);
});

test('the host is told of every boot and every end, one after another, and its error ends nothing', async () => {
  const told: string[] = [];
  const { fake, reset, system } = await startFish({
    hooks: {
      down: async (name) => void told.push(`${name} down`),
      boot: async (name) => {
        told.push(`${name} boots`);
        if (told.length === 1) throw new Error('no disk');
      },
    },
  });
  await reset('On');
  await fake.advance(62_000);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSBootStarted' } });
  await reset('ForceRestart');
  await fake.advance(60_000);
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSRunning' } });
  await reset('ForceOff');
  await fake.advance(0);
  expect(told).toEqual(['boots', 'down', 'boots', 'down'].map((what) => `system-1 ${what}`));
});

test('a BMC restarts: nobody, then the root alone, then all; its systems go on', async () => {
  const { fake, ask, login, path, start } = await startFish();
  await start();
  await login();
  const body = { ResetType: 'ForceRestart' };
  const manager = `${ROOT}/Managers/BMC`;
  expect((await ask('POST', `${manager}/Actions/Manager.Reset`, { body })).status).toBe(204);
  await expect(ask('GET', ROOT)).rejects.toThrow(/socket|ECONNRESET/);
  await fake.advance(30_000);
  expect((await ask('GET', ROOT)).status).toBe(200);
  expect((await ask('GET', path)).status).toBe(404);
  const busy = await ask('GET', manager);
  expect([busy.status, busy.headers['retry-after']]).toEqual([503, '10']);
  await fake.advance(60_000);
  expect((await ask('GET', path)).body).toMatchObject({ PowerState: 'On' });
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
});

test('everything is a hundred times as fast when asked for', async () => {
  const { fake, reset } = await startFish({ pace: 'fast' });
  await reset('On');
  await fake.advance(620);
  expect(fake.bmcs()[0]!.systems[0]).toMatchObject({ power: 'On', progress: 'OSRunning' });
});
