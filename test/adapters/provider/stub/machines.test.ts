import { afterEach, beforeEach, expect, test } from 'vitest';
import { newLogin, sshTo } from './ssh-to.ts';
import {
  CAT_BOOT_ID,
  CAT_SECRET,
  createMachineStand,
  type MachineStand,
} from './proofs-machines.ts';
import { BOOT_MS, errorOf, freeCapacity, initCommand, PROVISIONING_MS } from './stand.ts';
import { NO_SESSION } from '../../../doubles/scripted-driver.ts';

const OTHER_SECRET = 'fedcba9876543210fedcba9876543210fedcba98';

let stand: MachineStand;
beforeEach(() => {
  stand = createMachineStand();
});
afterEach(() => stand.close());

const output = async (id: string, command: string) =>
  (await (await stand.ssh(id)).run(command)).stdout;
const machineOf = (id: string) => ({ ...freeCapacity('x'), id });

test('a machine lets in the key that its creation gave, and no other', async () => {
  const id = await stand.running();
  expect(await (await stand.ssh(id)).run('true')).toEqual({ code: 0, stdout: '' });
  const stranger = sshTo(await stand.addressOf(id), newLogin());
  expect((await errorOf(stranger)).message).toMatch(/authentication/);
});

test('it plays the few commands that probes and proofs run', async () => {
  const ssh = await stand.ssh(await stand.running());
  expect(await ssh.run('sudo systemctl is-system-running')).toEqual({
    code: 0,
    stdout: 'running\n',
  });
  expect((await ssh.run('false')).code).toBe(1);
  expect((await ssh.run('cat /nowhere')).code).toBe(1);
  expect((await ssh.run('rm -rf /')).code).toBe(127);
  expect((await ssh.run('hostname')).stdout).toMatch(/^stub-/);
  expect(Number((await ssh.run('date +%s')).stdout) * 1_000).toBe(stand.clock.now());
});

test('a reboot breaks connections, and has another boot id once it is over', async () => {
  const id = await stand.running();
  const ssh = await stand.ssh(id);
  const { stdout: before } = await ssh.run(CAT_BOOT_ID);
  expect(before).toMatch(/^[0-9a-f-]{36}\n$/);
  await stand.provider.rebootMachine(id, 'force', stand.call());
  await errorOf(ssh.run('true'));
  await errorOf(stand.ssh(id));
  stand.clock.increment(BOOT_MS);
  expect(await output(id, CAT_BOOT_ID)).not.toBe(before);
  expect((await stand.ssh(id)).hostKey).toEqual(ssh.hostKey);
  // The secret of the first boot is on disk.
  expect(await output(id, CAT_SECRET)).toBe('0123456789abcdef0123456789abcdef01234567');
});

test('a machine that is switched off answers nobody; it boots when switched on', async () => {
  const id = await stand.running();
  const before = await output(id, CAT_BOOT_ID);
  await stand.provider.setPower!(id, 'off', stand.call());
  expect(await stand.get(id)).toMatchObject({ power: 'off', status: 'Stopped' });
  await errorOf(stand.ssh(id));
  const reboot = stand.provider.rebootMachine(id, 'graceful', stand.call());
  expect(await errorOf(reboot)).toMatchObject({ code: 'conflict' });
  await stand.provider.setPower!(id, 'on', stand.call());
  stand.clock.increment(BOOT_MS);
  expect(await output(id, CAT_BOOT_ID)).not.toBe(before);
});

test('a reinstall keeps id and address; host key, secret and boot id are new', async () => {
  const id = await stand.running();
  const [address, before, { hostKey }] = [
    await stand.addressOf(id),
    await output(id, CAT_BOOT_ID),
    await stand.ssh(id),
  ];
  await stand.provider.reinstallMachine(
    id,
    {
      image: null,
      tags: {},
      publicKey: stand.login.publicKey,
      initCommand: initCommand(OTHER_SECRET),
    },
    stand.call(),
  );
  expect(await stand.get(id)).toMatchObject({ status: 'Provisioning' });
  stand.clock.increment(PROVISIONING_MS);
  const ssh = await stand.ssh(id);
  expect(await stand.addressOf(id)).toBe(address);
  expect(ssh.hostKey).not.toEqual(hostKey);
  expect((await ssh.run(CAT_SECRET)).stdout).toBe(OTHER_SECRET);
  expect((await ssh.run(CAT_BOOT_ID)).stdout).not.toBe(before);
});

test('the provider vouches for the host key of its machine, not for another', async () => {
  const [one, two] = [await stand.running(), await stand.running()];
  const { hostKey } = await stand.ssh(one);
  await stand.provider.verifyHostKey(machineOf(one), hostKey, stand.call(), NO_SESSION);
  const wrong = stand.provider.verifyHostKey(machineOf(two), hostKey, stand.call(), NO_SESSION);
  expect(await errorOf(wrong)).toMatchObject({ code: 'conflict' });
});

test('what is given back is gone, port and all', async () => {
  const id = await stand.running();
  const address = await stand.addressOf(id);
  await stand.provider.deprovisionMachine(id, stand.call());
  const { message } = await errorOf(sshTo(address, stand.login));
  expect(message).toMatch(/ECONNREFUSED/);
});
