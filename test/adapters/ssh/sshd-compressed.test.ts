import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as round } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TimedOut, Unreachable, UploadFailed } from '../../../src/domain/errors.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { createSshdStand, live, namesIn, nothing, patient, resumes } from './sshd-stand.ts';
import type { Sshd, SshdOptions } from './sshd.ts';

/** Against OpenSSH's real server. */
let stand: ReturnType<typeof createSshdStand>;
beforeEach(() => void (stand = createSshdStand()));
afterEach(() => stand.close());

const MB = 1_000_000;
const XZ = ['-0', '-T1', '--check=sha256', '--stdout'];

/** A program of which about `noiseBytes` remain when it is compressed, and three times that if not. */
async function agentOf(noiseBytes: number) {
  const noise = randomBytes(noiseBytes);
  const file = uploadOf(
    Buffer.concat([await readFile('/bin/true'), noise, Buffer.alloc(2 * noiseBytes, 'x')]),
  );
  const xz = async () => execFileSync('xz', XZ, { input: file.content, maxBuffer: 100 * MB });
  const gzip = async () => gzipSync(file.content);
  return { ...file, compressed: new Map([...Object.entries({ xz, gzip })]) };
}

/** A directory with these programs of busybox, and no other. */
async function busyboxWith(has: (applet: string) => boolean): Promise<string> {
  const dir = await stand.directory();
  const applets = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  for (const name of applets.filter(has)) await symlink('/bin/busybox', join(dir, name));
  return dir;
}

async function measured(sshd: Sshd) {
  const line = await stand.proxy(sshd, {});
  return { session: await stand.connect(line), sentBytes: line.upBytes };
}

const UNPACKERS = ['xz', 'gzip'];

describe.each<[string, Partial<SshdOptions>]>([
  ['over SFTP', {}],
  ['through cat', { sftp: 'absent' }],
])('a compressed program, %s', (_how, options) => {
  test.each([
    ['xz', UNPACKERS, [1, 2]],
    ['gzip', ['gzip'], [1, 2]],
    ['neither', [], [3, 4]],
  ] as const)(
    'is unpacked by %s of busybox, and sent once',
    async (_tool, tools, [fromMb, toMb]) => {
      const isGiven = (name: string) =>
        !UNPACKERS.includes(name) || (tools as readonly string[]).includes(name);
      const sshd = await stand.sshd({ ...options, path: await busyboxWith(isGiven) });
      const path = join(sshd.home, 'agent');
      const file = await agentOf(MB);
      const { session, sentBytes } = await measured(sshd);
      expect(await session.upload(path, file, live)).toEqual({ skipped: false });
      expect((await readFile(path)).equals(file.content)).toBe(true);
      expect((await stat(path)).mode & 0o777).toBe(file.mode);
      expect([sentBytes() > fromMb * MB, sentBytes() < toMb * MB]).toEqual([true, true]);
      expect(await session.upload(path, file, live)).toEqual({ skipped: true });
      expect(sentBytes()).toBeLessThan(toMb * MB);
      await session.execute([path], nothing, live);
      expect(await namesIn(sshd.home)).toEqual(['agent']);
    },
  );

  test('continues where it broke off', async () => {
    const sshd = await stand.sshd(options);
    const path = join(sshd.home, 'agent');
    const file = await agentOf(3 * MB);
    const line = await stand.proxy(sshd, { holdAfterBytes: 2 * MB });
    const broken = (await stand.connect(line)).upload(path, file, live);
    broken.catch(() => undefined);
    const partBytes = async () => {
      const [part] = await namesIn(sshd.home);
      return part === undefined ? 0 : (await stat(join(sshd.home, part))).size;
    };
    await expect.poll(partBytes, patient).toBeGreaterThan(MB);
    await line.close();
    await expect(broken).rejects.toBeInstanceOf(Unreachable);
    const { session, sentBytes } = await measured(sshd);
    await session.upload(path, file, live);
    expect(resumes(stand.log)).toHaveLength(1);
    expect(sentBytes()).toBeLessThan(2.5 * MB);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
  });

  test('is refused with the free space if only its compressed form has room', async () => {
    const dir = await stand.smallDisk(5 * MB);
    if (dir === null) return expect(process.getuid!()).not.toBe(0);
    const path = join(dir, 'agent');
    const session = await stand.connect(await stand.sshd(options));
    const upload = session.upload(path, await agentOf(2 * MB), live);
    await expect(upload).rejects.toBeInstanceOf(UploadFailed);
    await expect(upload).rejects.toThrow(
      /by xz -dc.* has [45]\.\d MB free, but 8\.\d MB are needed/,
    );
    expect(await namesIn(dir)).toEqual([]);
  });
});

