import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { listenAt } from '../../../emulators/kit/listen.ts';
import { root } from '../../repo/sources.ts';
import { isProvided } from '../../support/programs.ts';

const MIB = 1024 * 1024;
const IMAGE = Buffer.alloc(6 * MIB, 'the new system ');
const SHA256 = createHash('sha256').update(IMAGE).digest('hex');
const DISK_BYTES = 12 * MIB;
const OLD = Buffer.alloc(DISK_BYTES, 'the old system ');

/** Functions of `init.sh`, which write to a file in place of a disk. */
const [functions = ''] = readFileSync(join(root, 'src/commands/installer/init.sh'), 'utf8').split(
  '# udhcpc calls this program',
);
const WRITE = `
restart() { exit 1; }
sleep() { :; }
for tries in 1 2 3; do
  write_image && break
  [ "$tries" -lt 3 ] || fail "$(head -n 1 /tmp/broken)"
done
check_image
`;
/** Programs that the functions call: none can restart a computer. */
const PROGRAMS = 'cat dd gunzip head mkfifo rm sha256sum sync tee timeout tr wc wget'.split(' ');

/** @returns what is on the disk after the image was written, and what was reported. */
async function write(answer: (response: ServerResponse) => void, sha256 = SHA256) {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-init-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  let reported = '';
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return answer(response);
    request.on('data', (chunk: Buffer) => (reported += chunk.toString()));
    return request.on('end', () => response.end());
  });
  const { port, close } = await listenAt(server, { host: '127.0.0.1', port: 0 });
  onTestFinished(close);
  for (const name of ['bin', 'tmp']) mkdirSync(join(dir, name));
  for (const name of PROGRAMS) symlinkSync(busybox, join(dir, 'bin', name));
  writeFileSync(join(dir, 'disk'), OLD);
  writeFileSync(join(dir, 'size'), String(DISK_BYTES / 512));
  const script = `${functions}${WRITE}`
    .replaceAll('/tmp/', `${join(dir, 'tmp')}/`)
    .replace('. /disks.sh', '')
    .replace('export PATH=/bin', `export PATH=${join(dir, 'bin')}`)
    .replaceAll('/sys/block/${disk#/dev/}/size', join(dir, 'size'))
    .replaceAll(/\/dev\/kmsg|\/proc\/sys\/vm\/drop_caches/g, '/dev/null')
    .replace("disk=''", `disk=${join(dir, 'disk')}`)
    .replace("seed=''", `seed=http://127.0.0.1:${port}/`)
    .replace("image=''", `image=http://127.0.0.1:${port}/image`)
    .replace("sha256=''", `sha256=${sha256}`);
  const { stderr } = await promisify(execFile)(busybox, ['sh', '-c', script]).catch(
    (error: { readonly stderr: string }) => error,
  );
  expect(stderr).not.toContain('not found');
  const disk = readFileSync(join(dir, 'disk'));
  expect(disk).toHaveLength(DISK_BYTES);
  const isBlank = (from: number, to: number) => disk.subarray(from, to).every((byte) => byte === 0);
  return {
    ...{ disk, reported },
    areEndsBlank: isBlank(0, 4 * MIB) && isBlank(DISK_BYTES - MIB, DISK_BYTES),
  };
}
const busybox = '/bin/busybox';
const hasBusybox = isProvided(existsSync(busybox), {
  tested: 'what the installer writes',
  by: 'busybox-static',
});

test.runIf(hasBusybox)(
  'the image is on the disk, and the old table of partitions at its end is not',
  async () => {
    const { disk, reported } = await write((response) => response.end(IMAGE));
    expect(reported).toBe('');
    expect(disk.subarray(0, IMAGE.length).equals(IMAGE)).toBe(true);
    expect(disk.subarray(-MIB).every((byte) => byte === 0)).toBe(true);
  },
);

test.runIf(hasBusybox)(
  'another image, also one that reaches the end of the disk, does not boot',
  async () => {
    const whole = Buffer.alloc(DISK_BYTES, 'another system ');
    const { areEndsBlank, reported } = await write((response) => response.end(whole));
    expect(reported).toMatch(/^the image has SHA-256 [0-9a-f]{64}, not /);
    expect(areEndsBlank).toBe(true);
  },
);

test.runIf(hasBusybox)('half an image does not boot', async () => {
  const half = (response: ServerResponse) => {
    response.writeHead(200, { 'content-length': IMAGE.length });
    response.write(IMAGE.subarray(0, 5 * MIB), () => response.destroy());
  };
  const { areEndsBlank, reported } = await write(half);
  expect(reported).toMatch(/the download ended early/);
  expect(areEndsBlank).toBe(true);
});

test.runIf(hasBusybox)('without an image, nothing is erased', async () => {
  const { disk, reported } = await write((response) => response.writeHead(404).end());
  expect(reported).toBe('the image cannot be fetched');
  expect(disk.equals(OLD)).toBe(true);
});
