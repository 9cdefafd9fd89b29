import type {
  BlockDevice,
  HardwareNode,
  HardwareReport,
  NetworkInterface,
} from '../../wire/codec.ts';
import { EFISupport } from '../../wire/messages.ts';
import { noPrograms, type HostPrograms } from '../host-programs.ts';
import { readBlockDevices } from './block-devices.ts';
import { readCpus } from './cpu-info.ts';
import { addHealth } from './disk-health.ts';
import { addSpeeds, readNetworkInterfaces } from './network-interfaces.ts';
import { parseEntryPoint, parseSmbios, type Smbios } from './smbios.ts';
import { createTree, type Tree } from './tree.ts';

/**
 * Collects the hardware of the machine below `root` (`/` outside tests). `programs` provide data
 * that no kernel file has. Never rejects: each problem is a warning in the report, which contains
 * all readable data.
 */
export async function collectHardwareReport(
  root: string,
  programs: HostPrograms = noPrograms,
): Promise<HardwareReport> {
  const warning: string[] = [];
  const tree = createTree(root, warning);
  const part = <Part>(name: string, fallback: Part, read: (tree: Tree) => Part): Part => {
    try {
      return read(tree);
    } catch (error) {
      warning.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback;
    }
  };
  const smbios = part('smbios', null, (files) => readSmbios(files, warning));
  const disks = part<BlockDevice[]>('block devices', [], readBlockDevices);
  const links = part<NetworkInterface[]>('network', [], readNetworkInterfaces);
  const [blockDevice, networkInterface] = await Promise.all([
    addHealth(disks, programs, warning),
    addSpeeds(links, programs, warning),
  ]);
  const report: HardwareNode = {
    ...(smbios?.product ?? part('product', {}, readProduct)),
    ...part('memory', {}, (files) => readMemory(files, smbios?.memoryBytes ?? 0n)),
    cpu: part('cpu', [], readCpus),
    blockDevice,
    networkInterface,
    efiSupport: part('efi', EFISupport.EFI_SUPPORT_UNKNOWN, (files) => readEfi(files, smbios)),
  };
  if (report.cpu?.length === 0) warning.push('cpu: none found');
  if (!report.memoryInstalledBytes) warning.push('memory: installed size is unknown');
  return { report, warning };
}

const TABLES = 'sys/firmware/dmi/tables';

/** Null if the firmware has no such tables, as on most arm64 boards and small virtual machines. */
function readSmbios(tree: Tree, warnings: string[]): Smbios | null {
  const table = tree.bytes(`${TABLES}/DMI`);
  if (!table) return null;
  const entryPoint = tree.bytes(`${TABLES}/smbios_entry_point`);
  const smbios = parseSmbios(table, entryPoint ? parseEntryPoint(entryPoint) : null);
  if (smbios.isDamaged) warnings.push('smbios: the tables are damaged; read up to there');
  return smbios;
}

function readProduct(tree: Tree): HardwareNode {
  const field = (name: string) => tree.text(`sys/class/dmi/id/${name}`) ?? '';
  return {
    manufacturer: field('sys_vendor'),
    product: field('product_name'),
    serialNumber: field('product_serial'),
  };
}

function readEfi(tree: Tree, smbios: Smbios | null) {
  if (tree.exists('sys/firmware/efi/runtime')) return EFISupport.EFI_SUPPORT_ENABLED;
  if (smbios?.uefi === true) return EFISupport.EFI_SUPPORT_SUPPORTED;
  if (smbios?.uefi === false) return EFISupport.EFI_SUPPORT_UNSUPPORTED;
  return EFISupport.EFI_SUPPORT_UNKNOWN;
}

const MEMORY = 'sys/devices/system/memory';

/**
 * Installed memory and its usable share. `firmwareBytes` is SMBIOS's count; if it is 0, counts the
 * kernel's memory blocks. Leaves the share out if the installed or usable size is unknown.
 */
function readMemory(tree: Tree, firmwareBytes: bigint): HardwareNode {
  const installedBytes = firmwareBytes > 0n ? firmwareBytes : onlineBlocksBytes(tree);
  const usableBytes = usable(tree);
  if (installedBytes === 0n || usableBytes === 0) return { memoryInstalledBytes: installedBytes };
  return {
    memoryInstalledBytes: installedBytes,
    memoryUsableRatio: usableBytes / Number(installedBytes),
  };
}

/** Total memory as in `sysinfo(2)`; 0 if the kernel does not show it. */
function usable(tree: Tree): number {
  const kibibytes = /^MemTotal:\s*(\d+) kB$/m.exec(tree.text('proc/meminfo') ?? '')?.[1];
  return Number(kibibytes ?? 0) * 1024;
}

/** Sum of the online memory blocks; 0 if the kernel shows none. */
function onlineBlocksBytes(tree: Tree): bigint {
  const size = tree.text(`${MEMORY}/block_size_bytes`);
  if (size === null || !/^[0-9a-f]+$/i.test(size)) return 0n;
  const online = tree
    .list(MEMORY)
    .filter((name) => /^memory\d+$/.test(name))
    .filter((name) => tree.text(`${MEMORY}/${name}/state`) === 'online');
  return BigInt(`0x${size}`) * BigInt(online.length);
}
