import { expect, onTestFinished, test } from 'vitest';
import { startRedfishEmulator } from '../../emulators/redfish/emulator.ts';
import type { VendorName } from '../../emulators/redfish/vendors.ts';
import { requireFile, runProgram } from './debian-client.ts';

/** The standard body's own client, as Debian has it. */
const TOOL = '/usr/bin/redfishtool';

async function startTool(vendor: VendorName) {
  requireFile(TOOL, 'redfishtool');
  const listen = { host: '127.0.0.1', port: 0 };
  const fake = await startRedfishEmulator({ listen, vendor, profile: 'fast' });
  onTestFinished(() => fake.close());
  const { username, password } = fake.credentials;
  const host = new URL(fake.bmcs()[0]!.url).host;
  const login = ['-r', host, '-u', username, '-p', password, '-S', 'Always'];
  const tool = async (...args: string[]): Promise<Record<string, unknown>> => {
    const printed = await runProgram(TOOL, [...login, ...args]);
    return printed.trim() === '' ? {} : (JSON.parse(printed) as Record<string, unknown>);
  };
  const system = () => fake.bmcs()[0]!.systems[0]!;
  return { fake, tool, system };
}

test('redfishtool lists, names, switches, boots and equips a machine, and logs in and out', async () => {
  const { fake, tool, system } = await startTool('generic');
  expect(await tool('Systems', 'list')).toMatchObject({
    Members: [{ Id: '1', '@odata.id': '/redfish/v1/Systems/1', AssetTag: '' }],
  });
  await tool('-1', 'Systems', 'setAssetTag', 'rack-7');
  await tool('-1', 'Systems', 'setBootOverride', 'Once', 'Cd');
  expect(system()).toMatchObject({ assetTag: 'rack-7', boot: { enabled: 'Once', target: 'Cd' } });
  const media = '/redfish/v1/Managers/BMC/VirtualMedia/Cd';
  const action = `${media}/Actions/VirtualMedia`;
  const Image = 'https://images.test/installer.iso';
  await tool('-d', JSON.stringify({ Image }), 'raw', 'POST', `${action}.InsertMedia`);
  expect(await tool('raw', 'GET', media)).toMatchObject({ Inserted: true, Image });
  await tool('-A', 'Session', '-1', 'Systems', 'reset', 'On');
  await expect
    .poll(() => system())
    .toMatchObject({ power: 'On', progress: 'OSRunning', boot: { enabled: 'Disabled' } });
  const made = await tool('SessionService', 'login');
  expect(await tool('SessionService', 'Sessions', 'list')).toMatchObject({
    Members: [{ Id: made['SessionId'], UserName: 'admin' }],
  });
  await tool('SessionService', 'logout', '-i', String(made['SessionId']));
  expect(fake.bmcs()[0]).toMatchObject({ sessions: 0 });
  expect(fake.requests().filter(({ status }) => status === null || status >= 400)).toEqual([]);
});

test('redfishtool reads allowed resets from an ActionInfo, and resets a BMC', async () => {
  const { fake, tool, system } = await startTool('openbmc');
  await tool('-1', 'Systems', 'reset', 'On');
  await expect.poll(() => system().power).toBe('On');
  const routes = fake.requests().map(({ route }) => route);
  expect(routes).toContain('/redfish/v1/Systems/{system}/ResetActionInfo');
  await expect(tool('-1', 'Systems', 'reset', 'FullPowerCycle')).rejects.toThrow(/./);
  await tool('-1', 'Managers', 'reset', 'ForceRestart');
  await expect
    .poll(() => tool('-1', 'Systems').catch(() => ({})))
    .toMatchObject({ PowerState: 'On' });
});
