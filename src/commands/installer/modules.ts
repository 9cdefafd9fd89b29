/** Drivers of the usual disks, network cards and file systems. */
export const MODULES: readonly string[] = [
  ...['ahci', 'ata_piix', 'nvme', 'megaraid_sas', 'mpt3sas', 'smartpqi', 'hpsa', 'sd_mod'],
  ...['virtio_pci', 'virtio_blk', 'virtio_scsi', 'virtio_net'],
  ...[
    'e1000',
    'e1000e',
    'igb',
    'igc',
    'ixgbe',
    'i40e',
    'ice',
    'bnxt_en',
    'tg3',
    'mlx5_core',
    'r8169',
  ],
  ...['ext4', 'xfs', 'vfat', 'nls_cp437', 'nls_ascii', 'crc32c_generic'],
];

const nameOf = (path: string): string =>
  path
    .replace(/^.*\//, '')
    .replace(/\.ko(\.[a-z0-9]+)?$/, '')
    .replaceAll('-', '_');

/**
 * Files of these modules and of all that they need, each once; and the modules that the kernel does
 * not have. A module that is built into the kernel has no file.
 * @param dependencies `modules.dep`: each line a module, a colon, and all modules that it needs.
 * @param builtIn `modules.builtin`: one path per line.
 */
export function moduleFiles(
  wanted: readonly string[],
  { dependencies, builtIn }: { readonly dependencies: string; readonly builtIn: string },
): { readonly files: readonly string[]; readonly missing: readonly string[] } {
  const lines = dependencies.split('\n').flatMap((line) => {
    const [, path = null, needs = ''] = /^(\S+\.ko\S*):(.*)$/.exec(line) ?? [];
    return path === null
      ? []
      : [[nameOf(path), [path, ...needs.split(' ').filter(Boolean)]] as const];
  });
  const filesOf = new Map(lines);
  const isBuiltIn = new Set(builtIn.split('\n').map(nameOf));
  return {
    files: [...new Set(wanted.flatMap((name) => filesOf.get(name) ?? []))].toSorted(),
    missing: wanted.filter((name) => !filesOf.has(name) && !isBuiltIn.has(name)),
  };
}
