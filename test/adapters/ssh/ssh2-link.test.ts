import { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { exec } from '../../../src/adapters/ssh/ssh2-exec.ts';
import { openLink } from '../../../src/adapters/ssh/ssh2-link.ts';
import { Cancelled } from '../../../src/domain/errors.ts';
import { createSshdStand, key } from './sshd-stand.ts';

test('sends all writes of one event-loop turn by one system call', async () => {
  const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { socket, destroy } = openLink({ host: '127.0.0.1', port, username: 'root' });
  onTestFinished(() => destroy(new Cancelled('the test is over')));
  await once(socket, 'connect');
  const [one, many] = [vi.spyOn(socket, '_write'), vi.spyOn(socket, '_writev')];
  for (const part of ['length', 'packet', 'tag']) socket.write(part);
  await new Promise((resolve) => socket.write('next', resolve));
  expect([one, many].map(({ mock }) => mock.calls.length)).toEqual([0, 1]);
  await new Promise((resolve) => socket.write('alone', resolve));
  expect(socket.bytesWritten).toBe('lengthpackettagnextalone'.length);
});

test('reads the keys of a connection once per key exchange', async () => {
  const stand = createSshdStand();
  onTestFinished(() => stand.close());
  const { target } = await stand.sshd({ settings: ['RekeyLimit 100K'] });
  const { client, socket, destroy } = openLink(target);
  onTestFinished(() => destroy(new Cancelled('the test is over')));
  await once(socket, 'connect');
  const seen: unknown[] = [];
  client.on('handshake', () => {
    const { _cipher, _decipher } = (client as unknown as { _protocol: Ciphers })._protocol;
    seen.push(_cipher._encKey, _decipher._decipherKey);
  });
  const { username } = target;
  const algorithms = { cipher: ['aes128-gcm@openssh.com' as const] };
  client.connect({ sock: socket, username, privateKey: key.privateKey, algorithms });
  await once(client, 'ready');
  const { stdout } = await exec(client, 'head -c 300000 /dev/zero', Buffer.alloc(0));
  expect(stdout).toHaveLength(300_000);
  expect(seen.length).toBeGreaterThanOrEqual(4);
  for (const each of seen) expect(each).toBeInstanceOf(KeyObject);
  expect(new Set(seen).size).toBe(seen.length);
});

interface Ciphers {
  readonly _cipher: { readonly _encKey: unknown };
  readonly _decipher: { readonly _decipherKey: unknown };
}
