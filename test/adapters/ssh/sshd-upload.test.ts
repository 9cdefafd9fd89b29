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
let path: string;
beforeEach(async () => {
  stand = createSshdStand();
  sshd = await stand.sshd();
  path = join(sshd.home, 'agent');
});
afterEach(() => stand.close());

const MB = 1_000_000;
const sftpServers = () => sftpServersOf(sshd);
const agentOn = ({ home }: Sshd) => join(home, 'agent');
const sizeIn = async ({ home }: Sshd, name: string) => (await stat(join(home, name))).size;
describe('an upload', () => {
  test('uses cat on a host without SFTP, and can be resumed there too', async () => {
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

  test('replaces a running program', async () => {
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

  test('is refused if its target is a directory, or in none', async () => {
    await mkdir(path);
    const session = await stand.connect(sshd);
    const onto = session.upload(path, uploadOf(nothing), live);
    await expect(onto).rejects.toBeInstanceOf(UploadFailed);
    await expect(onto).rejects.toThrow(/is a directory/);
    const into = session.upload(join(sshd.home, 'none/agent'), uploadOf(nothing), live);
    await expect(into).rejects.toBeInstanceOf(UploadFailed);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
    expect(await namesIn(path)).toEqual([]);
  });

  test('ends with its limit on a machine that stops reading', async () => {
    const session = await stand.connect(sshd, { limits: { uploadStallMs: () => 5_000 } });
    const upload = session.upload(path, uploadOf(randomBytes(60 * MB)), live);
    upload.catch(() => undefined);
    await expect.poll(sftpServers, patient).toHaveLength(1);
    for (const pid of sftpServers()) process.kill(pid, 'SIGSTOP');
    await expect(upload).rejects.toBeInstanceOf(TimedOut);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

const partsIn = async () => (await namesIn(sshd.home)).filter((name) => name.includes('.part-'));

/** Breaks off when about this much of the file has arrived. */
async function breakOff(file: ReturnType<typeof uploadOf>, afterBytes: number) {
  const line = await stand.proxy(sshd, { cutAfterBytes: afterBytes });
  const broken = (await stand.connect(line)).upload(path, file, live);
  await expect(broken).rejects.toBeInstanceOf(Unreachable);
  await expect.poll(sftpServers, { ...patient, message: 'the machine has noticed' }).toEqual([]);
}

describe('an interrupted upload', () => {
  test('continues from its end, repeatedly', async () => {
    const file = await programOf(12 * MB);
    for (let round = 0; round < 3; round += 1) await breakOff(file, 4 * MB);
    expect(await partsIn(), 'one part, however often').toHaveLength(1);
    const line = await stand.proxy(sshd, {});
    const session = await stand.connect(line);
    await session.upload(path, file, live);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    const from = resumes(stand.log);
    expect(from).toEqual(from.toSorted((a, b) => a - b));
    expect([from.length, from[2]! > 4 * MB]).toEqual([3, true]);
    expect(line.upBytes(), 'only the rest was sent').toBeLessThan(8 * MB);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
    await session.execute([path], nothing, live);
  });

  const changePart = async () => {
    const part = join(sshd.home, (await partsIn())[0]!);
    const content = await readFile(part);
    content[1_000]! ^= 1;
    await writeFile(part, content);
  };
  const leaveTooLong = async ({ content, sha256 }: ReturnType<typeof uploadOf>) => {
    const name = `.agent.part-${sha256.slice(0, 16)}-of somebody`;
    await writeFile(join(sshd.home, name), Buffer.concat([content, Buffer.from('x')]));
  };
  test.each<[string, (file: ReturnType<typeof uploadOf>) => Promise<void>]>([
    ['was changed meanwhile', (file) => breakOff(file, 4 * MB).then(changePart)],
    ['is longer than it', leaveTooLong],
    ['is of other content', () => breakOff(uploadOf(randomBytes(6 * MB)), 4 * MB)],
  ])('begins anew, and removes the part, if its part %s', async (_what, leave) => {
    const file = uploadOf(randomBytes(6 * MB));
    await leave(file);
    await (await stand.connect(sshd)).upload(path, file, live);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    expect(resumes(stand.log)).toEqual([]);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
  });

  test('continues although the machine still holds its part open, and the program can run', async () => {
    const file = await programOf(12 * MB);
    const dead = await stand.proxy(sshd, { holdAfterBytes: 6 * MB });
    const limits = { uploadStallMs: () => 1_500 };
    const first = (await stand.connect(dead, { limits })).upload(path, file, live);
    await expect(first).rejects.toBeInstanceOf(TimedOut);
    expect(sftpServers(), 'nobody told the machine').toHaveLength(1);
    const session = await stand.connect(sshd);
    await session.upload(path, file, live);
    expect(resumes(stand.log)).toHaveLength(1);
    expect(sftpServers().length).toBeGreaterThan(0);
    await session.execute([path], nothing, live);
    expect((await readFile(path)).equals(file.content)).toBe(true);
  });
});

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

describe('concurrent uploads', () => {
  const outcomes = async (files: readonly ReturnType<typeof uploadOf>[]) => {
    const sessions = await Promise.all(files.map(() => stand.connect(sshd)));
    let ended = false;
    const seen = new Set<string>();
    const watching = (async () => {
      while (!ended) {
        const content = await readFile(path).catch(unlessMissing);
        if (content) seen.add(uploadOf(content).sha256);
      }
    })();
    const results = await Promise.allSettled(
      sessions.map((session, at) => session.upload(path, files[at]!, live)),
    );
    ended = true;
    await watching;
    for (const result of results) {
      if (result.status === 'fulfilled') continue;
      expect(result.reason).toBeInstanceOf(UploadFailed);
    }
    expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
    seen.add(uploadOf(await readFile(path)).sha256);
    const whole = new Set(files.map(({ sha256 }) => sha256));
    expect(
      [...seen].filter((sha256) => !whole.has(sha256)),
      'whoever looks sees no part',
    ).toEqual([]);
    expect(await namesIn(sshd.home)).toEqual(['agent']);
    return results.map(({ status }) => status);
  };

  test.each(['the same content', 'different contents'])('of %s do not mix', async (which) => {
    const same = await programOf(4 * MB);
    const file = async () => (which === 'the same content' ? same : programOf(4 * MB));
    await outcomes(await Promise.all(Array.from({ length: 5 }, file)));
    await (await stand.connect(sshd)).execute([path], nothing, live);
  });

  test('let a later one take over the part of one that is still alive', async () => {
    const file = await programOf(8 * MB);
    const slow = await stand.proxy(sshd, { upBytesPerSecond: 3 * MB });
    const first = (await stand.connect(slow)).upload(path, file, live);
    first.catch(() => undefined);
    const sizeOfPart = async () => {
      const [name] = await partsIn();
      return name === undefined ? 0 : (await readFile(join(sshd.home, name))).length;
    };
    await expect.poll(sizeOfPart, patient).toBeGreaterThan(MB);
    const session = await stand.connect(sshd);
    await session.upload(path, file, live);
    expect(resumes(stand.log)).toHaveLength(1);
    expect((await readFile(path)).equals(file.content)).toBe(true);
    await first;
    expect((await readFile(path)).equals(file.content)).toBe(true);
    await session.execute([path], nothing, live);
  });
});
