import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandFailed, UploadFailed } from '../../../src/domain/errors.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { createSshdStand, live, namesIn, nothing } from './sshd-stand.ts';
import type { SshdOptions } from './sshd.ts';

/** Against OpenSSH's real server. */
let stand: ReturnType<typeof createSshdStand>;
beforeEach(() => void (stand = createSshdStand()));
afterEach(() => stand.close());

const MB = 1_000_000;

describe.each([
  ['over SFTP', {}],
  ['through cat', { sftp: 'absent' }],
] as const)('a machine without free space, %s', (_name, how: Partial<SshdOptions>) => {
  test.each(['a full disk', 'a quota'])(
    '%s: keeps the old file, and leaves nothing else',
    async (why) => {
      const disk = why === 'a quota' ? null : await stand.smallDisk(4 * MB);
      // Without a mount, the limit of the largest file replaces the disk.
      const sshd = await stand.sshd({ ...how, ...(disk === null && { fileBytesMax: 2 * MB }) });
      const dir = disk ?? sshd.home;
      const path = join(dir, 'agent');
      await writeFile(path, 'old');
      const session = await stand.connect(sshd);
      const upload = session.upload(path, uploadOf(randomBytes(6 * MB)), live);
      await expect(upload).rejects.toBeInstanceOf(UploadFailed);
      if (disk !== null) {
        await expect(upload).rejects.toThrow(
          /has [34]\.\d MB free, but 6\.0 MB are needed; free space there/,
        );
      }
      expect(await namesIn(dir)).toEqual(['agent']);
      expect(await readFile(path, 'utf8')).toBe('old');
      await session.upload(path, uploadOf(randomBytes(MB)), live);
      expect((await readFile(path)).length).toBe(MB);
    },
  );
});

test('a disk that has become read-only keeps a program that can run already', async () => {
  const disk = await stand.smallDisk(4 * MB);
  if (disk === null) return expect(process.getuid?.(), 'root may mount').not.toBe(0);
  const session = await stand.connect(await stand.sshd());
  const file = uploadOf(randomBytes(MB));
  await session.upload(join(disk, 'agent'), file, live);
  await promisify(execFile)('mount', ['-o', 'remount,ro', disk]);
  expect(await session.upload(join(disk, 'agent'), file, live)).toEqual({ skipped: true });
  const other = session.upload(join(disk, 'agent'), uploadOf(randomBytes(MB)), live);
  await expect(other).rejects.toThrow(UploadFailed);
});

describe('with sudo', () => {
  /** Lets its caller act as root, and records the commands. */
  const SUDO = '#!/bin/sh\n[ "$1" = -n ] || exit 9\nshift\necho "$1" >>"$HOME/.sudo"\nexec "$@"\n';
  const sudoed = async (home: string) =>
    (await readFile(join(home, '.sudo'), 'utf8')).trim().split('\n');

  test('runs commands and puts files in place', async () => {
    const sshd = await stand.sshd({ sudo: SUDO });
    const dir = await stand.directory();
    const path = join(dir, "root's place");
    const session = await stand.connect(sshd, { sudo: 'always' });
    const { stdout } = await session.execute(['printf', '%s', 'a b'], nothing, live);
    expect(stdout.toString()).toBe('a b');
    expect(await sudoed(sshd.home)).toEqual(['printf']);
    const file = uploadOf(randomBytes(MB));
    expect(await session.upload(path, file, live)).toEqual({ skipped: false });
    expect(await sudoed(sshd.home)).toEqual(['printf', 'sh', 'sh']);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(await session.upload(path, file, live)).toEqual({ skipped: true });
    expect(await namesIn(dir)).toEqual(["root's place"]);
    expect(await namesIn(sshd.home), 'the way there is cleared').toEqual(['.sudo']);
  });

  test('resumes an interrupted upload', async () => {
    const sshd = await stand.sshd({ sudo: SUDO });
    const dir = await stand.directory();
    const path = join(dir, 'agent');
    const file = uploadOf(randomBytes(6 * MB));
    const line = await stand.proxy(sshd, { cutAfterBytes: 3 * MB });
    const broken = (await stand.connect(line, { sudo: 'always' })).upload(path, file, live);
    await expect(broken).rejects.toThrow();
    expect(await namesIn(dir)).toEqual([]);
    await (await stand.connect(sshd, { sudo: 'always' })).upload(path, file, live);
    expect(stand.log.count('an upload goes on where it broke off')).toBe(1);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(await namesIn(dir)).toEqual(['agent']);
    expect(await namesIn(sshd.home)).toEqual(['.sudo']);
  });

  test('leaves nothing where the file belongs if there is no space', async () => {
    const disk = await stand.smallDisk(2 * MB);
    const limit = disk === null ? { fileBytesMax: 2 * MB } : {};
    const sshd = await stand.sshd({ sudo: SUDO, ...limit });
    const dir = disk ?? (await stand.directory());
    const session = await stand.connect(sshd, { sudo: 'always' });
    const upload = session.upload(join(dir, 'agent'), uploadOf(randomBytes(4 * MB)), live);
    await expect(upload).rejects.toBeInstanceOf(UploadFailed);
    await expect(upload).rejects.toThrow(disk === null ? /was refused/ : /[Nn]o (space|room)/);
    expect(await namesIn(dir)).toEqual([]);
    expect(await namesIn(sshd.home)).toEqual(['.sudo']);
  });

  test('sends nothing to a sudo that requires a password', async () => {
    const refusing = '#!/bin/sh\necho "sudo: a password is required" >&2\nexit 1\n';
    const sshd = await stand.sshd({ sudo: refusing });
    const session = await stand.connect(sshd, { sudo: 'always' });
    const running = session.execute(['true'], nothing, live);
    await expect(running).rejects.toBeInstanceOf(CommandFailed);
    await expect(running).rejects.toThrow(/a password is required/);
    const upload = session.upload(join(sshd.home, 'agent'), uploadOf(randomBytes(MB)), live);
    await expect(upload).rejects.toThrow(/a password is required/);
    expect(await namesIn(sshd.home)).toEqual([]);
  });
});
