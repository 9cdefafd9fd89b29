import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { createSimulatedHosts } from '../../../src/simulator/hosts/simulated-hosts.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';
import { clientOf, createDevice, start, text } from './harness.ts';

const key = parseSshKey(rawKey(), 'key');
const PATH = '/run/shepherd/instance-secret';
const userdata = (secret: string) =>
  `#!/bin/sh\numask 0177\nmkdir -p /run/shepherd\nprintf %s ${secret} > ${PATH}\n`;

async function setUp() {
  const dir = await mkdtemp(join(tmpdir(), 'fakequinix-secret-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const hosts = createSimulatedHosts({ dir, log: silentLog, random: systemRandom });
  onTestFinished(() => hosts.close());
  const fake = await start({ hooks: hosts });
  await clientOf(fake)('POST', '/ssh-keys', { label: 'fleet', key: key.publicLine });
  const shell = createSsh2Shell({ signers: [key], limits: {}, clock: systemClock, log: silentLog });
  const read = async (path = PATH) => {
    const { sshPort } = fake.devices()[0]!;
    const target = { host: '127.0.0.1', port: sshPort!, username: 'root' };
    const { signal } = new AbortController();
    const session = await shell.connect(target, signal);
    try {
      return (await session.execute(['cat', path], Buffer.alloc(0), signal)).stdout.toString();
    } finally {
      session.close();
    }
  };
  return { fake, read };
}

test('what a create hands over is on the machine, and what it says at a reinstall after that', async () => {
  const { fake, read } = await setUp();
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
  const id = await createDevice(fake, 0, { userdata: userdata(first) });
  await fake.advance(245_000);
  expect(await read()).toBe(first);
  await clientOf(fake)('PUT', `/devices/${id}`, { userdata: userdata(second) });
  await clientOf(fake)('POST', `/devices/${id}/actions`, { type: 'reinstall' });
  await fake.advance(180_000);
  expect(await read()).toBe(second);
  const { body } = await clientOf(fake)('GET', `/devices/${id}`);
  expect(text(body['state'])).toBe('active');
});

test.each([
  ['a reboot', [{ type: 'reboot' }]],
  ['switching it off and on', [{ type: 'power_off' }, { type: 'power_on' }]],
])('%s empties /run, the secret with it, and leaves the disk', async (_, actions) => {
  const { fake, read } = await setUp();
  const script = `${userdata('a'.repeat(40))}echo kept > /etc/note\n`;
  const id = await createDevice(fake, 0, { userdata: script });
  await fake.advance(245_000);
  expect(await read()).toBe('a'.repeat(40));
  for (const action of actions) {
    const { status } = await clientOf(fake)('POST', `/devices/${id}/actions`, action);
    expect(status).toBe(202);
    await fake.advance(90_000);
  }
  await expect(read()).rejects.toBeInstanceOf(RemoteFailure);
  expect(await read('/etc/note')).toBe('kept\n');
});
