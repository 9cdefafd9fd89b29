import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Malformed, UsageError } from '../../../src/domain/errors.ts';
import { loadOrCreateSshKey, parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { openKeyRing } from '../../../src/adapters/ssh/key-ring.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import type { RecordingLog } from '../../doubles/recording-log.ts';
import { rawKey } from './keys.ts';

let dir: string;
let log: RecordingLog;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shepherd-ring-'));
  log = recordingLog();
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const at = (name: string) => join(dir, name);
const store = async (name: string, content: Buffer | string = rawKey()) => {
  await writeFile(at(name), content, { mode: 0o400, flag: 'wx' });
  return parseSshKey(Buffer.from(content), name).fingerprint;
};
const open = (previous: readonly string[] = [], passphrase?: string) =>
  openKeyRing({
    path: at('key'),
    previousPaths: previous.map(at),
    ...(passphrase !== undefined && { passphrase: () => passphrase }),
    log,
  });
const fingerprints = (ring: Awaited<ReturnType<typeof open>>) =>
  ring.keys().map(({ fingerprint }) => fingerprint);

describe('our keys', () => {
  test('C7: consist of the current key, created if absent, whose authorized_keys line is logged', async () => {
    const ring = await open();
    const { fingerprint, publicLine, privateKey } = await loadOrCreateSshKey(at('key'));
    expect(fingerprints(ring)).toEqual([fingerprint]);
    expect(ring.publicLine).toBe(publicLine);
    expect(log.lines).toMatchObject([{ level: 'info', message: 'SSH key loaded' }]);
    expect(log.lines[0]!.fields).toEqual({ fingerprint, previous: [], authorizedKey: publicLine });
    expect(inspect(log.lines)).not.toContain(privateKey.slice(60, 120));
  });

  test('list the current key first, then the previous ones, each once', async () => {
    const raw = rawKey();
    const current = await store('key', raw);
    await store('copy', raw);
    const [first, second] = [await store('first'), await store('second')];
    const ring = await open(['first', 'copy', 'second']);
    expect(fingerprints(ring)).toEqual([current, first, second]);
  });

  test('omit a missing previous key, and report that', async () => {
    const current = await store('key');
    expect(fingerprints(await open(['gone']))).toEqual([current]);
    expect(log.count('a previous SSH key does not exist')).toBe(1);
    expect(await readdir(dir), 'and none is made').toEqual(['key']);
  });

  test('are refused if a previous key is unusable, or there are too many', async () => {
    await store('key');
    await writeFile(at('torn'), 'torn', { mode: 0o400 });
    await expect(open(['torn'])).rejects.toBeInstanceOf(Malformed);
    await writeFile(at('open'), rawKey(), { mode: 0o644 });
    await expect(open(['open'])).rejects.toThrow(/open to others/);
    const many = ['1', '2', '3', '4', '5'];
    for (const name of many) await store(name);
    await expect(open(many)).rejects.toBeInstanceOf(UsageError);
    expect(fingerprints(await open(many.slice(1)))).toHaveLength(5);
  });

  test('may be encrypted', async () => {
    const { private: pem } = ssh2.utils.generateKeyPairSync('ecdsa', {
      bits: 256,
      passphrase: 'open sesame',
      cipher: 'aes256-ctr',
      rounds: 4,
    });
    await writeFile(at('key'), pem, { mode: 0o400 });
    await expect(open()).rejects.toThrow(/needs a passphrase/);
    expect((await open([], 'open sesame')).publicLine).toMatch(/^ecdsa-sha2-nistp256 /);
  });
});

describe('a rotation without restart', () => {
  test('puts the new key first and keeps the old one behind it', async () => {
    const before = await store('key');
    const ring = await open(['old']);
    expect(await ring.renew(), 'nothing has changed').toBe(false);
    await rename(at('key'), at('old'));
    const after = await store('key');
    expect(await ring.renew()).toBe(true);
    expect(fingerprints(ring)).toEqual([after, before]);
    expect(ring.publicLine).toBe((await loadOrCreateSshKey(at('key'))).publicLine);
    const authorizedKey = ring.publicLine;
    const told = { fingerprint: after, previous: [before], authorizedKey };
    expect(log.lines.at(-1)!.fields).toEqual(told);
    await rm(at('old'));
    expect(await ring.renew()).toBe(true);
    expect(fingerprints(ring)).toEqual([after]);
  });

  test.each([
    ['has gone', () => rm(at('key'))],
    ['is torn', () => rm(at('key')).then(() => writeFile(at('key'), 'x', { mode: 0o400 }))],
  ])('whose new key %s changes nothing, and is reported', async (_name, spoil) => {
    const before = await store('key');
    const ring = await open();
    await spoil();
    expect(await ring.renew()).toBe(false);
    expect(fingerprints(ring)).toEqual([before]);
    expect(log.lines.at(-1)!.level).toBe('error');
    expect(await readdir(dir), 'none is made in its place').toEqual(
      log.lines.at(-1)!.fields['cause']!.toString().includes('does not exist') ? [] : ['key'],
    );
  });
});
