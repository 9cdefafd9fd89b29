import { expect, test } from 'vitest';
import { inventoryOf } from '../../../emulators/redfish/machines/inventory.ts';
import { eject, insert } from './harness.ts';
import { startRack, startSeed, TOKEN } from './rack.ts';
import { testRows } from '../../support/rows.ts';

const ONCE_CD = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' };
const BOOT_MS = 62_000;
const INSTALL_MS = 240_000;

test('machines that have a system are on, and are found by the inventory of the rack', async () => {
  const { fake, hosts, host, run, system } = await startRack({
    installed: true,
    systems: 3,
    bmcs: 2,
  });
  expect(await system()).toMatchObject({
    PowerState: 'On',
    BootProgress: { LastState: 'OSRunning' },
  });
  expect(await run('cat', '/etc/hostname')).toBe('system-1\n');
  const lines = inventoryOf(fake, hosts, true);
  const [first, second] = fake.bmcs();
  expect(lines.map(({ Bmc, System }) => [Bmc, System])).toEqual([
    [first!.url, '/redfish/v1/Systems/1'],
    [second!.url, '/redfish/v1/Systems/1'],
    [second!.url, '/redfish/v1/Systems/2'],
  ]);
  expect(new Set(lines.map(({ ID }) => ID)).size).toBe(3);
  expect(lines[0]).toMatchObject({
    CertSha256: first!.certSha256,
    SshPort: host().port,
    HostKey: `ssh-ed25519 ${host().hostKey}`,
  });
  expect(inventoryOf(fake, hosts, false)[0]).not.toHaveProperty('HostKey');
});

test('a machine obeys its power: off it answers nobody, and each boot has another id', async () => {
  const { fake, bootId, host, reset } = await startRack({ installed: true });
  const before = await bootId();
  await reset('ForceOff');
  await fake.advance(2_000);
  expect(host().up).toBe(false);
  await reset('On');
  await fake.advance(BOOT_MS - 1);
  expect(host().up).toBe(false);
  await fake.advance(1);
  expect(host().up).toBe(true);
  expect(await bootId()).not.toBe(before);
});

test('a machine that hangs heeds no graceful restart, and is cured by force', async () => {
  const { fake, hosts, host, reset } = await startRack({ installed: true });
  await hosts.hang('system-1', true);
  const { bootId } = host();
  await reset('GracefulRestart');
  await fake.advance(300_000);
  expect(host()).toMatchObject({ hanging: true, bootId });
  await reset('ForceRestart');
  await fake.advance(60_000);
  expect(host()).toMatchObject({ hanging: false, up: true });
  expect(host().bootId).not.toBe(bootId);
});

test('an installer from a virtual CD fetches its seed, installs, reports and boots the disk', async () => {
  const seed = await startSeed();
  const rack = await startRack();
  const { fake, host, machines, override, reset, run, system } = rack;
  await reset('On');
  await fake.advance(BOOT_MS);
  expect(machines.disk('system-1')).toBe('none');
  expect(await system()).toMatchObject({ BootProgress: { LastState: 'OSBootStarted' } });
  await insert(rack, { Image: `${seed.url}/images/${TOKEN}.iso` });
  await override(ONCE_CD);
  await reset('ForceRestart');
  await fake.advance(60_000);
  expect(seed.asked).toEqual(['GET /s/*/meta-data', 'GET /s/*/user-data']);
  expect([machines.disk('system-1'), host().up]).toEqual(['none', false]);
  await fake.advance(INSTALL_MS);
  expect(seed.asked.slice(2)).toEqual(['POST /s/*/done']);
  expect([machines.disk('system-1'), host().up]).toEqual(['os1', false]);
  await fake.advance(60_000);
  expect(await run('cat', '/root/secret')).toBe('s3cret');
  expect(await run('cat', '/etc/hostname')).toBe('a1\n');
  expect(await run('stat', '-c', '%F', '/root/b c')).toBe('directory\n');
  expect(seed.asked).toHaveLength(3);
});

test('with an override that is not used up, a machine is installed again and again', async () => {
  const seed = await startSeed();
  const rack = await startRack();
  const { fake, host, machines, fault, override, reset } = rack;
  await fault({ type: 'override', does: 'sticky' });
  await insert(rack, { Image: `${seed.url}/${TOKEN}.iso` });
  await override(ONCE_CD);
  await reset('On');
  await fake.advance(BOOT_MS + 2 * INSTALL_MS + 60_000);
  expect([machines.installs('system-1'), machines.disk('system-1')]).toEqual([2, 'os2']);
  expect(host().up).toBe(false);
});

testRows([
  ['fails', ['POST /s/*/failed'], 'none', false],
  ['hangs', [], 'none', false],
  ['silent', [], 'os1', true],
] as const)('fault 29: an installer that %s', async (does, reports, disk, isUp) => {
  const seed = await startSeed();
  const { fake, host, machines, fault, override, reset } = await startRack();
  await fault({ type: 'installer', does });
  await override({
    BootSourceOverrideEnabled: 'Once',
    BootSourceOverrideTarget: 'UefiHttp',
    HttpBootUri: `${seed.url}/${TOKEN}/boot.efi`,
  });
  await reset('On');
  await fake.advance(BOOT_MS + INSTALL_MS + 60_000);
  expect(seed.asked.slice(2)).toEqual(reports);
  expect([machines.disk('system-1'), host().up]).toEqual([disk, isUp]);
});

test('a boot from the network finds the seed by the MAC address, else the disk is booted', async () => {
  const seed = await startSeed();
  const rack = await startRack({ seedUrl: seed.url });
  const { fake, machines, override, reset } = rack;
  const { mac } = fake.bmcs()[0]!.systems[0]!;
  const oncePxe = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' };
  await override(oncePxe);
  await reset('On');
  await fake.advance(BOOT_MS);
  expect(seed.asked).toEqual([`GET /m/${mac}/ipxe`]);
  expect((await rack.system())['BootProgress']).toMatchObject({ LastState: 'OSBootStarted' });
  seed.served.set(`/m/${mac}/ipxe`, `#!ipxe\nset seed ${seed.url}/s/${TOKEN}/\nchain boot.ipxe\n`);
  await override(oncePxe);
  await reset('ForceRestart');
  await fake.advance(60_000 + INSTALL_MS);
  expect(machines.disk('system-1')).toBe('os1');
});

test('an installer that loses its power leaves no system behind, and none that is refused begins', async () => {
  const seed = await startSeed();
  const rack = await startRack({ installed: true });
  const { fake, host, machines, override, reset } = rack;
  await insert(rack, { Image: `${seed.url}/${TOKEN}.iso` });
  await override(ONCE_CD);
  seed.served.clear();
  await reset('ForceRestart');
  await fake.advance(60_000 + INSTALL_MS);
  expect([seed.asked, machines.disk('system-1')]).toEqual([['GET /s/*/meta-data'], 'os1']);
  const again = await startSeed();
  await eject(rack);
  await insert(rack, { Image: `${again.url}/${TOKEN}.iso` });
  await override(ONCE_CD);
  await reset('ForceRestart');
  await fake.advance(60_000 + INSTALL_MS - 1);
  await reset('ForceOff');
  await fake.advance(2_000);
  await reset('On');
  await fake.advance(BOOT_MS);
  expect([machines.disk('system-1'), host().up]).toEqual(['none', false]);
});
