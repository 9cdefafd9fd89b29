import { describe, expect, test } from 'vitest';
import { clockSkewMs, createConditions } from '../../../src/agent/hardware/conditions.ts';
import { degradedArrays, isRootReadOnly } from '../../../src/agent/hardware/kernel-files.ts';
import type { BlockDevice, HardwareReport, NetworkInterface } from '../../../src/wire/codec.ts';
import { testRows } from '../../support/rows.ts';
import { plantTree } from '../tree-fixture.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** From the Linux RAID wiki, "Mdstat", and md(4). */
const MDSTAT = {
  whole: `Personalities : [raid1] [raid6] [raid5] [raid4]
md_d0 : active raid5 sde1[0] sdf1[4] sdb1[5] sdd1[2] sdc1[1]
      1250241792 blocks super 1.2 level 5, 64k chunk, algorithm 2 [5/5] [UUUUU]
      bitmap: 0/10 pages [0KB], 16384KB chunk

unused devices: <none>`,
  rebuilding: `Personalities : [raid1] [raid6] [raid5] [raid4]
md127 : active raid5 sdh1[6] sdg1[4] sdf1[3] sde1[2] sdd1[1] sdc1[0]
      1464725760 blocks level 5, 64k chunk, algorithm 2 [6/5] [UUUUU_]
      [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec

unused devices: <none>`,
  twoArrays: `Personalities : [raid1] [raid0]
md1 : active raid1 sdb2[1](F) sda2[0]
      136448 blocks [2/1] [U_]

md0 : active raid1 sdb1[1] sda1[0]
      129596288 blocks [2/2] [UU]

md2 : active raid0 sdc1[0] sdd1[1]
      1953260544 blocks super 1.2 512k chunks

unused devices: <none>`,
  none: 'Personalities : \nunused devices: <none>',
};

testRows([
  ['whole', []],
  ['rebuilding', [['md127', '[6/5] [UUUUU_]']]],
  ['twoArrays', [['md1', '[2/1] [U_]']]],
  ['none', []],
] as const)('finds degraded arrays in /proc/mdstat: %s', (name, degraded) => {
  const found = degradedArrays(MDSTAT[name]);
  expect(found.map((each) => [each.name, each.state])).toEqual(degraded);
});

testRows([
  ['/dev/sda1 / ext4 rw,relatime,errors=remount-ro 0 0', false],
  ['/dev/sda1 / ext4 ro,relatime,errors=remount-ro 0 0', true],
  ['rootfs / rootfs rw 0 0\n/dev/sda1 / xfs ro 0 0\n/dev/sdb1 /data xfs rw 0 0', true],
  ['/dev/sda1 / ext4 rw 0 0\n/dev/sdb1 /data xfs ro 0 0', false],
  ['/dev/loop0 / squashfs ro,relatime 0 0', null],
  ['', null],
] as const)('reads from /proc/mounts whether the root file system is read-only: %s', (text, is) => {
  expect(isRootReadOnly(text)).toBe(is);
});

testRows([
  [{ serverMs: 100_050, sentMs: 100_000, receivedMs: 100_100 }, 0],
  [{ serverMs: 60_000, sentMs: 100_000, receivedMs: 100_100 }, 40_000],
  [{ serverMs: 140_100, sentMs: 100_000, receivedMs: 100_100 }, -40_000],
  [{ serverMs: 140_100, sentMs: 100_000, receivedMs: 140_100 }, 0],
  [{ serverMs: 0, sentMs: 100_000, receivedMs: 100_100 }, null],
] as const)(
  'counts only what the call itself does not explain as a wrong clock: %j',
  (at, skew) => {
    expect(clockSkewMs(at)).toBe(skew);
  },
);

const STATUS = ['Unknown', 'True', 'False'];
/** A machine whose hardware and files change between looks. */
function given(files: Parameters<typeof plantTree>[0] = {}) {
  const root = plantTree(files);
  const judge = createConditions(root);
  return {
    write: (path: string, text: string) => writeFileSync(join(root, path), `${text}\n`),
    look(
      { disks = [] as BlockDevice[], links = [] as NetworkInterface[], warning = [] as string[] },
      skewMs: number | null = null,
    ) {
      const report: HardwareReport = {
        report: { blockDevice: disks, networkInterface: links },
        warning,
      };
      return Object.fromEntries(
        judge(report, skewMs).map(({ type, status, reason }) => [
          type,
          `${STATUS[status!]}: ${reason}`,
        ]),
      );
    },
  };
}

const OK = 'False: no fault found';
const UNREADABLE = 'Unknown: it cannot be read';

