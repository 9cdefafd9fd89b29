import { describe, expect, test } from 'vitest';
import { collectHardwareReport } from '../../../src/agent/hardware/report.ts';
import { hardwareReportCodec } from '../../../src/wire/codec.ts';
import { linkTo, plantTree, processor } from '../tree-fixture.ts';

const disk = (name: string, files: Record<string, string>) =>
  Object.fromEntries(
    Object.entries({
      size: '2048',
      'queue/rotational': '0',
      'queue/logical_block_size': '512',
      'queue/physical_block_size': '4096',
      ...files,
    }).map(([path, content]) => [`sys/class/block/${name}/${path}`, content]),
  );

describe('the hardware report', () => {
  test('describes a machine with all kinds of parts', async () => {
    const root = plantTree({
      'proc/cpuinfo': processor(0, 0, { vendor_id: 'GenuineIntel' }),
      'proc/meminfo': 'MemTotal:       131072 kB\nMemFree: 1 kB',
      'sys/devices/system/memory/block_size_bytes': '8000000',
      'sys/devices/system/memory/memory0/state': 'online',
      'sys/devices/system/memory/memory1/state': 'online',
      'sys/devices/system/memory/memory2/state': 'offline',
      'sys/devices/system/memory/power/control': 'auto',
      'sys/class/dmi/id/sys_vendor': 'ACME',
      'sys/class/dmi/id/product_name': 'Anvil 3',
      'sys/class/dmi/id/product_serial': 'S1',
      'sys/firmware/efi/runtime': '',
      ...disk('sda', {
        'device/vendor': 'ATA     ',
        'device/model': 'Disk 9000',
        'queue/rotational': '1',
        'device/wwid': 'naa.5000c500a1b2c3d4',
      }),
      ...disk('sdb', { 'device/vendor': 'SEAGATE', 'device/model': 'ST1' }),
      ...disk('nvme0n1', {
        'device/model': 'Fast',
        'device/serial': 'N1',
        wwid: 'eui.0025388b01234567',
      }),
      ...disk('vda', { 'device/vendor': '0x1af4', serial: 'virtio-1' }),
      ...disk('mmcblk0', { 'device/name': 'eMMC' }),
      'dev/disk/by-id/virtio-virtio-1': linkTo('../../vda'),
      'dev/disk/by-id/virtio-virtio-1-part1': linkTo('../../vda1'),
      'sys/class/net/eth0/address': '02:00:00:aa:bb:cc',
      'sys/class/net/eth0/operstate': 'up',
      'sys/class/net/eth0/speed': '10000',
      'sys/class/net/eth0/device/driver': linkTo('../../../bus/pci/drivers/ixgbe'),
      'sys/class/net/eth1/address': '02:00:00:aa:bb:cd',
      'sys/class/net/eth1/operstate': 'down',
      'sys/class/net/eth1/speed': '-1',
      'sys/class/net/eth1/device/driver': linkTo('../../../bus/pci/drivers/ixgbe'),
    });
    const { report, warning } = await collectHardwareReport(root);
    expect(warning).toEqual([
      'network: supported speeds are unknown without ethtool',
      'nvme0n1, sda, sdb: health is not known without smartctl or nvme',
    ]);
    const told = JSON.stringify(
      report,
      (_, value: unknown) => {
        if (typeof value === 'bigint') return Number(value);
        const { type, data } = (value ?? {}) as { type?: string; data?: number[] };
        return type === 'Buffer' ? Buffer.from(data!).toString('hex') : value;
      },
      2,
    );
    await expect(`${told}\n`).toMatchFileSnapshot('golden/report.txt');
  });

  test('leaves out virtual disks and links that are not physical', async () => {
    const root = plantTree({
      ...disk('vda', {}),
      ...disk('vda1', { partition: '1' }),
      ...disk('loop0', {}),
      ...disk('dm-0', {}),
      ...disk('nvme0c0n1', {}),
      ...disk('mmcblk0boot0', {}),
      ...disk('sdz', { size: '0', ro: '1' }),
      'sys/class/net/lo/address': '00:00:00:00:00:00',
      'sys/class/net/docker0/address': '02:42:00:00:00:01',
      'sys/class/net/usb0/address': '00:00:00:00:00:00',
      'sys/class/net/usb0/device/uevent': '',
    });
    const { report } = await collectHardwareReport(root);
    expect(report?.blockDevice?.map(({ name }) => name)).toEqual(['vda']);
    expect(report?.networkInterface).toEqual([]);
  });

  test('makes a report that can be sent from an empty tree, without a ratio, with a warning', async () => {
    const { report, warning } = await collectHardwareReport(plantTree({}));
    expect(report).not.toHaveProperty('memoryUsableRatio');
    expect(report?.efiSupport).toBe(1);
    expect(report?.memoryInstalledBytes).toBe(0n);
    expect(warning).toEqual(['cpu: none found', 'memory: installed size is unknown']);
    expect(() => hardwareReportCodec.encode({ report: report!, warning: warning! })).not.toThrow();
  });

  test('warns of what cannot be read', async () => {
    const root = plantTree({ 'proc/cpuinfo/odd': 'a directory in place of the file' });
    const { report, warning } = await collectHardwareReport(root);
    expect(report).toBeDefined();
    expect(warning).toContain('proc/cpuinfo: EISDIR');
  });
});
