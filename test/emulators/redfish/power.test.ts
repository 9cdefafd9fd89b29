import { expect, test } from 'vitest';
import type { Boot } from '../../../emulators/redfish/power.ts';
import { ROOT, START_MS, startFish } from './harness.ts';
import { testRows } from '../../support/rows.ts';

const iso = (afterMs: number) => new Date(START_MS + afterMs).toISOString();

/** Resets of a system that runs, or is off; then what it shows after so many milliseconds. */
const STORIES: readonly [from: 'on' | 'off', resets: string, ...[ms: number, shown: string][]][] = [
  [
    ...(['off', 'On'] as const),
    [0, 'PoweringOn None'],
    [2_000, 'On PrimaryProcessorInitializationStarted'],
    [59_999, 'On SystemHardwareInitializationComplete'],
    [1, 'On OSRunning'],
  ],
  ['on', 'ForceOff', [0, 'PoweringOff None'], [2_000, 'Off None']],
  ...['GracefulShutdown', 'PushPowerButton'].map((type): (typeof STORIES)[number] => [
    ...(['on', type] as const),
    [19_999, 'On OSRunning'],
    [1, 'PoweringOff None'],
    [2_000, 'Off None'],
  ]),
  ['on', 'ForceRestart', [0, 'On PrimaryProcessorInitializationStarted'], [60_000, 'On OSRunning']],
  [
    ...(['on', 'GracefulRestart'] as const),
    [19_999, 'On OSRunning'],
    [1, 'On PrimaryProcessorInitializationStarted'],
    [60_000, 'On OSRunning'],
  ],
  [
    ...(['on', 'PowerCycle'] as const),
    [1_999, 'PoweringOff None'],
    [1, 'PoweringOn None'],
    [2_000, 'On PrimaryProcessorInitializationStarted'],
  ],
  ['on', 'GracefulRestart ForceOff', [300_000, 'Off None']],
];

testRows(STORIES)('plays from %s: %s', async (from, resets, ...steps) => {
  const { fake, reset, start, system } = await startFish();
  if (from === 'on') await start();
  for (const type of resets.split(' ')) expect((await reset(type)).status).toBe(204);
  const seen: [number, string][] = [];
  let atMs = from === 'on' ? 62_000 : 0;
  for (const [ms] of steps) {
    await fake.advance(ms);
    atMs += ms;
    const { PowerState: power, BootProgress: progress, LastResetTime: last } = await system();
    const { LastState: state, LastStateTime: since } = progress as Record<string, string>;
    seen.push([ms, `${String(power)} ${state}`]);
    if (state === 'PrimaryProcessorInitializationStarted') expect(last).toBe(iso(atMs));
    if (state === 'OSRunning' && seen.length > 1) expect(since).toBe(iso(atMs));
  }
  expect(seen).toEqual(steps);
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
