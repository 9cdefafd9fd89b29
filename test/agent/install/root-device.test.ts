import { stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openDisk, splitDevice } from '../../../src/agent/install/disk-writer.ts';
import { selectRootDevice } from '../../../src/agent/install/root-device.ts';
import type { RootDeviceSelector } from '../../../src/wire/codec.ts';
import { linkTo, plantTree } from '../tree-fixture.ts';

type Files = Parameters<typeof plantTree>[0];

const block = (name: string, files: Record<string, string> = {}): Files =>
  Object.fromEntries(
    Object.entries({ size: '2048', ...files }).map(([path, content]) => [
      `sys/class/block/${name}/${path}`,
      content,
    ]),
  );
const mount = (number: string, at: string, source: string) =>
  `36 25 ${number} / ${at} rw,relatime shared:1 - ext4 ${source} rw`;

const TWO_DISKS: Files = {
  ...block('sda', { dev: '8:0', 'device/wwid': 'naa.5000c500a1b2c3d4', 'device/serial': 'A' }),
  ...block('sda1', { dev: '8:1', partition: '1' }),
  ...block('nvme0n1', { dev: '259:0', wwid: 'eui.0025388b01234567', 'device/serial': 'N' }),
  ...block('nvme0n1p2', { dev: '259:2', partition: '2' }),
  'dev/disk/by-id/ata-DISK_A': linkTo('../../sda'),
};
const select = (files: Files, selector: RootDeviceSelector) =>
  selectRootDevice(plantTree(files), selector);

describe('the root device', () => {
  test.each<[string, RootDeviceSelector, string]>([
    ['name', { name: 'sda' }, 'sda'],
    ['serial', { serial: 'N' }, 'nvme0n1'],
    ['stable name', { serial: 'ata-DISK_A' }, 'sda'],
    ['WWN', { wwn: Buffer.from('0025388b01234567', 'hex') }, 'nvme0n1'],
  ])('is found by %s', (_name, selector, expected) => {
    expect(select(TWO_DISKS, selector)).toMatchObject({ name: expected, sizeBytes: 1_048_576 });
  });

  test.each<[string, RootDeviceSelector]>([
    ['a partition', { name: 'sda1' }],
    ['a path', { name: '../sda' }],
    ['a name of an object', { name: 'constructor' }],
    ['an unknown serial', { serial: 'X' }],
    ['a part of a serial', { serial: '' }],
    ['an unknown WWN', { wwn: Buffer.alloc(8) }],
    ['an empty WWN', { wwn: Buffer.alloc(0) }],
    ['nothing', {}],
  ])('%s is no disk', (_name, selector) => {
    expect(() => select(TWO_DISKS, selector)).toThrow(/no disk has .* nvme0n1, sda$/);
  });

  test('refuses a serial number that two disks share', () => {
    const twins = { ...block('sda', { serial: 'T' }), ...block('sdb', { serial: 'T' }) };
    expect(() => select(twins, { serial: 'T' })).toThrow(/several disks have .*: sda, sdb/);
  });

  test.each<[string, Files, RegExp]>([
    ['read-only', block('sda', { ro: '1' }), /read-only/],
    ['without a size', block('sda', { size: '0' }), /no size/],
    ['mounted', { 'proc/self/mountinfo': mount('8:0', '/mnt', '/dev/x') }, /mounted at \/mnt/],
    [
      'with a mounted partition',
      { 'proc/self/mountinfo': mount('8:1', '/', '/dev/x') },
      /mounted at \//,
    ],
    [
      'mounted by name only',
      { 'proc/self/mountinfo': mount('0:42', '/b', '/dev/sda1') },
      /mounted/,
    ],
    [
      'mounted by a stable name',
      {
        'proc/self/mountinfo': mount('0:42', '/b', '/dev/disk/by-uuid/u'),
        'dev/disk/by-uuid/u': linkTo('../../sda1'),
      },
      /mounted/,
    ],
    ['that swaps', { 'proc/swaps': 'Filename Type\n/dev/sda1 partition 1 0 -2' }, /swap/],
    [
      'of a volume',
      { 'sys/class/block/sda1/holders/dm-3': linkTo('../../dm-3') },
      /dm-3 is made of it/,
    ],
  ])('refuses a disk %s', (_name, files, message) => {
    expect(() => select({ ...TWO_DISKS, ...files }, { name: 'sda' })).toThrow(message);
  });

  test('ignores mounts of other disks, and longer names', () => {
    const mounts = [mount('259:2', '/', '/dev/nvme0n1p2'), mount('8:17', '/x', '/dev/sdaa1')];
    const files = { ...TWO_DISKS, ...block('sdaa1', { partition: '1' }) };
    const free = { ...files, 'proc/self/mountinfo': mounts.join('\n') };
    expect(select(free, { name: 'sda' })).toMatchObject({ name: 'sda', number: '8:0' });
  });

  test('refuses a disk whose use cannot be determined', () => {
    const unreadable = { ...TWO_DISKS, 'proc/swaps/odd': 'a directory in place of the file' };
    expect(() => select(unreadable, { name: 'sda' })).toThrow(/cannot tell whether sda is free/);
  });
});

describe('the device file', () => {
  const open = (path: string, number: string | null) =>
    openDisk({ path, number, sizeBytes: 1, dropCaches: () => Promise.resolve() });

  test('refuses a plain file', async () => {
    const path = `${plantTree({ 'dev/vda': 'x' })}/dev/vda`;
    await expect(open(path, '254:0')).rejects.toThrow(/not a block device/);
    await expect(open('/nowhere/vda', null)).rejects.toThrow(/cannot open .*ENOENT/);
  });

  test('splits device numbers like the kernel', async () => {
    const { rdev } = await stat('/dev/null');
    expect(splitDevice(BigInt(rdev))).toEqual({ major: 1n, minor: 3n });
    // makedev(259, 300) of glibc.
    expect(splitDevice(0x11_032cn)).toEqual({ major: 259n, minor: 300n });
  });
});
