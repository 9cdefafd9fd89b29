/** What `look.sh` tells of a machine. */
export type Reading = Readonly<Record<string, string>>;

export function readLook(text: string): Reading {
  const lines = text.split('\n').map((line) => /^(\w+) (.*)$/.exec(line));
  return Object.fromEntries(
    lines.flatMap((found) => (found ? [[found[1]!, found[2]!.trim()]] : [])),
  );
}

/** What the running system must have free: the installer in memory twice, and its new kernel. */
const MEMORY_MIN_KB = 128 * 1024;

/**
 * Why the machine cannot be installed from its own system; null: it can.
 * @param wanted the disk.
 * @param hasKexec whether the installer brings kexec along.
 */
export function faultIn(
  reading: Reading,
  { wanted, hasKexec }: { readonly wanted: string | null; readonly hasKexec: boolean },
): string | null {
  const { user, container, machine, kexec, disabled, lockdown, memory } = reading;
  const { disk, disks, card, mac, address } = reading;
  const found = disk ? disk.split(' ').length : 0;
  const faults: readonly (readonly [boolean, string])[] = [
    [user !== '0', 'its SSH user is not root, and has no sudo without a password'],
    [
      Boolean(container),
      `it is a container (${container}), which shares the kernel of another machine`,
    ],
    [machine !== 'x86_64', `it is ${machine}, and the installer is for x86_64`],
    [!kexec && !hasKexec, 'it has no kexec: apt-get install kexec-tools'],
    [disabled !== '0', 'its kernel refuses kexec (kernel.kexec_load_disabled)'],
    [
      Boolean(lockdown) && !lockdown!.includes('[none]'),
      `its kernel is locked down (${lockdown}): Secure Boot must be off`,
    ],
    [
      Number(memory) < MEMORY_MIN_KB,
      `it has ${memory} kB of free memory, and needs ${MEMORY_MIN_KB}`,
    ],
    [
      found !== 1,
      `${found} disks match ${wanted ?? 'the only fixed disk'}; give Disk; it has: ${disks}`,
    ],
    [!card, 'it has no default route for IPv4'],
    [!mac, `its default route leaves by ${card}, which is no network card itself`],
    [!address, `${card} has no IPv4 address`],
    [reading['image'] !== 'yes', 'it cannot fetch the image'],
    [reading['seed'] !== 'yes', 'it does not reach install.seedUrl'],
  ];
  return faults.find(([isSo]) => isSo)?.[1] ?? null;
}

/** The disk to install, by a name that the installer's kernel finds, too. */
export const diskIn = ({ lasting, disk = '' }: Reading): string => lasting || disk;

/** The machine's network, as the installer uses it. */
export const networkWords = ({ mac, address = '', gateway = '', dns = '' }: Reading): string =>
  `shepherd.net=${mac},${address.includes('/') ? address : `${address}/32`},${gateway},${dns}`;
