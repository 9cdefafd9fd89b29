import { stringify } from 'yaml';
import { expect, onTestFinished, test } from 'vitest';
import type { LatitudeEmulatorOptions } from '../../../emulators/latitude/options.ts';
import { createStand, key, live, nothing } from '../hosts/stand.ts';
import { MINUTE, SECOND, startLatitude } from './harness.ts';

const FIRST_BOOT = '/var/lib/shepherd/first-boot';
/** What a daemon gives a new machine: a script, and a command that runs and removes it. */
const firstBoot = (secret: string) => {
  const script = `#!/bin/sh\numask 0177\nprintf %s ${secret} > /etc/secret\n`;
  const file = { path: FIRST_BOOT, permissions: '0700', owner: 'root:root', encoding: 'b64' };
  const content = Buffer.from(script).toString('base64');
  const config = {
    write_files: [{ ...file, content }],
    runcmd: [[FIRST_BOOT], ['rm', FIRST_BOOT]],
  };
  return `#cloud-config\n# shepherd mark\n${stringify(config)}`;
};

/** An emulator whose servers are simulated machines, and a key of the project. */
async function startWithMachines(options: Partial<LatitudeEmulatorOptions> = {}) {
  const stand = await createStand();
  onTestFinished(() => stand.close());
  const latitude = await startLatitude({ hooks: stand.hosts(), ...options });
  const { fake, post, record, create } = latitude;
  const sshKey = { project: fake.project, name: 'fleet', public_key: key.publicLine };
  const { id: keyId } = (await post('/ssh_keys', 'ssh_keys', sshKey)).data;
  const recordOf = async (secret: string) => (await record('a', firstBoot(secret))).data.id;
  const made = async () => {
    const user_data = await recordOf('first');
    return (await create('shep-ash-1', { ssh_keys: [keyId], user_data })).data;
  };
  const machine = (id: string) => stand.snapshot(id);
  const login = (id: string, username = 'ubuntu') =>
    stand.connect(id, {}, { host: machine(id).address, port: machine(id).port, username });
  const secretOf = async (id: string, username?: string) =>
    (
      await (await login(id, username)).execute(['cat', '/etc/secret'], nothing, live)
    ).stdout.toString();
  return { ...latitude, stand, machine, recordOf, made, login, secretOf };
}

test('a server is a machine: deployed, rebooted, switched off and on, reinstalled, gone', async () => {
  const { fake, ask, act, made, machine, recordOf, reinstall, secretOf, server, statusOf, stand } =
    await startWithMachines();
  const { id, attributes } = await made();
  expect(attributes['primary_ipv4']).toBe(machine(id).address);
  await fake.advance(25 * SECOND);
  expect([await statusOf(id), machine(id).up]).toEqual(['deploying', false]);
  await fake.advance(10 * MINUTE);
  expect([await statusOf(id), machine(id).up]).toEqual(['on', true]);
  expect(await secretOf(id)).toBe('first');
  const { bootId, hostKey } = machine(id);

  await act(id, 'reboot');
  await fake.advance(5 * SECOND);
  expect([await statusOf(id), machine(id).up]).toEqual(['on', false]);
  await fake.advance(55 * SECOND);
  expect(machine(id)).toMatchObject({ up: true, hostKey });
  expect(machine(id).bootId).not.toBe(bootId);

  await act(id, 'power_off');
  await fake.advance(5 * SECOND);
  expect([await statusOf(id), machine(id).up]).toEqual(['off', false]);
  await act(id, 'power_on');
  await fake.advance(10 * SECOND);
  expect([await statusOf(id), machine(id).up]).toEqual(['on', true]);

  await reinstall(id, { user_data: await recordOf('second'), operating_system: 'debian_12_x64' });
  await fake.advance(0);
  expect([await statusOf(id), machine(id).up]).toEqual(['disk_erasing', false]);
  await fake.advance(11 * MINUTE);
  expect([await statusOf(id), machine(id).up]).toEqual(['on', true]);
  expect(machine(id).hostKey).not.toBe(hostKey);
  expect(await secretOf(id, 'debian')).toBe('second');
  expect((await server(id))['primary_ipv4']).toBe(machine(id).address);

  await ask('DELETE', `/servers/${id}`);
  await fake.advance(0);
  expect(stand.hosts().list()).toEqual([]);
});

test('what user data say is read when the installation is asked for, or at its boot', async () => {
  const latitude = await startWithMachines();
  const { fake, ask, made, reinstall, secretOf, write } = latitude;
  const { id } = await made();
  const record = fake.servers()[0]!.userData!;
  const content = Buffer.from(firstBoot('later')).toString('base64');
  await ask('PATCH', `/user_data/${record}`, { body: write('user_data', { content }, record) });
  await fake.advance(11 * MINUTE);
  expect(await secretOf(id)).toBe('first');
  fake.setKnobs({ userDataRead: 'atBoot' });
  await reinstall(id);
  await fake.advance(11 * MINUTE);
  expect(await secretOf(id)).toBe('later');
});

test('fault 22: the machine does not heed its user data', async () => {
  const { fake, fault, made, secretOf } = await startWithMachines();
  fault({ type: 'userDataIgnored' }, { times: 1 });
  const { id } = await made();
  await fake.advance(11 * MINUTE);
  await expect(secretOf(id)).rejects.toThrow(/secret/);
});

test('fault 23: the key is not installed', async () => {
  const { fake, fault, made, login } = await startWithMachines();
  fault({ type: 'keyNotInstalled' }, { match: { hostname: 'shep-ash-1' } });
  const { id } = await made();
  await fake.advance(11 * MINUTE);
  await expect(login(id)).rejects.toThrow(/every key was refused/);
});
