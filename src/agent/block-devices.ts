import { basename } from 'node:path';
import type { BlockDevice } from '../wire/codec.ts';
import { cloud } from '../wire/messages.js';
import type { Tree } from './tree.ts';

const { Protocol } = cloud.agent.api.BlockDevice;

/** Whole disks by their kernel names; not boot partitions of eMMC, not the paths behind one NVMe. */
const DISK = /^(?:sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+)$/;
/** The unit of `size`, whatever the disk's own block size is. */
const SECTOR_BYTES = 512;

/** The machine's disks, from sysfs. */
export function readBlockDevices(tree: Tree): BlockDevice[] {
  const names = tree.list('sys/class/block').filter((name) => DISK.test(name));
  const disks = names.filter((name) => !tree.exists(`sys/class/block/${name}/partition`));
  const byId = readStableNames(tree);
  return disks
    .filter((name) => !isEmptySlot(tree, name))
    .map((name) => ({ ...describeDisk(tree, name), byId: byId.get(name) ?? [] }));
}

const isEmptySlot = (tree: Tree, name: string): boolean =>
  tree.number(`sys/class/block/${name}/size`) === 0 &&
  tree.number(`sys/class/block/${name}/ro`) === 1;

function describeDisk(tree: Tree, name: string): BlockDevice {
  const base = `sys/class/block/${name}`;
  const number = (path: string) => tree.number(`${base}/${path}`) ?? 0;
  const text = (path: string) => tree.text(`${base}/${path}`) ?? '';
  const vendor = text('device/vendor');
  return {
    name,
    // SCSI translates ATA disks and then calls itself their vendor; virtio has a number there.
    vendor: vendor === 'ATA' || vendor.startsWith('0x') ? '' : vendor,
    deviceModel: text('device/model') || text('device/name'),
    serialNumber: text('device/serial') || text('serial'),
    wwn: parseWwn(text('wwid') || text('device/wwid')),
    rotational: number('queue/rotational') === 1,
    capacityBytes: BigInt(number('size')) * BigInt(SECTOR_BYTES),
    logicalBlockSizeBytes: number('queue/logical_block_size'),
    physicalBlockSizeBytes: number('queue/physical_block_size'),
    protocol: protocolOf(name, vendor),
  };
}

function protocolOf(name: string, vendor: string) {
  if (name.startsWith('nvme')) return Protocol.PROTOCOL_NVME;
  if (name.startsWith('mmcblk')) return Protocol.PROTOCOL_MMC;
  if (!name.startsWith('sd')) return Protocol.PROTOCOL_UNKNOWN;
  return vendor === 'ATA' ? Protocol.PROTOCOL_ATA : Protocol.PROTOCOL_SCSI;
}

/** `eui.` and `naa.` are followed by the number in hexadecimal; other ids are no WWN. */
function parseWwn(wwid: string): Uint8Array {
  const hex = /^(?:eui|naa)\.((?:[0-9a-f]{2})+)$/i.exec(wwid)?.[1] ?? '';
  return /^0*$/.test(hex) ? new Uint8Array() : Buffer.from(hex, 'hex');
}

/** Kernel name → names below /dev/disk/by-id. */
function readStableNames(tree: Tree): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const stable of tree.list('dev/disk/by-id')) {
    const target = tree.link(`dev/disk/by-id/${stable}`);
    if (target === null) continue;
    const disk = basename(target);
    names.set(disk, [...(names.get(disk) ?? []), stable]);
  }
  return names;
}
