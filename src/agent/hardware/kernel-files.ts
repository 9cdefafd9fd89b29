import type { Tree } from './tree.ts';

/** A software RAID without all of its disks. */
export interface DegradedArray {
  /** For example `md0`. */
  readonly name: string;
  /** As in the file, for example `[3/2] [U_U]`. */
  readonly state: string;
}

const ARRAY = /^(md\S*) : /;
/** Wanted and working disks, and one letter for each disk: `_` is missing. */
const STATE = /\[\d+\/\d+\] \[(?=[U_]*_)[U_]+\]/;

/** The degraded arrays in `/proc/mdstat` (md(4)). Arrays without redundancy have no such state. */
export function degradedArrays(mdstat: string): DegradedArray[] {
  const found: DegradedArray[] = [];
  let name: string | null = null;
  for (const line of mdstat.split('\n')) {
    if (line.trim() === '') name = null;
    name = ARRAY.exec(line)?.[1] ?? name;
    const state = STATE.exec(line)?.[0];
    if (name !== null && state !== undefined) found.push({ name, state });
  }
  return found;
}

/** File systems that nobody can write to, as of live images. */
const READ_ONLY_TYPES = ['squashfs', 'erofs', 'iso9660', 'cramfs', 'romfs'];

/**
 * Whether the root file system in `/proc/mounts` (proc(5)) is mounted read-only. Null: it is not
 * listed, or is of a type that is always read-only.
 */
export function isRootReadOnly(mounts: string): boolean | null {
  const lines = mounts.split('\n').map((line) => line.split(' '));
  // A later line covers an earlier one.
  const [, , type = '', options] = lines.findLast(([, place]) => place === '/') ?? [];
  if (options === undefined || READ_ONLY_TYPES.includes(type)) return null;
  return options.split(',').includes('ro');
}

const EDAC = 'sys/devices/system/edac/mc';

/**
 * Uncorrected memory errors of each memory controller since the system started (kernel document
 * `admin-guide/RAS`). Null: the kernel watches no controller.
 */
export function uncorrectedErrors(tree: Tree): ReadonlyMap<string, number> | null {
  const counts = new Map<string, number>();
  for (const name of tree.list(EDAC)) {
    const count = /^mc\d+$/.test(name) ? tree.number(`${EDAC}/${name}/ue_count`) : null;
    if (count !== null) counts.set(name, count);
  }
  return counts.size === 0 ? null : counts;
}
