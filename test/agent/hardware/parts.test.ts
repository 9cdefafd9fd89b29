import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readBlockDevices } from '../../../src/agent/hardware/block-devices.ts';
import { parseNvmeSmartLog, parseSmartctl } from '../../../src/agent/hardware/disk-health.ts';
import {
  parseEthtool,
  readNetworkInterfaces,
} from '../../../src/agent/hardware/network-interfaces.ts';
import { collectHardwareReport } from '../../../src/agent/hardware/report.ts';
import { createTree } from '../../../src/agent/hardware/tree.ts';
import { createHostPrograms, noPrograms } from '../../../src/agent/host-programs.ts';
import type { HostPrograms } from '../../../src/agent/host-programs.ts';
import { bytesOf, linkTo, plantTree } from '../tree-fixture.ts';
import { bios, end, entryPoint3, memory, product } from './smbios-fixture.ts';
import { testRows } from '../../support/rows.ts';

const MIB = 1024 * 1024;
const NVME = { 'sys/class/block/nvme0n1/size': '2048' };
const disksOf = (files: Parameters<typeof plantTree>[0]) =>
  readBlockDevices(createTree(plantTree(files), []));

describe('smbios in the report', () => {
  const tables = {
    'sys/firmware/dmi/tables/DMI': bytesOf(
      Buffer.concat([
        bios(8),
        product('ACME', 'Anvil', 'S7'),
        memory(2048, { technology: 3 }),
        end(),
      ]),
    ),
    'sys/firmware/dmi/tables/smbios_entry_point': bytesOf(entryPoint3(3, 2)),
    'sys/class/dmi/id/sys_vendor': 'not asked',
    'proc/meminfo': `MemTotal: ${1024 * 1024} kB`,
  };

  test('precedes the kernel’s data', async () => {
    const { report } = await collectHardwareReport(plantTree(tables));
    expect(report).toMatchObject({
      manufacturer: 'ACME',
      product: 'Anvil',
      serialNumber: 'S7',
      memoryInstalledBytes: BigInt(2048 * MIB),
      memoryUsableRatio: 0.5,
      efiSupport: 3,
    });
  });

  test('prefers an active EFI runtime', async () => {
    const root = plantTree({ ...tables, 'sys/firmware/efi/runtime': '' });
    expect((await collectHardwareReport(root)).report?.efiSupport).toBe(4);
  });

  test('warns of damaged tables', async () => {
    const cut = bytesOf(Buffer.from('0102', 'hex'));
    const root = plantTree({ ...tables, 'sys/firmware/dmi/tables/DMI': cut });
    const { report, warning } = await collectHardwareReport(root);
    expect(report?.manufacturer).toBe('not asked');
    expect(warning).toContain('smbios: the tables are damaged; read up to there');
  });
});

