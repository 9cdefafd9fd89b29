/** Input of installimage. */
export interface Autosetup {
  /** Such as `/dev/nvme0n1`, in their order. */
  readonly drives: readonly string[];
  readonly isRaid: boolean;
  readonly hostname: string;
  readonly image: string;
  readonly parts: readonly Part[];
}
export interface Part {
  readonly mount: string;
  readonly filesystem: string;
  /** Null: the remaining space. */
  readonly sizeGb: number | null;
}

/** An input that installimage refuses. */
export class AutosetupRefused extends Error {}

const UNITS: Readonly<Record<string, number>> = { M: 1 / 1024, G: 1, T: 1024 };
const FILESYSTEMS = ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'swap', 'vfat', 'esp', 'lvm'];
const LEVELS = ['0', '1', '5', '6', '10'];

/** @throws {AutosetupRefused} */
export function readAutosetup(text: string): Autosetup {
  const lines = text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/));
  const last = (name: string) => lines.findLast(([key]) => key === name)?.[1];
  const refuse = (why: string): never => {
    throw new AutosetupRefused(why);
  };
  const drives = lines.flatMap(([key = '', value]) =>
    /^DRIVE\d+$/.test(key) && value !== undefined ? [value] : [],
  );
  if (drives.length === 0) refuse('no DRIVE1 is given');
  const isRaid = last('SWRAID') === '1';
  const level = last('SWRAIDLEVEL') ?? '1';
  if (isRaid && drives.length < 2) refuse('a software RAID needs at least two drives');
  if (isRaid && !LEVELS.includes(level)) refuse(`no RAID level ${level}`);
  const parts = lines.filter(([key]) => key === 'PART').map((words) => partOf(words, refuse));
  if (!parts.some(({ mount }) => mount === '/')) refuse('there is no PART for /');
  const rests = parts.filter(({ sizeGb }) => sizeGb === null);
  if (rests.length > 1 || (rests.length === 1 && parts.at(-1)?.sizeGb !== null)) {
    refuse('only the last PART may have all');
  }
  const image = last('IMAGE') ?? refuse('no IMAGE is given');
  return { drives, isRaid, hostname: last('HOSTNAME') ?? 'localhost', image, parts };
}

function partOf(
  [, mount = '', filesystem = '', size = '']: readonly string[],
  refuse: (why: string) => never,
): Part {
  if (!FILESYSTEMS.includes(filesystem)) refuse(`PART ${mount}: no file system ${filesystem}`);
  if (size === 'all') return { mount, filesystem, sizeGb: null };
  const [, count, unit = ''] =
    /^(\d+)([MGT])$/.exec(size) ?? refuse(`PART ${mount}: no size ${size}`);
  return { mount, filesystem, sizeGb: Number(count) * UNITS[unit]! };
}
