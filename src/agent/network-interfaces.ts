import { basename } from 'node:path';
import type { NetworkInterface } from '../wire/codec.ts';
import type { Tree } from './tree.ts';

/** sysfs gives speeds in Mbit/s. */
const BYTES_PER_MEGABIT = 125_000;

/** Physical links with an address, from sysfs. Which speeds they could have is not told there. */
export function readNetworkInterfaces(tree: Tree): NetworkInterface[] {
  return tree
    .list('sys/class/net')
    .filter((name) => tree.exists(`sys/class/net/${name}/device`))
    .flatMap((name) => {
      const mac = parseMac(tree.text(`sys/class/net/${name}/address`) ?? '');
      return mac ? [{ ...describeLink(tree, name), mac }] : [];
    });
}

function describeLink(tree: Tree, name: string): NetworkInterface {
  const base = `sys/class/net/${name}`;
  const megabits = tree.number(`${base}/speed`) ?? -1;
  return {
    name,
    driver: basename(tree.link(`${base}/device/driver`) ?? ''),
    linkUp: tree.text(`${base}/operstate`) === 'up',
    currentSpeedBytes: BigInt(Math.max(megabits, 0)) * BigInt(BYTES_PER_MEGABIT),
  };
}

/** Null for what is no Ethernet address and for the one that is all zero. */
function parseMac(text: string): Uint8Array | null {
  if (!/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(text) || /^[0:]+$/.test(text)) return null;
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}
