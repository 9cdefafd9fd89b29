import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createAcceptanceRunner,
  readSpeed,
  writeTemporary,
  type AcceptanceDeps,
} from '../../src/agent/acceptance.ts';
import { createConditions } from '../../src/agent/hardware/conditions.ts';
import type { HardwareNode, WireProfile } from '../../src/wire/codec.ts';
import { createBench, MINUTE_MS } from './heartbeat-bench.ts';

const GIB = 1024n ** 3n;
const disk = (name: string, gigabytes: number, more: object = {}) => ({
  ...{ name, capacityBytes: BigInt(gigabytes) * 1_000_000_000n, ...more },
});
const NODE: HardwareNode = {
  memoryInstalledBytes: 62n * GIB,
  cpu: [{ hardwareThreads: 8 }, { hardwareThreads: 8 }],
  blockDevice: [disk('sda', 480), disk('sdb', 481), disk('nvme0n1', 1920)],
  networkInterface: [
    { linkUp: true, currentSpeedBytes: 125_000_000n },
    { linkUp: false, currentSpeedBytes: 1_250_000_000n },
  ],
};

/** The results as words: `memory ok 62 GiB`. */
async function check(
  profile: WireProfile,
  node: HardwareNode = NODE,
  deps: Partial<AcceptanceDeps> = {},
) {
  const run = createAcceptanceRunner({
    collect: async () => ({ report: node }),
    judge: (report, skewMs) => createConditions(null)(report, skewMs),
    writeRoot: async () => undefined,
    readSpeed: async ({ name }) => (name === 'sdb' ? 40.04 : 200),
    ...deps,
  });
  const result = await run({ id: 7n, profile }, 0);
  const words = result.check!.map(
    ({ name, found, status }) => `${name} ${['unknown', 'ok', 'failed'][status!]} ${found}`,
  );
  return { ...result, words };
}

describe('an acceptance', () => {
  test('notices a lost disk beside others of nearly its size', async () => {
    const disks = [
      { sizeGb: 4_000, count: 2 },
      { sizeGb: 4_001, count: 2 },
    ];
    const judged = async (...sizes: number[]) => {
      const blockDevice = sizes.map((size, at) => disk(`sd${at}`, size));
      const { words } = await check({ disks }, { ...NODE, blockDevice });
      return words.filter((each) => each.startsWith('disks')).map((each) => each.split(' ')[1]);
    };
    expect(await judged(4_000, 4_000, 4_001, 4_001)).toEqual(['ok', 'ok']);
    expect(await judged(4_000, 4_000, 4_001)).toEqual(['failed', 'failed']);
  });

  test('compares the hardware with the profile, with some tolerance', async () => {
    const disks = [{ sizeGb: 500, count: 2 }];
    const right = { memoryGib: 64, cpus: 16, disks, networkMbps: 1_000 };
    expect((await check(right)).words).toEqual([
      'memory ok 62 GiB',
      'cpus ok 16 threads',
      'disks ok 1 × 480 GB, 1 × 481 GB, 1 × 1920 GB',
      'network ok 1000 Mbit/s',
      'clock-skewed ok no fault found',
      'root file system ok writable',
    ]);
    const wrong = { memoryGib: 66, cpus: 17, disks: [{ sizeGb: 520, count: 1 }] };
    const { words, check: checks } = await check({ ...wrong, networkMbps: 10_000 });
    expect(words.slice(0, 4)).toEqual([
      'memory failed 62 GiB',
      'cpus failed 16 threads',
      'disks failed 1 × 480 GB, 1 × 481 GB, 1 × 1920 GB',
      'network failed 1000 Mbit/s',
    ]);
    expect(checks!.slice(0, 3).map(({ expected }) => expected)).toEqual([
      ...['66 GiB', '17 threads', '1 × 520 GB'],
    ]);
  });

  test('tells what it found, which a server may expect later', async () => {
    const { id, found, words } = await check({});
    expect(id).toBe(7n);
    expect(found).toEqual({
      ...{ memoryGib: 62, cpus: 16, networkMbps: 1_000 },
      disks: [
        { sizeGb: 480, count: 1 },
        { sizeGb: 481, count: 1 },
        { sizeGb: 1920, count: 1 },
      ],
    });
    expect((await check(found!)).words.filter((word) => word.includes('failed'))).toEqual([]);
    expect(words).toContain('memory ok 62 GiB');
  });

  test('says unknown where nothing can be read', async () => {
    expect((await check({ memoryGib: 64 }, {})).words).toEqual([
      'memory unknown it cannot be read',
      'cpus unknown it cannot be read',
      'network unknown it cannot be read',
      'clock-skewed ok no fault found',
      'root file system ok writable',
    ]);
  });

  test('fails for a disk that fails or is worn, and for a root that cannot be written', async () => {
    const ill = disk('sda', 480, { criticalWarning: true, mediaErrors: 0n, usageRatio: 1.2 });
    const writeRoot = () => Promise.reject(new Error('EROFS: read-only file system'));
    const { words } = await check({}, { ...NODE, blockDevice: [ill] }, { writeRoot });
    expect(words.slice(3)).toEqual([
      'disk-failing failed sda warns that it fails',
      'disk-worn failed sda has used 120 % of its rated life',
      'clock-skewed ok no fault found',
      'root file system failed EROFS: read-only file system',
    ]);
  });

  test('reads the disks only with a floor, one after the other', async () => {
    let [reading, most] = [0, 0];
    const speed = async ({ name }: { name?: string | null }) => {
      most = Math.max(most, ++reading);
      await Promise.resolve();
      reading -= 1;
      if (name === 'nvme0n1') throw new Error('EIO: i/o error');
      return name === 'sdb' ? 40.04 : 200;
    };
    expect((await check({}, NODE, { readSpeed: speed })).words.join()).not.toContain('read sda');
    const { words } = await check({ readMegabytes: 100 }, NODE, { readSpeed: speed });
    expect(words.slice(-3)).toEqual([
      'read sda ok 200 MB/s',
      'read sdb failed 40 MB/s',
      'read nvme0n1 failed EIO: i/o error',
    ]);
    expect(most).toBe(1);
  });
});

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-acceptance-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