describe('a program on the machine', () => {
  const flip = async (path: string) => {
    const content = await readFile(path);
    content[content.length - 1]! ^= 1;
    await writeFile(path, content);
  };
  test.each<[string, (path: string) => Promise<unknown>]>([
    ['was cut short', (path) => truncate(path, MB)],
    ['was changed', flip],
    ['was in memory, and the machine booted', (path) => rm(path)],
  ])('is sent again if it %s', async (_what, harm) => {
    const sshd = await stand.sshd();
    const path = join(sshd.home, 'agent');
    const file = await agentOf(MB);
    await (await stand.connect(sshd)).upload(path, file, live);
    await harm(path);
    const session = await stand.connect(sshd);
    expect(await session.upload(path, file, live)).toEqual({ skipped: false });
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(await session.upload(path, file, live)).toEqual({ skipped: true });
  });

  test.each([
    ['is another one', async () => (await agentOf(MB)).compressed.get('xz')!()],
    ['is damaged', async () => randomBytes(MB)],
  ])('stays if what was sent compressed %s', async (_what, xz) => {
    const sshd = await stand.sshd();
    const path = join(sshd.home, 'agent');
    await writeFile(path, 'old');
    const file = { ...(await agentOf(MB)), compressed: new Map([['xz', xz]]) };
    const upload = (await stand.connect(sshd)).upload(path, file, live);
    await expect(upload).rejects.toBeInstanceOf(UploadFailed);
    await expect(upload).rejects.toThrow(/differs from what was sent|could not be written by xz/);
    expect(await readFile(path, 'utf8')).toBe('old');
    expect(await namesIn(sshd.home)).toEqual(['agent']);
  });

  test('is unpacked as root with sudo', async () => {
    const sshd = await stand.sshd({ sudo: '#!/bin/sh\nshift\nexec "$@"\n' });
    const dir = await stand.directory();
    const file = await agentOf(MB);
    const session = await stand.connect(sshd, { sudo: 'always' });
    await writeFile(join(dir, '.agent.part-copy-left'), 'by an upload that was killed');
    await session.upload(join(dir, 'agent'), file, live);
    expect((await readFile(join(dir, 'agent'))).equals(file.content)).toBe(true);
    expect([await namesIn(dir), await namesIn(sshd.home)]).toEqual([['agent'], []]);
  });
});

describe('an upload over a slow line', () => {
  const LIMIT_MS = 1_000;
  test.each<[string, Partial<SshdOptions>]>([
    ['over SFTP', {}],
    ['through cat', { sftp: 'absent' }],
  ])('%s, may last as long as bytes pass, and ends when none do', async (_how, options) => {
    const clock = createSimulatedClock();
    const sshd = await stand.sshd(options);
    const path = join(sshd.home, 'agent');
    const line = await stand.proxy(sshd, {});
    const limits = { uploadStallMs: () => LIMIT_MS };
    const session = await stand.connect(line, { clock, limits });
    const upload = session.upload(path, uploadOf(randomBytes(30 * MB)), live);
    upload.catch(() => undefined);
    for (let passed = 5 * MB; passed <= 20 * MB; passed += 5 * MB) {
      // More than OpenSSH's window and all chunks in flight: the machine took some meanwhile.
      while (line.upBytes() < passed) await round();
      clock.increment(LIMIT_MS - 1);
    }
    line.hold();
    clock.increment(LIMIT_MS);
    await expect(upload).rejects.toThrow('no progress for 1000 ms');
    await expect(upload).rejects.toBeInstanceOf(TimedOut);
  });
});
