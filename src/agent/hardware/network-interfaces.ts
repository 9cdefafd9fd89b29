import { basename } from 'node:path';
import type { NetworkInterface } from '../../wire/codec.ts';
import type { HostPrograms } from '../host-programs.ts';
import type { Tree } from './tree.ts';

/** sysfs and ethtool give speeds in Mbit/s. */
const BYTES_PER_MEGABIT = 125_000n;
const ETHTOOL = 'ethtool';

/** Physical links with an address, from sysfs, which does not show supported speeds. */
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
  return {
    name,
    driver: basename(tree.link(`${base}/device/driver`) ?? ''),
    linkUp: isLinkUp(tree, base),
    currentSpeedBytes: toBytes(tree.number(`${base}/speed`) ?? -1),
  };
}

/** The driver's view of the cable; a link that is down has none. */
function isLinkUp(tree: Tree, base: string): boolean {
  const carrier = tree.number(`${base}/carrier`);
  return carrier === null ? tree.text(`${base}/operstate`) === 'up' : carrier === 1;
}

/** Mbit/s; the kernel's unknown is -1, which some drivers give as 16 or 32 bits unsigned. */
const UNKNOWN_SPEEDS = [65_535, 4_294_967_295];
const toBytes = (megabits: number): bigint =>
  megabits > 0 && !UNKNOWN_SPEEDS.includes(megabits) ? BigInt(megabits) * BYTES_PER_MEGABIT : 0n;

/** Null for other texts and for the all-zero address. */
function parseMac(text: string): Uint8Array | null {
  if (!/^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(text) || /^[0:]+$/.test(text)) return null;
  return Buffer.from(text.replaceAll(':', ''), 'hex');
}

/**
 * Adds each link's supported speeds, which need `ethtool`: without it, adds one warning. Never
 * rejects: a link that cannot be queried stays unchanged, with a warning.
 */
export async function addSpeeds(
  links: readonly NetworkInterface[],
  programs: HostPrograms,
  warnings: string[],
): Promise<NetworkInterface[]> {
  if (links.length > 0 && !programs.find(ETHTOOL)) {
    warnings.push('network: supported speeds are unknown without ethtool');
    return [...links];
  }
  const described = links.map(async (link) => {
    try {
      return { ...link, ...parseEthtool(await programs.run(ETHTOOL, [link.name ?? ''])) };
    } catch (error) {
      warnings.push(`${link.name}: ${error instanceof Error ? error.message : String(error)}`);
      return link;
    }
  });
  return Promise.all(described);
}

/** Parses the output of `ethtool <name>`. */
export function parseEthtool(
  text: string,
): Pick<NetworkInterface, 'supportedSpeedBytes' | 'linkUp'> {
  // The list continues on lines without a colon.
  const modes = /Supported link modes:((?:[^:]*\n)+?)(?=[^\n]*:|$)/.exec(`${text}\n`)?.[1] ?? '';
  const speeds = modes.split(/\s+/).flatMap((mode) => /^(\d+)base/.exec(mode)?.[1] ?? []);
  const link = /Link detected: (yes|no)/.exec(text)?.[1];
  const distinct = [...new Set(speeds.map(Number))].toSorted((a, b) => b - a);
  return {
    supportedSpeedBytes: distinct.map(toBytes),
    ...(link === undefined ? {} : { linkUp: link === 'yes' }),
  };
}
