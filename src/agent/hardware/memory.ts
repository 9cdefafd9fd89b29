import type { HardwareNode } from '../../wire/codec.ts';
import type { Tree } from './tree.ts';

const MEMORY = 'sys/devices/system/memory';

/**
 * Installed memory, and the share of it that the system can use. `firmwareBytes` is what SMBIOS
 * counts; where that is nothing, the kernel's memory blocks are counted. The share is left out
 * when the installed size, or the usable one, is not known.
 */
export function readMemory(tree: Tree, firmwareBytes: bigint): HardwareNode {
  const installedBytes = firmwareBytes > 0n ? firmwareBytes : onlineBlocksBytes(tree);
  const usableBytes = usable(tree);
  if (installedBytes === 0n || usableBytes === 0) return { memoryInstalledBytes: installedBytes };
  return {
    memoryInstalledBytes: installedBytes,
    memoryUsableRatio: usableBytes / Number(installedBytes),
  };
}

/** Total memory as `sysinfo(2)` counts it; 0 when the kernel does not say. */
function usable(tree: Tree): number {
  const kibibytes = /^MemTotal:\s*(\d+) kB$/m.exec(tree.text('proc/meminfo') ?? '')?.[1];
  return Number(kibibytes ?? 0) * 1024;
}

/** Sum of the memory blocks that are online; 0 when the kernel shows none. */
function onlineBlocksBytes(tree: Tree): bigint {
  const size = tree.text(`${MEMORY}/block_size_bytes`);
  if (size === null || !/^[0-9a-f]+$/i.test(size)) return 0n;
  const online = tree
    .list(MEMORY)
    .filter((name) => /^memory\d+$/.test(name))
    .filter((name) => tree.text(`${MEMORY}/${name}/state`) === 'online');
  return BigInt(`0x${size}`) * BigInt(online.length);
}