describe('disks', () => {
  const sda: BlockDevice = { name: 'sda', serialNumber: 'S1', criticalWarning: false };

  test('fail when they warn, or have more media errors than at first', () => {
    const { look } = given();
    expect(look({ disks: [{ ...sda, mediaErrors: 7n }] })).toEqual({ 'disk-failing': OK });
    expect(look({ disks: [{ ...sda, mediaErrors: 9n }] })).toEqual({
      'disk-failing': 'True: sda (serial number S1) has 2 new media errors',
    });
    expect(look({ disks: [{ ...sda, mediaErrors: 7n }] })).toEqual({ 'disk-failing': OK });
    const warning = { ...sda, criticalWarning: true };
    expect(look({ disks: [warning, { ...warning, name: 'sdb', serialNumber: 'S2' }] })).toEqual({
      'disk-failing': 'True: sda (serial number S1) warns that it fails (and 1 more)',
    });
  });

  test('have worn out below 10 % of spare blocks, or beyond their rated life', () => {
    const { look } = given();
    const nvme = { name: 'nvme0n1', criticalWarning: false };
    const worn = (change: BlockDevice) => look({ disks: [{ ...nvme, ...change }] })['disk-worn'];
    expect(worn({ availableSpareRatio: 0.1, usageRatio: 1 })).toBe(OK);
    expect(worn({})).toBe(UNREADABLE);
    expect(worn({ availableSpareRatio: 0.09 })).toMatch(/^True: nvme0n1 has 9 % of its spare/);
    expect(worn({ usageRatio: 1.04 })).toMatch(/^True: nvme0n1 has used 104 %/);
    expect(given().look({ disks: [nvme] })).not.toHaveProperty('disk-worn');
  });

  test('are unknown when their health was known or its program fails, and else not mentioned', () => {
    const { look } = given();
    const bare = { name: 'sda', serialNumber: 'S1' };
    const silent = { disks: [bare], warning: ['sda: smartctl reports no health data'] };
    expect(look(silent)).toEqual({});
    const failing = { disks: [bare], warning: ['sda: /bin/smartctl took longer than 9 ms'] };
    expect(look(failing)).toEqual({ 'disk-failing': UNREADABLE });
    expect(look({ disks: [sda] })).toEqual({ 'disk-failing': OK });
    expect(look(silent)).toEqual({ 'disk-failing': UNREADABLE });
    const broken = { ...sda, name: 'sdb', serialNumber: 'S2', criticalWarning: true };
    expect(look({ disks: [bare, broken] })['disk-failing']).toMatch(/^True: sdb/);
    expect(look(silent)['disk-failing'], 'a fault stays').toMatch(/^True: sdb/);
    expect(look({ disks: [sda] })).toEqual({ 'disk-failing': OK });
  });
});

test('judges RAID, the root file system and memory from the files of the kernel', () => {
  const UE = 'sys/devices/system/edac/mc/mc1/ue_count';
  const { look, write } = given({
    'proc/mdstat': MDSTAT.whole,
    'proc/mounts': '/dev/sda1 / ext4 rw 0 0',
    'sys/devices/system/edac/mc/mc0/ue_count': '0',
    [UE]: '0',
  });
  expect(look({})).toEqual({ 'raid-degraded': OK, 'root-read-only': OK, 'memory-errors': OK });
  write('proc/mdstat', MDSTAT.rebuilding);
  write('proc/mounts', '/dev/sda1 / ext4 ro 0 0');
  write(UE, '3');
  expect(look({})).toEqual({
    'raid-degraded': 'True: md127 misses a disk: [6/5] [UUUUU_]',
    'root-read-only': 'True: the root file system is mounted read-only',
    'memory-errors': 'True: mc1 counted 3 uncorrected memory errors',
  });
  expect(given().look({})).toEqual({});
});

test('finds links that are slower than they can be, or that go up and down', () => {
  const CHANGES = 'sys/class/net/eth0/carrier_changes';
  const { look, write } = given({ [CHANGES]: '1000' });
  const speeds = { supportedSpeedBytes: [1_250_000_000n, 125_000_000n] };
  const link = (speed: bigint, linkUp = true) => ({
    links: [{ name: 'eth0', linkUp, currentSpeedBytes: speed, ...speeds }],
  });
  const found = (report: ReturnType<typeof link>) => look(report)['network-degraded'];
  expect(found(link(1_250_000_000n))).toBe(OK);
  expect(found(link(125_000_000n))).toBe('True: eth0 runs at 1000 of 10000 Mbit/s');
  expect(found(link(125_000_000n, false))).toBe(OK);
  write(CHANGES, '1010');
  expect(found(link(1_250_000_000n))).toBe(OK);
  write(CHANGES, '1021');
  expect(found(link(1_250_000_000n))).toBe(
    'True: the link of eth0 changed 11 times since the last check',
  );
  expect(found(link(1_250_000_000n))).toBe(OK);
  expect(given().look({ links: [{ name: 'eth1', linkUp: true }] })).toEqual({});
});

test('says that the clock is wrong by more than 30 s, in both directions', () => {
  const { look } = given();
  expect(look({})).toEqual({});
  expect(look({}, -30_000)).toEqual({ 'clock-skewed': OK });
  expect(look({})).toEqual({ 'clock-skewed': UNREADABLE });
  expect(look({}, 30_600)).toEqual({ 'clock-skewed': 'True: the clock is 31 s ahead' });
  expect(look({}, -90_000)).toEqual({ 'clock-skewed': 'True: the clock is 90 s behind' });
});

test('fits into a heartbeat of servers that know no conditions, whatever disks are called', () => {
  const name = '\u{1F4A5}'.repeat(500);
  const disks = Array.from({ length: 100 }, (_, at) => ({
    ...{ name: `${at}${name}`, criticalWarning: true, availableSpareRatio: 0 },
  }));
  const found = createConditions(null)({ report: { blockDevice: disks } }, 1e9);
  const bytes = Buffer.byteLength(JSON.stringify(found));
  expect((bytes / found.length) * 7).toBeLessThan(14_000);
});
