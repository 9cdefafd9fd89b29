import { basename } from 'node:path';
import type { BlockDevice } from '../../wire/codec.ts';
import { BlockDevice_Protocol as Protocol } from '../../wire/messages.ts';
import type { Tree } from './tree.ts';

/** Whole disks by their kernel names; no boot partitions of eMMC, no paths behind one NVMe. */
const DISK = /^(?:sd[a-z]+|vd[a-z]+|xvd[a-z]+|nvme\d+n\d+|mmcblk\d+)$/;
const MAPPED = /^dm-\d+$/;
/** The unit of `size`, independent of the disk's own block size. */
const SECTOR_BYTES = 512;

/** The machine's disks from sysfs. A disk behind several paths counts once, its paths do not. */
export function readBlockDevices(tree: Tree): BlockDevice[] {
  const byId = readStableNames(tree);
  return listDisks(tree).map((name) => ({
    ...describeDisk(tree, name),
    byId: byId.get(name) ?? [],
  }));
}

function listDisks(tree: Tree): string[] {
  const names = tree.list('sys/class/block');
  const mapped = names.filter((name) => MAPPED.test(name) && isMultipath(tree, name));
  const behind = new Set(mapped.flatMap((name) => pathsOf(tree, name)));
  const disks = names.filter((name) => DISK.test(name) && !behind.has(name));
  return [...mapped, ...disks]
    .filter((name) => !tree.exists(`sys/class/block/${name}/partition`))
    .filter((name) => !isEmptySlot(tree, name))
    .toSorted();
}

const isMultipath = (tree: Tree, name: string): boolean =>
  tree.text(`sys/class/block/${name}/dm/uuid`)?.startsWith('mpath-') ?? false;

const pathsOf = (tree: Tree, name: string): readonly string[] =>
  tree.list(`sys/class/block/${name}/slaves`);

const isEmptySlot = (tree: Tree, name: string): boolean =>
  tree.number(`sys/class/block/${name}/size`) === 0 &&
  tree.number(`sys/class/block/${name}/ro`) === 1;

function describeDisk(tree: Tree, name: string): BlockDevice {
  // For a disk behind several paths, each path has the data.
  const source = MAPPED.test(name) ? (pathsOf(tree, name)[0] ?? name) : name;
  const number = (path: string) => tree.number(`sys/class/block/${name}/${path}`) ?? 0;
  return {
    ...describeModel(tree, source),
    name,
    rotational: number('queue/rotational') === 1,
    capacityBytes: BigInt(number('size')) * BigInt(SECTOR_BYTES),
    logicalBlockSizeBytes: number('queue/logical_block_size'),
    physicalBlockSizeBytes: number('queue/physical_block_size'),
  };
}

function describeModel(tree: Tree, name: string): BlockDevice {
  const base = `sys/class/block/${name}`;
  const text = (path: string) => tree.text(`${base}/${path}`) ?? '';
  const vendor = text('device/vendor');
  return {
    // SCSI translates ATA disks and shows itself as vendor; virtio shows a number.
    vendor: vendor === 'ATA' || vendor.startsWith('0x') ? '' : vendor,
    deviceModel: text('device/model') || text('device/name'),
    serialNumber: text('device/serial') || text('serial') || unitSerial(tree, base),
    wwn: uniqueId(text('nguid')) ?? parseWwn(text('wwid') || text('device/wwid')),
    protocol: protocolOf(name, vendor),
  };
}

const VPD_HEADER_BYTES = 4;

/** Page of SCSI vital product data with the unit's serial number. */
function unitSerial(tree: Tree, base: string): string {
  if (!tree.exists(`${base}/device/vpd_pg80`)) return '';
  const page = tree.bytes(`${base}/device/vpd_pg80`);
  if (!page || page.length < VPD_HEADER_BYTES || page[1] !== 0x80) return '';
  const length = page.readUInt16BE(2);
  const serial = page.toString('latin1', VPD_HEADER_BYTES, VPD_HEADER_BYTES + length);
  return serial.replaceAll('\0', '').trim();
}

function protocolOf(name: string, vendor: string) {
  if (name.startsWith('nvme')) return Protocol.PROTOCOL_NVME;
  if (name.startsWith('mmcblk')) return Protocol.PROTOCOL_MMC;
  if (!name.startsWith('sd')) return Protocol.PROTOCOL_UNKNOWN;
  return vendor === 'ATA' ? Protocol.PROTOCOL_ATA : Protocol.PROTOCOL_SCSI;
}

/** The globally unique id of an NVMe namespace; null: none. */
function uniqueId(nguid: string): Uint8Array | null {
  const hex = nguid.replaceAll('-', '');
  return /^[0-9a-f]{32}$/i.test(hex) && !/^0*$/.test(hex) ? Buffer.from(hex, 'hex') : null;
}

/** After `eui.` or `naa.` comes the hexadecimal number; other ids are no WWN. */
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
