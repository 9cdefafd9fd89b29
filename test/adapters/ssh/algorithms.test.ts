import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ssh2 from 'ssh2';
import type { Connection } from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HostKeyRejected, NoCommonProtocol } from '../../../src/domain/errors.ts';
import { startOddServer } from './odd-server.ts';
import { createSshdStand, live, nothing } from './sshd-stand.ts';
import { newHostKey } from './sshd.ts';

/** The algorithms of a connection, against OpenSSH's real server where it can be configured. */
let stand: ReturnType<typeof createSshdStand>;
beforeEach(() => void (stand = createSshdStand()));
afterEach(() => stand.close());

/** A host key made by ssh-keygen. */
async function keyOf(...kind: string[]) {
  const path = join(await stand.directory(), 'key');
  await promisify(execFile)('ssh-keygen', ['-q', '-N', '', '-f', path, '-t', ...kind]);
  const [, blob] = (await readFile(`${path}.pub`, 'utf8')).split(' ');
  return { path, pem: await readFile(path, 'utf8'), blob: blob! };
}

describe('B2: key exchange', () => {
  test.each([
    'diffie-hellman-group-exchange-sha256',
    'diffie-hellman-group-exchange-sha1',
    'diffie-hellman-group1-sha1',
    'diffie-hellman-group14-sha1',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
  ])('refuses %s alone, and says what to do', async (name) => {
    const sshd = await stand.sshd({ settings: [`KexAlgorithms ${name}`] });
    const attempt = stand.shellWith().connect(sshd.target, live);
    await expect(attempt).rejects.toBeInstanceOf(NoCommonProtocol);
    await expect(attempt).rejects.toThrow(
      /offers no key exchange that we take; allow one of curve25519-sha256, .* by KexAlgorithms /,
    );
  });

  test.each([
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
  ])('works by %s', async (name) => {
    const sshd = await stand.sshd({ settings: [`KexAlgorithms ${name}`] });
    await (await stand.connect(sshd)).execute(['true'], nothing, live);
  });
});

describe('B2: host keys', () => {
  test('that sign with SHA-1 are refused with advice on what to do', async () => {
    const { pem } = await keyOf('rsa', '-b', '2048');
    const sshd = await stand.sshd({ hostKey: pem, settings: ['HostKeyAlgorithms ssh-rsa'] });
    const attempt = stand.shellWith().connect(sshd.target, live);
    await expect(attempt).rejects.toBeInstanceOf(NoCommonProtocol);
    await expect(attempt).rejects.toThrow(
      /offers no type of host key that we take; allow one of ssh-ed25519, .* by HostKeyAlgorithms /,
    );
  });

  test.each([
    [['ed25519'], 'ssh-ed25519'],
    [['rsa', '-b', '2048'], 'rsa-sha2-256'],
    [['rsa', '-b', '2048'], 'rsa-sha2-512'],
    [['ecdsa', '-b', '256'], 'ecdsa-sha2-nistp256'],
    [['ecdsa', '-b', '384'], 'ecdsa-sha2-nistp384'],
    [['ecdsa', '-b', '521'], 'ecdsa-sha2-nistp521'],
  ])('of %j work by %s', async (kind, name) => {
    const { pem, blob } = await keyOf(...kind);
    const sshd = await stand.sshd({ hostKey: pem, settings: [`HostKeyAlgorithms ${name}`] });
    expect((await stand.connect(sshd)).hostKey).toBe(blob);
  });
});