describe('disks', () => {
  test('prefers the globally unique id of an NVMe disk, unless it is all zero', () => {
    const nguid = '00000000-0000-0001-0025-388b01234567';
    const wwid = 'eui.0025388b01234567';
    const disks = disksOf({
      ...NVME,
      'sys/class/block/nvme0n1/nguid': nguid,
      'sys/class/block/nvme0n1/wwid': wwid,
      'sys/class/block/nvme1n1/size': '2048',
      'sys/class/block/nvme1n1/nguid': '00000000-0000-0000-0000-000000000000',
      'sys/class/block/nvme1n1/wwid': wwid,
    });
    expect(disks.map(({ wwn }) => Buffer.from(wwn!).toString('hex'))).toEqual([
      nguid.replaceAll('-', ''),
      '0025388b01234567',
    ]);
  });

  test('reads the serial number of a SCSI disk from its own page', () => {
    const serial = '  Z1X2Y3  ';
    const page = Buffer.concat([Buffer.from([0, 0x80, 0, serial.length]), Buffer.from(serial)]);
    const base = 'sys/class/block/sda';
    const files = { [`${base}/size`]: '2048', [`${base}/device/vendor`]: 'SEAGATE ' };
    const [disk] = disksOf({ ...files, [`${base}/device/vpd_pg80`]: bytesOf(page) });
    expect(disk).toMatchObject({ vendor: 'SEAGATE', serialNumber: 'Z1X2Y3', protocol: 1 });
    const [torn] = disksOf({ ...files, [`${base}/device/vpd_pg80`]: bytesOf(page.subarray(0, 3)) });
    expect(torn).toMatchObject({ serialNumber: '' });
  });

  test('counts a disk with several paths once, and not its paths', () => {
    const path = (name: string) => ({
      [`sys/class/block/${name}/size`]: '2048',
      [`sys/class/block/${name}/device/vendor`]: 'DELL',
      [`sys/class/block/${name}/device/model`]: 'MD36xx',
      [`sys/class/block/${name}/device/wwid`]: 'naa.6000000000000001',
    });
    const disks = disksOf({
      ...path('sda'),
      ...path('sdb'),
      ...path('sdc'),
      'sys/class/block/dm-0/size': '2048',
      'sys/class/block/dm-0/dm/uuid': 'mpath-36000000000000001',
      'sys/class/block/dm-0/slaves/sda': linkTo('../../sda'),
      'sys/class/block/dm-0/slaves/sdb': linkTo('../../sdb'),
      'sys/class/block/dm-1/size': '2048',
      'sys/class/block/dm-1/dm/uuid': 'LVM-xyz',
      'dev/disk/by-id/dm-uuid-mpath-36000000000000001': linkTo('../../dm-0'),
    });
    expect(disks.map(({ name }) => name)).toEqual(['dm-0', 'sdc']);
    expect(disks[0]).toMatchObject({
      vendor: 'DELL',
      deviceModel: 'MD36xx',
      protocol: 1,
      capacityBytes: 1_048_576n,
      byId: ['dm-uuid-mpath-36000000000000001'],
    });
  });

  test('reads xvd, and disks larger than JavaScript counts exactly', () => {
    const [disk] = disksOf({ 'sys/class/block/xvda/size': String(2 ** 53 - 1) });
    expect(disk).toMatchObject({ name: 'xvda', capacityBytes: (2n ** 53n - 1n) * 512n });
  });
});

/** A row of SMART attributes. */
const smart = (id: number, value: number) => ({ id, raw: { value } });

describe('health', () => {
  const nvme = { critical_warning: 4, available_spare: 97, percentage_used: 104, media_errors: 3 };
  const scsi = { scsi_grown_defect_list: 5, scsi_percentage_used_endurance_indicator: 12 };
  const table = [smart(5, 1), smart(9, 5000), smart(197, 2), smart(198, 4)];
  const log = { critical_warning: 0, avail_spare: 100, percent_used: 1, media_errors: '12' };
  testRows([
    ['NVMe', { nvme_smart_health_information_log: nvme }, [true, 3n, 0.97, 1.04]],
    ['SATA', { smart_status: { passed: false }, ata_smart_attributes: { table } }, [true, 7n]],
    ['SCSI', { smart_status: { passed: true }, ...scsi }, [false, 5n, undefined, 0.12]],
    ['NVMe through nvme', log, [false, 12n, 1, 0.01]],
  ] as const)('of %s', (name, answer, [criticalWarning, mediaErrors, spare, used]) => {
    const parse = name.endsWith('nvme') ? parseNvmeSmartLog : parseSmartctl;
    expect(parse(JSON.stringify(answer))).toEqual({
      ...{ criticalWarning, mediaErrors, availableSpareRatio: spare, usageRatio: used },
    });
  });

  testRows(['', 'smartctl: no such device', '[]', '{}', '{"smart_status":{}}'])(
    '%j is none',
    (text) => expect(() => parseSmartctl(text)).toThrow(),
  );
});

