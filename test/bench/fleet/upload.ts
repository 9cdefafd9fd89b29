import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseSshKey, type SshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';
import { startSshd, type Sshd } from '../../adapters/ssh/sshd.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { median, rounded } from '../measure.ts';

export interface UploadOptions {
  /** How often each side uploads, in turns; the median counts. */
  readonly rounds: number;
  /** For a person who waits. */
  readonly progress?: (line: string) => void;
  /** 30 MB when absent. */
  readonly sizeBytes?: number;
}

/** MB/s of one upload, from nothing to the file in place: connection and check included. */
export interface UploadFigures {
  readonly ours: number;
  /** The `sftp` command of OpenSSH, which does not check what it wrote. */
  readonly sftp: number;
  readonly uploadRatio: number;
}

const SIZE_BYTES = 30_000_000;
const run = promisify(execFile);

/**
 * Uploads a file of random bytes to one sshd of OpenSSH over loopback, by our shell and by `sftp`.
 * @throws {Error} OpenSSH's server or client is missing.
 */
export async function measureUpload(options: UploadOptions): Promise<UploadFigures> {
  const key = parseSshKey(rawKey(), 'key');
  const dir = await mkdtemp(path.join(tmpdir(), 'shepherd-bench-upload-'));
  try {
    const sshd = await startSshd({ authorizedKeys: [key.publicLine] });
    try {
      return await measureOn(sshd, key, dir, options);
    } finally {
      await sshd.stop();
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function measureOn(
  sshd: Sshd,
  key: SshKey,
  dir: string,
  { rounds, progress, sizeBytes = SIZE_BYTES }: UploadOptions,
): Promise<UploadFigures> {
  const content = randomBytes(sizeBytes);
  const target = path.join(sshd.home, 'uploaded');
  const sides = {
    ours: ourUpload(sshd, key, content),
    sftp: await sftpCommand(sshd, key, dir, content),
  };
  const seen: Record<keyof typeof sides, number[]> = { ours: [], sftp: [] };
  // The first of each warms caches and code, and does not count.
  for (let round = 0; round <= rounds; round += 1) {
    for (const side of ['ours', 'sftp'] as const) {
      const begun = performance.now();
      await sides[side](target);
      const perSecond = sizeBytes / 1e3 / (performance.now() - begun);
      await assertThere(target, sizeBytes);
      if (round > 0) seen[side].push(perSecond);
    }
    if (round === 0) continue;
    const [ours, sftp] = [seen.ours, seen.sftp].map((each) => each.at(-1)!.toFixed(0));
    progress?.(`round ${round}/${rounds}: upload ${ours} MB/s, sftp ${sftp} MB/s`);
  }
  const [ours, sftp] = [median(seen.ours), median(seen.sftp)];
  return { ours: rounded(ours), sftp: rounded(sftp), uploadRatio: rounded(ours / sftp) };
}

type Upload = (target: string) => Promise<unknown>;

function ourUpload(sshd: Sshd, key: SshKey, content: Buffer): Upload {
  const live = new AbortController().signal;
  const file = uploadOf(content);
  const shell = createSsh2Shell({
    signers: [key],
    sudo: 'never',
    clock: systemClock,
    log: silentLog,
  });
  return async (target) => {
    const session = await shell.connect(sshd.target, live);
    try {
      await session.upload(target, file, live);
    } finally {
      session.close();
    }
  };
}

async function sftpCommand(
  { target: { host, port, username } }: Sshd,
  key: SshKey,
  dir: string,
  content: Buffer,
): Promise<Upload> {
  const [file, identity, batch] = ['file', 'key', 'batch'].map((name) => path.join(dir, name));
  await writeFile(file!, content);
  await writeFile(identity!, key.privateKey, { mode: 0o600 });
  const settings = [
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'IdentitiesOnly=yes',
    'BatchMode=yes',
  ].flatMap((setting) => ['-o', setting]);
  const fixed = ['-q', '-F', 'none', '-i', identity!, '-P', String(port), ...settings];
  return async (target) => {
    await writeFile(batch!, `put ${file} ${target}\n`);
    await run('sftp', [...fixed, '-b', batch!, `${username}@${host}`]);
  };
}

async function assertThere(target: string, sizeBytes: number): Promise<void> {
  const { size } = await stat(target);
  if (size !== sizeBytes) throw new Error(`${size} bytes arrived of ${sizeBytes}`);
  await rm(target);
}
