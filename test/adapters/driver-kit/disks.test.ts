import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../repo/sources.ts';
import { isProvided } from '../../support/programs.ts';

const functions = readFileSync(join(root, 'src/adapters/driver-kit/disks.sh'), 'utf8');

const hasBusybox = isProvided(isThere(), { tested: 'disks of the installer', by: 'busybox' });
function isThere(): boolean {
  try {
    return execFileSync('busybox', ['--list']).length > 0;
  } catch {
    return false;
  }
}

interface Disk {
  readonly serial?: string;
  readonly wwid?: string;
  readonly removable?: 0 | 1;
  readonly readOnly?: 0 | 1;
  readonly size?: number;
  readonly bus?: string;
}

const CHOOSE = `found=$(matching_disks "$1")
[ "$(echo "$found" | grep -c .)" -eq 1 ] && echo "$found" || echo "none or many of: $(known_disks)"
`;

/** The one disk that matches, or all; or what this script says. */
function chosen(disks: Readonly<Record<string, Disk>>, wanted = '', run = CHOOSE): string {
  const sys = mkdtempSync(join(tmpdir(), 'shepherd-disks-'));
  onTestFinished(() => rmSync(sys, { recursive: true }));
  mkdirSync(join(sys, 'block'));
  const write = (path: string, text: string | number): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${text}\n`);
  };
  for (const [name, disk] of Object.entries(disks)) {
    const place = join(sys, 'devices', disk.bus ?? 'pci0', name);
    write(join(place, 'size'), disk.size ?? 2_048);
    write(join(place, 'removable'), disk.removable ?? 0);
    write(join(place, 'ro'), disk.readOnly ?? 0);
    if (disk.wwid !== undefined) write(join(place, 'wwid'), disk.wwid);
    write(join(place, 'device', 'serial'), disk.serial ?? '');
    symlinkSync(place, join(sys, 'block', name));
  }
  const told = `${functions.replaceAll('/sys/block', join(sys, 'block'))}
${run}`;
  return execFileSync('busybox', ['sh', '-s', '--', wanted], {
    input: told,
    encoding: 'utf8',
  }).trim();
}

const STICK = { serial: 'STICK', removable: 1 } as const;
const NVME = { serial: 'S4EWNX0R  ', wwid: 'eui.0025385A11B2C3D4' };
const SATA = { serial: 'ZC1ABCDE', wwid: 'naa.5000c500a1b2c3d4' };

test.runIf(hasBusybox)('without a name, the only disk that is fixed is taken', () => {
  const others = {
    sr0: {},
    loop0: {},
    sdb: STICK,
    sdc: { bus: 'pci0/usb1/1-1' },
    sdd: { readOnly: 1 },
    sde: { size: 0 },
  } as const;
  expect(chosen({ nvme0n1: NVME, ...others })).toBe('nvme0n1');
  expect(chosen(others)).toContain('none or many');
});

test.runIf(hasBusybox)('of several, none is taken, and all are named', () => {
  const told = chosen({ nvme0n1: NVME, sda: SATA });
  expect(told).toMatch(
    /none or many of: nvme0n1 s4ewnx0r 0025385a11b2c3d4 ;sda zc1abcde 5000c500a1b2c3d4 ;/,
  );
});

test.runIf(hasBusybox).each([
  ['sda', 'sda'],
  ['S4EWNX0R', 'nvme0n1'],
  ['0x5000c500a1b2c3d4', 'sda'],
  ['eui.0025385A11B2C3D4', 'nvme0n1'],
  ['STICK', 'sdb'],
  ['S4EWNX0', 'none or many'],
  ['.*', 'none or many'],
])('named %s, it is %s', (wanted, found) => {
  expect(chosen({ nvme0n1: NVME, sda: SATA, sdb: STICK }, wanted)).toContain(found);
});

test.runIf(hasBusybox)('a name that says nothing is no disk', () => {
  for (const wanted of ['-n', '0x', ' ']) {
    expect(chosen({ sda: SATA }, wanted), wanted).toContain('none or many');
  }
});

test.runIf(hasBusybox)('two disks with one serial number are refused', () => {
  expect(chosen({ sda: SATA, sdb: SATA }, 'ZC1ABCDE')).toContain('none or many of: sda zc1abcde');
});

test.runIf(hasBusybox)(
  'a kernel that numbers disks otherwise is told a name that one disk has',
  () => {
    const lasting = (disks: Readonly<Record<string, Disk>>, name: string) =>
      chosen(disks, name, 'lasting_name "$1"');
    expect(lasting({ nvme0n1: NVME, sda: SATA }, 'sda')).toBe('zc1abcde');
    const other = { ...SATA, wwid: 'naa.5000c500a1b2c3d5' };
    expect(lasting({ sda: SATA, sdb: other }, 'sda')).toBe('5000c500a1b2c3d4');
    expect(lasting({ vda: {} }, 'vda')).toBe('');
  },
);