test('leaves no temporary file behind, and fails where it cannot write', async () => {
  const directory = temporary();
  await writeTemporary(directory);
  expect(readdirSync(directory)).toEqual([]);
  await expect(writeTemporary(join(directory, 'none'))).rejects.toThrow('ENOENT');
});

test('measures a read of a part of the disk, and gives up after the limit', async () => {
  const path = join(temporary(), 'disk');
  writeFileSync(path, '');
  const size = 300 * 1024 ** 2;
  truncateSync(path, size);
  const times = [0, 1_000];
  const clock = { now: () => times.shift() ?? 0, random: () => 0.5 };
  expect(await readSpeed(path, size, clock)).toBeCloseTo(268.4, 1);
  const late = readSpeed(path, size, { ...clock, limitMs: 1 });
  await expect(late).rejects.toThrow('the read took longer than 1 ms');
  truncateSync(path, 0);
  await expect(readSpeed(path, size, clock)).rejects.toThrow('nothing could be read');
});

describe('the heartbeat loop', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const asked = (id: bigint) => () => ({ acceptance: { id, profile: {} } });

  test('answers a request of acceptance at once, and once', async () => {
    const bench = createBench();
    onTestFinished(bench.stop);
    bench.answers.push(asked(3n), () => ({}));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(bench.requests.map(({ acceptance }) => acceptance?.id ?? null)).toEqual([null, 3n]);
    await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
    expect(bench.requests.slice(2).some(({ acceptance }) => acceptance)).toBe(false);
    expect(bench.acceptances.ran).toEqual([3n]);
  });

  test('reports what the machine has now together with the result', async () => {
    const bench = createBench();
    onTestFinished(bench.stop);
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    const before = bench.requests.length;
    bench.reports.conditions = [{ type: 'disk-failing', status: 2 }];
    bench.answers.push(asked(3n));
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    const [answer] = bench.requests.slice(before).filter(({ acceptance }) => acceptance);
    expect(answer!.hardwareReport).toBeTruthy();
    expect(answer!.condition).toEqual(bench.reports.conditions);
  });

  test('repeats a result that the server did not get, without new checks', async () => {
    const bench = createBench();
    onTestFinished(bench.stop);
    bench.always(asked(3n));
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(bench.requests.filter(({ acceptance }) => acceptance?.id === 3n).length).toBeGreaterThan(
      3,
    );
    expect(bench.acceptances.ran).toEqual([3n]);
    bench.always(asked(4n));
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(bench.acceptances.ran).toEqual([3n, 4n]);
    expect(bench.requests.at(-1)!.acceptance?.id).toBe(4n);
  });

  test('goes on while the checks run', async () => {
    const bench = createBench();
    onTestFinished(bench.stop);
    bench.acceptances.gate = new Promise(() => undefined);
    bench.always(asked(3n));
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(bench.requests.length).toBeGreaterThan(5);
    expect(bench.acceptances.ran).toEqual([3n]);
    bench.acceptances.gate = Promise.resolve();
    bench.always(asked(4n));
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(bench.requests.at(-1)!.acceptance?.id, 'a newer request').toBe(4n);
  });
});