describe('programs', () => {
  const answering = (answers: Record<string, () => Promise<string>>): HostPrograms => ({
    find: (...names) => names.find((name) => name in answers) ?? null,
    run: (name) => answers[name]!(),
  });

  test('keeps the data of sysfs for a disk that cannot be queried, with a warning', async () => {
    const root = plantTree({ ...NVME, 'sys/class/block/nvme0n1/device/model': 'Fast' });
    const failing = answering({ smartctl: () => Promise.reject(new Error('took too long')) });
    const { report, warning } = await collectHardwareReport(root, failing);
    expect(report?.blockDevice).toMatchObject([{ name: 'nvme0n1', deviceModel: 'Fast' }]);
    expect(warning).toContain('nvme0n1: took too long');
  });

  test('uses nvme where smartctl is missing; virtio disks report nothing', async () => {
    const root = plantTree({ ...NVME, 'sys/class/block/vda/size': '2048' });
    const nvme = answering({ nvme: () => Promise.resolve('{"critical_warning":1}') });
    const { report, warning } = await collectHardwareReport(root, nvme);
    expect(report?.blockDevice).toMatchObject([{ criticalWarning: true }, { name: 'vda' }]);
    expect(warning?.join()).not.toMatch(/health|vda/);
  });

  const program = (text: string) => {
    const directory = mkdtempSync(join(tmpdir(), 'shepherd-programs-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, 'tool'), `#!/bin/sh\n${text}\n`);
    chmodSync(join(directory, 'tool'), 0o755);
    return directory;
  };

  test('uses a program’s output, whatever its status', async () => {
    const programs = createHostPrograms(10_000, [program('echo "$LC_ALL $1"; exit 4')]);
    expect(await programs.run('tool', ['-x'])).toBe('C -x\n');
    expect(programs.find('other', 'tool')).toMatch(/\/tool$/);
  });

  test('abandons a hanging program, and fails a silent or missing one', async () => {
    const programs = createHostPrograms(50, [program('exec sleep 60')]);
    await expect(programs.run('tool', [])).rejects.toThrow(/longer than 50 ms/);
    const silent = createHostPrograms(10_000, [program('exit 0')]);
    await expect(silent.run('tool', [])).rejects.toThrow(/said nothing/);
    await expect(noPrograms.run('tool', [])).rejects.toThrow(/not on this machine/);
  });
});

describe('links', () => {
  const ETHTOOL = `Settings for eth0:
	Supported ports: [ TP ]
	Supported link modes:   10baseT/Half 10baseT/Full
	                        100baseT/Half 100baseT/Full
	                        1000baseT/Full
	                        10000baseT/Full
	Supported pause frame use: Symmetric
	Advertised link modes:  2500baseT/Full
	Speed: 10000Mb/s
	Link detected: yes
`;

  testRows([
    [ETHTOOL, [1_250_000_000n, 125_000_000n, 12_500_000n, 1_250_000n], true],
    ['Supported link modes:   Not reported\nLink detected: no', [], false],
    ['', [], undefined],
  ] as const)('lists distinct supported speeds, fastest first: %j', (text, speeds, linkUp) => {
    expect(parseEthtool(text)).toEqual({ supportedSpeedBytes: speeds, linkUp });
  });

  test('are added to the data of sysfs', async () => {
    const root = plantTree({
      'sys/class/net/eth0/address': '02:00:00:aa:bb:cc',
      'sys/class/net/eth0/device/uevent': '',
    });
    const ethtool: HostPrograms = { find: () => 'ethtool', run: () => Promise.resolve(ETHTOOL) };
    const { report, warning } = await collectHardwareReport(root, ethtool);
    expect(report?.networkInterface).toMatchObject([{ name: 'eth0', linkUp: true }]);
    expect(report?.networkInterface?.[0]?.supportedSpeedBytes).toHaveLength(4);
    expect(warning?.join()).not.toMatch(/network|eth0/);
  });

  test('reads from carrier whether a link is up; unknown speeds are absent', () => {
    const link = (name: string, files: Record<string, string>) =>
      Object.fromEntries([
        [`sys/class/net/${name}/address`, '02:00:00:aa:bb:cc'],
        [`sys/class/net/${name}/device/uevent`, ''],
        ...Object.entries(files).map(([key, value]) => [`sys/class/net/${name}/${key}`, value]),
      ]) as Record<string, string>;
    const root = plantTree({
      ...link('eth0', { carrier: '1', operstate: 'unknown', speed: '4294967295' }),
      ...link('eth1', { carrier: '0', operstate: 'up', speed: '65535' }),
      ...link('eth2', { operstate: 'up', speed: '25000' }),
    });
    expect(readNetworkInterfaces(createTree(root, []))).toMatchObject([
      { linkUp: true, currentSpeedBytes: 0n },
      { linkUp: false, currentSpeedBytes: 0n },
      { linkUp: true, currentSpeedBytes: 3_125_000_000n },
    ]);
  });
});
