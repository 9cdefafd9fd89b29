import type { HardwareNode } from '../wire/codec.ts';
import type { Tree } from './tree.ts';

const MEMORY = 'sys/devices/system/memory';

/**
 * Installed memory, and the share of it that the system can use. `usableBytes` is what the kernel
 * says it has. The share is left out when the installed size is not known.
 */
export function readMemory(tree: Tree, usableBytes: number): HardwareNode {
  const installedBytes = onlineBlocksBytes(tree);
  if (installedBytes === 0n) return { memoryInstalledBytes: BigInt(usableBytes) };
  return {
    memoryInstalledBytes: installedBytes,
    memoryUsableRatio: usableBytes / Number(installedBytes),
  };
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
