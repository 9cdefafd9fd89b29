import { execFile, execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Malformed, UsageError } from '../../../src/domain/errors.ts';
import {
  encodeOpensshKey,
  loadOrCreateSshKey,
  parseSshKey,
  type SshKey,
} from '../../../src/adapters/ssh/key-file.ts';
import { rawKey } from './keys.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shepherd-key-'));
  path = join(dir, 'key');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const pkcs8Of = (raw: Buffer) => {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
  const der = Buffer.concat([prefix, raw.subarray(0, 32)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return key.export({ format: 'pem', type: 'pkcs8' }).toString();
};
const store = (content: string | Buffer, mode = 0o400) => writeFile(path, content, { mode });

describe('a key file', () => {
  test("C7: is created if absent, as an OpenSSH key with its public half, like ssh-keygen's", async () => {
    await writeFile(`${path}.pub`, 'of a key that has gone');
    const key = await loadOrCreateSshKey(path, { comment: 'fleet' });
    expect((await stat(path)).mode & 0o777).toBe(0o400);
    expect((await readdir(dir)).toSorted()).toEqual(['key', 'key.pub']);
    expect(await readFile(`${path}.pub`, 'utf8')).toBe(`${key.publicLine}\n`);
    const run = promisify(execFile);
    const derived = await run('ssh-keygen', ['-y', '-f', path]);
    expect(key.publicLine).toBe(`${derived.stdout.trim()} fleet`);
    const shown = await run('ssh-keygen', ['-l', '-f', `${path}.pub`]);
    expect(shown.stdout).toBe(`256 ${key.fingerprint} fleet (ED25519)\n`);
    expect(key.publicLine).toMatch(/^ssh-ed25519 AAAA[\w+/=]+ fleet$/);
    expect(key.fingerprint).toMatch(/^SHA256:[\w+/]{43}$/);
    expect(await loadOrCreateSshKey(path, { comment: 'fleet' })).toEqual(key);
  });

  test('B6: must be a regular file of our user or of root', async () => {
    execFileSync('mkfifo', ['-m', '600', path]);
    await expect(loadOrCreateSshKey(path)).rejects.toThrow(/not a regular file/);
    await rm(path);
    await store(rawKey());
    const { uid } = await stat(path);
    if (uid === 0) await chown(path, uid + 2, -1);
    vi.spyOn(process, 'geteuid').mockReturnValue(uid + 1);
    await expect(loadOrCreateSshKey(path)).rejects.toThrow(/belongs to another user/);
    vi.restoreAllMocks();
  });

  test('is the same for all processes that start together', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => loadOrCreateSshKey(path)));
    expect(new Set(keys.map((key) => key.fingerprint)).size).toBe(1);
    expect((await readdir(dir)).toSorted()).toEqual(['key', 'key.pub']);
    const [{ publicLine }] = keys as [SshKey, ...SshKey[]];
    expect(await readFile(`${path}.pub`, 'utf8')).toBe(`${publicLine}\n`);
  });

  test('holds the same key in all three forms', async () => {
    const raw = rawKey();
    const openssh = encodeOpensshKey(raw.subarray(0, 32), raw.subarray(32));
    const forms = [raw, Buffer.from(openssh), Buffer.from(pkcs8Of(raw))];
    const keys = forms.map((content) => parseSshKey(content, 'key'));
    expect(keys[1]).toEqual(keys[0]);
    expect(keys[2]).toEqual(keys[0]);
    const parsed = ssh2.utils.parseKey(keys[0]!.privateKey);
    if (parsed instanceof Error) throw parsed;
    const [, blob] = keys[0]!.publicLine.split(' ');
    expect(parsed.getPublicSSH().toString('base64')).toBe(blob);
    const signature = parsed.sign('text');
    expect(parsed.verify('text', signature)).toBe(true);
  });

  test('may have a public half that begins with zero', () => {
    let raw = rawKey();
    while (raw[32] !== 0) raw = rawKey();
    const key = parseSshKey(raw, 'key');
    expect(parseSshKey(Buffer.from(key.privateKey), 'key')).toEqual(key);
  });

  test('may be an encrypted OpenSSH key, with its passphrase', async () => {
    const encrypted = ssh2.utils.generateKeyPairSync('ecdsa', {
      bits: 256,
      passphrase: 'open sesame',
      cipher: 'aes256-ctr',
      rounds: 4,
    });
    await store(encrypted.private);
    const key = await loadOrCreateSshKey(path, { passphrase: 'open sesame' });
    expect(encrypted.public).toContain(key.publicLine.split(' ')[1]);
    const missing = loadOrCreateSshKey(path);
    await expect(missing).rejects.toBeInstanceOf(UsageError);
    await expect(missing).rejects.toThrow(/needs a passphrase/);
    const wrong = loadOrCreateSshKey(path, { passphrase: 'wrong' });
    await expect(wrong).rejects.toBeInstanceOf(UsageError);
    await expect(wrong).rejects.toThrow(/cannot be decrypted/);
  });

  test('is refused if its halves do not belong together', () => {
    const [one, two] = [rawKey(), rawKey()];
    const mixed = Buffer.concat([one.subarray(0, 32), two.subarray(32)]);
    expect(() => parseSshKey(mixed, 'key')).toThrow(Malformed);
    const pem = encodeOpensshKey(one.subarray(0, 32), two.subarray(32));
    expect(() => parseSshKey(Buffer.from(pem), 'key')).toThrow(/does not match/);
  });

  test.each([0o640, 0o604, 0o440, 0o777])('is refused with mode %o', async (mode) => {
    await store(rawKey());
    await chmod(path, mode);
    const loading = loadOrCreateSshKey(path);
    await expect(loading).rejects.toBeInstanceOf(UsageError);
    await expect(loading).rejects.toThrow(/open to others/);
  });

  test.each([
    ['empty', ''],
    ['63 bytes', Buffer.alloc(63, 7)],
    ['65 bytes', Buffer.alloc(65, 7)],
    ['a public key', 'ssh-ed25519 AAAA me'],
    ['a torn OpenSSH key', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n'],
    ['a torn PKCS#8 key', '-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n'],
  ])('is Malformed if it holds %s, and stays unchanged', async (_name, content) => {
    await store(content);
    const loading = loadOrCreateSshKey(path);
    await expect(loading).rejects.toBeInstanceOf(Malformed);
    await expect(loading).rejects.toThrow(path);
    expect(await readFile(path)).toEqual(Buffer.from(content));
  });

  test('is a UsageError if it is a directory or cannot be created', async () => {
    await expect(loadOrCreateSshKey(dir)).rejects.toBeInstanceOf(UsageError);
    await store(rawKey());
    await expect(loadOrCreateSshKey(join(path, 'below'))).rejects.toBeInstanceOf(UsageError);
  });
});
