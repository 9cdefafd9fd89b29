import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TimedOut, Unreachable, UploadFailed } from '../../../src/domain/errors.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import {
  createSshdStand,
  live,
  namesIn,
  nothing,
  patient,
  programOf,
  resumes,
  sftpServersOf,
} from './sshd-stand.ts';
import type { Sshd } from './sshd.ts';

/** Against OpenSSH's real server. */
let stand: ReturnType<typeof createSshdStand>;
let sshd: Sshd;
beforeEach(async () => {
  stand = createSshdStand();
  sshd = await stand.sshd();
});
afterEach(() => stand.close());

const MB = 1_000_000;
const agentOn = ({ home }: Sshd) => join(home, 'agent');
const sizeIn = async ({ home }: Sshd, name: string) => (await stat(join(home, name))).size;
describe('an upload', () => {
  test('goes through cat where there is no SFTP, and can be resumed there too', async () => {
    const bare = await stand.sshd({ sftp: 'absent' });
    const file = await programOf(6 * MB);
    const line = await stand.proxy(bare, { holdAfterBytes: 2 * MB });
    const broken = (await stand.connect(line)).upload(agentOn(bare), file, live);
    broken.catch(() => undefined);
    const written = async () =>
      Math.max(
        ...(await Promise.all((await namesIn(bare.home)).map((name) => sizeIn(bare, name)))),
      );
    await expect.poll(written, patient).toBeGreaterThan(MB);
    await line.close();
    await expect(broken).rejects.toBeInstanceOf(Unreachable);
    const session = await stand.connect(bare);
    expect(await session.upload(agentOn(bare), file, live)).toEqual({ skipped: false });
    expect((await readFile(agentOn(bare))).equals(file.content)).toBe(true);
    expect(resumes(stand.log)).toHaveLength(1);
    expect(await session.upload(agentOn(bare), file, live)).toEqual({ skipped: true });
    await session.execute([agentOn(bare)], nothing, live);
    expect(await namesIn(bare.home)).toEqual(['agent']);
  });

  test('replaces a program that is running', async () => {
    const path = agentOn(sshd);
    await writeFile(path, await readFile('/bin/sleep'), { mode: 0o755 });
    const running = spawn(path, ['1000'], { stdio: 'ignore' });
    stand.later(() => running.kill('SIGKILL'));
    await new Promise((resolve) => running.once('spawn', resolve));
    await expect(open(path, 'r+')).rejects.toMatchObject({ code: 'ETXTBSY' });
    const session = await stand.connect(sshd);
    const file = await programOf(MB);
    await session.upload(path, file, live);
    await session.execute([path], nothing, live);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(running.exitCode, 'the old program runs on').toBeNull();
  });

  test('onto a directory, or into none, is refused', async () => {
    await mkdir(agentOn(sshd));
    const session = await stand.connect(sshd);
    const onto = session.upload(agentOn(sshd), uploadOf(nothing), live);
    await expect(onto).rejects.toBeInstanceOf(UploadFailed);
    await expect(onto).rejects.toThrow(/is a directory/);
    const into = session.upload(join(sshd.home, 'none/agent'), uploadOf(nothing), live);
    await expect(into).rejects.toBeInstanceOf(UploadFailed);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
    expect(await namesIn(agentOn(sshd))).toEqual([]);
  });

  test('over a slow line arrives', async () => {
    const line = await stand.proxy(sshd, { upBytesPerSecond: 300_000, downBytesPerSecond: 20_000 });
    const file = uploadOf(randomBytes(400_000));
    await (await stand.connect(line)).upload(agentOn(sshd), file, live);
    expect((await readFile(agentOn(sshd))).equals(file.content)).toBe(true);
  });

  test('over a line that is too slow ends with its limit, and is resumed by the next', async () => {
    const line = await stand.proxy(sshd, { upBytesPerSecond: 400_000 });
    const file = uploadOf(randomBytes(4 * MB));
    const slow = await stand.connect(line, { limits: { uploadMs: () => 1_500 } });
    const broken = slow.upload(agentOn(sshd), file, live);
    await expect(broken).rejects.toBeInstanceOf(TimedOut);
    await (await stand.connect(sshd)).upload(agentOn(sshd), file, live);
    expect((await readFile(agentOn(sshd))).equals(file.content)).toBe(true);
    expect(resumes(stand.log)).toHaveLength(1);
  });

  test('to a machine that reads no more ends with its limit', async () => {
    const session = await stand.connect(sshd, { limits: { uploadMs: () => 5_000 } });
    const upload = session.upload(agentOn(sshd), uploadOf(randomBytes(60 * MB)), live);
    upload.catch(() => undefined);
    const sftpServers = () => sftpServersOf(sshd);
    await expect.poll(sftpServers, patient).toHaveLength(1);
    for (const pid of sftpServers()) process.kill(pid, 'SIGSTOP');
    await expect(upload).rejects.toBeInstanceOf(TimedOut);
    await expect(stat(agentOn(sshd))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
