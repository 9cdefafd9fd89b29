import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { ShellSession } from '../../../src/adapters/ssh/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import type { Ssh2ShellOptions } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import type { RecordingLog } from '../../doubles/recording-log.ts';
import { rawKey } from './keys.ts';
import { startRationedProxy } from './rationed-proxy.ts';
import type { Rations } from './rationed-proxy.ts';
import { startSshd } from './sshd.ts';
import type { Sshd, SshdOptions } from './sshd.ts';
import { PATIENCE } from '../../support/patience.ts';

export const live = new AbortController().signal;
export const nothing = Buffer.alloc(0);
/** For polls of real processes on a busy machine. */
export const patient = PATIENCE;
export const key = parseSshKey(rawKey(), 'key');
/** A login at a real server may take long on a busy machine. */
const run = promisify(execFile);
const AMPLE = { connectMs: 30_000, handshakeMs: 60_000 };

/** Resources of a test. All are closed at its end, the last first. */
export function createSshdStand() {
  const ends: (() => unknown)[] = [];
  const log = recordingLog();
  /** Tests run as any user, who acts as root on their own files. */
  const shellWith = (options: Partial<Ssh2ShellOptions> = {}) =>
    createSsh2Shell({
      signers: [key],
      sudo: 'never',
      clock: systemClock,
      log,
      ...options,
      limits: { ...AMPLE, ...options.limits },
    });
  const directory = async (): Promise<string> => {
    const dir = await mkdtemp(join(tmpdir(), 'shepherd-ssh-'));
    ends.push(() => rm(dir, { recursive: true, force: true }));
    return dir;
  };
  return {
    log,
    shellWith,
    directory,
    /** A separate file system of this size. Null if the test may not mount one. */
    async smallDisk(sizeBytes: number): Promise<string | null> {
      const dir = await directory();
      const options = ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'tmpfs', dir];
      const mounted = await run('mount', options).then(
        () => true,
        () => false,
      );
      if (mounted) ends.push(() => run('umount', [dir]));
      return mounted ? dir : null;
    },
    async sshd(options: Partial<SshdOptions> = {}): Promise<Sshd> {
      const sshd = await startSshd({ authorizedKeys: [key.publicLine], ...options });
      ends.push(sshd.stop);
      return sshd;
    },
    async proxy(to: Sshd, rations: Rations) {
      const proxy = await startRationedProxy(to.target.port, rations);
      ends.push(proxy.close);
      return { ...proxy, target: { ...to.target, port: proxy.port } };
    },
    async connect(
      { target }: Pick<Sshd, 'target'>,
      options: Partial<Ssh2ShellOptions> = {},
    ): Promise<ShellSession> {
      const session = await shellWith(options).connect(target, live);
      ends.push(session.close);
      return session;
    },
    /** Undone at the end of the test. */
    later: (end: () => unknown) => void ends.push(end),
    async close() {
      for (const end of ends.splice(0).toReversed()) await end();
    },
  };
}

/** The names in a directory, sorted. */
export const namesIn = async (dir: string): Promise<string[]> => (await readdir(dir)).toSorted();

/** The offset of each resumed upload, in bytes. */
export const resumes = (log: RecordingLog): number[] =>
  log.lines
    .filter(({ message }) => message === 'an upload goes on where it broke off')
    .map(({ fields }) => Number(fields['fromBytes']));

/** A separate program that ends at once, slightly larger than requested. */
export const programOf = async (sizeBytes: number) =>
  uploadOf(Buffer.concat([await readFile('/bin/true'), randomBytes(sizeBytes)]));

/** Its arguments, separated by zeros. Empty once it has ended. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

/** The processes that serve SFTP now. */
export const sftpServersOf = (sshd: Sshd): number[] =>
  sshd.pids().filter((pid) => commandOf(pid).split('\0')[0]!.endsWith('sftp-server'));
