import { totalmem } from 'node:os';
import type { HardwareNode, HardwareReport } from '../wire/codec.ts';
import { cloud } from '../wire/messages.js';
import { readBlockDevices } from './block-devices.ts';
import { parseCpuInfo } from './cpu-info.ts';
import { readMemory } from './memory.ts';
import { readNetworkInterfaces } from './network-interfaces.ts';
import { createTree } from './tree.ts';
import type { Tree } from './tree.ts';

const { EFISupport } = cloud.agent.api;

/**
 * What the machine below `root` is made of (`/` outside tests). Never rejects: each problem is a
 * warning of the report, and what could be read is reported.
 */
export function collectHardwareReport(root: string): Promise<HardwareReport> {
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
  const report: HardwareNode = {
    ...part('product', {}, readProduct),
    ...part('memory', {}, (files) => readMemory(files, totalmem())),
    cpu: part('cpu', [], (files) => parseCpuInfo(files.text('proc/cpuinfo') ?? '')),
    blockDevice: part('block devices', [], readBlockDevices),
    networkInterface: part('network', [], readNetworkInterfaces),
    efiSupport: part('efi', EFISupport.EFI_SUPPORT_UNKNOWN, readEfiSupport),
  };
  if (report.cpu?.length === 0) warning.push('cpu: none found');
  return Promise.resolve({ report, warning });
}

function readProduct(tree: Tree): HardwareNode {
  const field = (name: string) => tree.text(`sys/class/dmi/id/${name}`) ?? '';
  return {
    manufacturer: field('sys_vendor'),
    product: field('product_name'),
    serialNumber: field('product_serial'),
  };
}

const readEfiSupport = (tree: Tree) =>
  tree.exists('sys/firmware/efi/runtime')
    ? EFISupport.EFI_SUPPORT_ENABLED
    : EFISupport.EFI_SUPPORT_UNKNOWN;