describe('B4: a machine with several host keys', () => {
  test.each([
    ['rsa', '-b', '2048'],
    ['ecdsa', '-b', '256'],
    ['ecdsa', '-b', '521'],
  ])('is asked for its known key (%s %s %s)', async (...kind) => {
    const { path, blob } = await keyOf(...kind);
    const sshd = await stand.sshd({ settings: [`HostKey ${path}`] });
    const shell = stand.shellWith();
    const usual = await shell.connect(sshd.target, live);
    stand.later(() => usual.close());
    expect(usual.hostKey).toBe(sshd.hostKey);
    const asked = await shell.connect({ ...sshd.target, hostKey: blob }, live);
    stand.later(() => asked.close());
    expect(asked.hostKey).toBe(blob);
  });

  test('shows another key if it has none of the known type', async () => {
    const sshd = await stand.sshd();
    const { blob } = await keyOf('ecdsa', '-b', '256');
    const session = await stand.shellWith().connect({ ...sshd.target, hostKey: blob }, live);
    stand.later(() => session.close());
    expect(session.hostKey).toBe(sshd.hostKey);
  });
});

describe('B2: MACs and compression', () => {
  const withMac = (name: string) =>
    stand.sshd({ settings: ['Ciphers aes256-ctr,aes192-ctr', `MACs ${name}`] });

  test.each(['hmac-sha1', 'hmac-sha1-etm@openssh.com', 'hmac-md5', 'umac-64@openssh.com'])(
    'refuse %s alone, and say what to do',
    async (name) => {
      const attempt = stand.shellWith().connect((await withMac(name)).target, live);
      await expect(attempt).rejects.toBeInstanceOf(NoCommonProtocol);
      await expect(attempt).rejects.toThrow(
        /offers no MAC that we take; allow one of hmac-sha2-.* by MACs /,
      );
    },
  );

  test.each([
    'hmac-sha2-256',
    'hmac-sha2-512',
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
  ])('work with %s', async (name) => {
    await (await stand.connect(await withMac(name))).execute(['true'], nothing, live);
  });

  test.each(['zlib', 'zlib@openssh.com'] as const)('refuses a server of %s alone', async (zip) => {
    const server = await startOddServer({ algorithms: { compress: [zip] } });
    stand.later(server.close);
    const attempt = stand.shellWith().connect(server.target, live);
    await expect(attempt).rejects.toThrow(/offers no compression that we take; allow one of none /);
  });

  test('refuses a server that accepts chacha20 alone, and says what to do', async () => {
    const sshd = await stand.sshd({ settings: ['Ciphers chacha20-poly1305@openssh.com'] });
    const attempt = stand.shellWith().connect(sshd.target, live);
    await expect(attempt).rejects.toThrow(/offers no cipher that we take; allow one of aes128-gcm/);
  });
});

describe('B2: a key renewal during a connection', () => {
  /** A server that acts before it ends the command `now`. */
  async function connectedTo(now: (connection: Connection, end: () => void) => void) {
    const server = await startOddServer({
      exec(command, channel, connection) {
        const end = () => {
          channel.exit(0);
          channel.end();
        };
        if (command === 'now') now(connection, end);
        else end();
      },
    });
    stand.later(server.close);
    const session = await stand.shellWith().connect(server.target, live);
    stand.later(() => session.close());
    return session;
  }
  /** ssh2's server has no other way to change its key. */
  const changeKey = (connection: Connection) => {
    const { _protocol: protocol } = connection as unknown as {
      _protocol: { _hostKeys: Record<string, unknown> };
    };
    protocol._hostKeys = { 'ssh-ed25519': ssh2.utils.parseKey(newHostKey()) };
  };

  test('ends the connection on another host key', async () => {
    const session = await connectedTo((connection, end) => {
      changeKey(connection);
      connection.rekey(end);
    });
    const waiting = session.execute(['now'], nothing, live);
    await expect(waiting).rejects.toBeInstanceOf(HostKeyRejected);
    await expect(waiting).rejects.toThrow('the host key changed during the connection');
    // Later callers get the same result.
    const later = session.execute(['true'], nothing, live);
    await expect(later).rejects.toBeInstanceOf(HostKeyRejected);
  });

  test('continues with the same host key', async () => {
    const session = await connectedTo((connection, end) => connection.rekey(end));
    await session.execute(['now'], nothing, live);
    await session.execute(['true'], nothing, live);
  });
});
