import type { Files } from '../shell/files.ts';
import type { DriveSeed } from '../world.ts';

/** A drive of a machine, and what is on it. */
export interface Drive extends DriveSeed {
  /** Partitions of its table; 0: there is none. */
  partitions: number;
  /** What it boots; with a RAID the same on both. Null: nothing. */
  system: Files | null;
}

/** A drive as the kernel of one boot names it. */
export interface NamedDrive {
  readonly name: string;
  readonly drive: Drive;
}

export const blankDrive = (seed: DriveSeed): Drive => ({ ...seed, partitions: 0, system: null });

/** Such as `nvme0n1p2` or `sda2`. */
export const partitionName = (name: string, number: number): string =>
  `${name}${/\d$/.test(name) ? 'p' : ''}${number}`;

export function wipe(drive: Drive): void {
  drive.partitions = 0;
  drive.system = null;
}
