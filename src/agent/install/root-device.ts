import type { BlockDevice, RootDeviceSelector } from '../../wire/codec.ts';
import { readBlockDevices } from '../hardware/block-devices.ts';
import { createTree, type Tree } from '../hardware/tree.ts';

/** A whole disk that is not in use. */
export interface RootDevice {
  /** Kernel name, such as vda. */
  readonly name: string;
  readonly sizeBytes: number;
  /** `major:minor` as the kernel numbers it; null: unknown. */
  readonly number: string | null;
}

/**
 * The one disk that matches the selector, below `root` (`/` outside tests). A serial may also be
 * one of the disk's names below /dev/disk/by-id.
 * @throws {Error} none matches, or several; it is in use, read-only or without a size.
 */
export function selectRootDevice(root: string, selector: RootDeviceSelector): RootDevice {
  const warnings: string[] = [];
  const tree = createTree(root, warnings);
  const disks = readBlockDevices(tree);
  const name = theOne(disks, selector).name!;
  const { capacityBytes } = disks.find((disk) => disk.name === name)!;
  if (!capacityBytes) throw new Error(`${name} has no size`);
  if (tree.number(`sys/class/block/${name}/ro`) === 1) throw new Error(`${name} is read-only`);
  const use = useOf(tree, name);
  if (use) throw new Error(`${name} is in use: ${use}`);
  // Unreadable data might have shown that the disk is in use.
  if (warnings.length > 0) throw new Error(`cannot tell whether ${name} is free: ${warnings[0]}`);
  const number = tree.text(`sys/class/block/${name}/dev`);
  return { name, sizeBytes: Number(capacityBytes), number };
}

function theOne(disks: readonly BlockDevice[], selector: RootDeviceSelector): BlockDevice {
  const fitting = disks.filter((disk) => fits(disk, selector));
  const wanted = describe(selector);
  const [disk, ...others] = fitting;
  if (!disk) {
    const known = disks.map(({ name }) => name).join(', ') || 'none';
    throw new Error(`no disk has ${wanted}; this machine's disks: ${known}`);
  }
  if (others.length > 0) {
    throw new Error(`several disks have ${wanted}: ${fitting.map(({ name }) => name).join(', ')}`);
  }
  return disk;
}

function fits(disk: BlockDevice, { name, serial, wwn }: RootDeviceSelector): boolean {
  if (name) return disk.name === name;
  if (serial) return disk.serialNumber === serial || (disk.byId ?? []).includes(serial);
  return Boolean(wwn?.length) && Buffer.compare(disk.wwn ?? new Uint8Array(), wwn!) === 0;
}

function describe({ name, serial, wwn }: RootDeviceSelector): string {
  if (name) return `the name ${JSON.stringify(name)}`;
  if (serial) return `the serial ${JSON.stringify(serial)}`;
  return `the WWN ${Buffer.from(wwn ?? []).toString('hex')}`;
}

/** The user of the disk or a partition; null: none. */
function useOf(tree: Tree, disk: string): string | null {
  const parts = [disk, ...partitionsOf(tree, disk)];
  const holders = parts.flatMap((part) => tree.list(`sys/class/block/${part}/holders`));
  if (holders.length > 0) return `${holders.join(', ')} is made of it`;
  const numbers = new Set(parts.map((part) => tree.text(`sys/class/block/${part}/dev`)));
  const paths = new Set(parts.map((part) => `/dev/${part}`));
  const mount = mountsOf(tree).find(({ number, source }) =>
    Boolean(numbers.has(number) || paths.has(realSource(tree, source))),
  );
  if (mount) return `mounted at ${mount.at}`;
  const swap = swapsOf(tree).find((path) => paths.has(realSource(tree, path)));
  return swap ? 'it holds swap space' : null;
}

const partitionsOf = (tree: Tree, disk: string): string[] =>
  tree
    .list('sys/class/block')
    .filter((name) => name.startsWith(disk) && /^p?\d+$/.test(name.slice(disk.length)))
    .filter((name) => tree.exists(`sys/class/block/${name}/partition`));

/** Each line: ids, `major:minor`, root, mount point, options, `-`, kind, source, options. */
function mountsOf(tree: Tree) {
  const lines = (tree.text('proc/self/mountinfo') ?? '').split('\n').filter(Boolean);
  return lines.map((line) => {
    const [head = '', tail = ''] = line.split(' - ');
    const [, , number = '', , at = ''] = head.split(' ');
    return { number, at, source: tail.split(' ')[1] ?? '' };
  });
}

/** The first line is a heading. */
const swapsOf = (tree: Tree): string[] =>
  (tree.text('proc/swaps') ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s/)[0]!);

/** The target of a stable name such as /dev/disk/by-uuid/…. */
function realSource(tree: Tree, source: string): string {
  const target = source.startsWith('/dev/disk/') ? tree.link(source) : null;
  return target === null ? source : `/dev/${target.split('/').at(-1)}`;
}
