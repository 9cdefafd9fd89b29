import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createTarGzip } from 'nanotar';
import {
  ARGUMENTS_FILE,
  KEXEC_FILE,
  SEED_PLACEHOLDER,
} from '../../adapters/provider/redfish/install/installer-files.ts';
import { findProgram } from '../../adapters/driver-kit/program.ts';
import { UsageError } from '../../domain/errors.ts';
import { cpio, DIRECTORY, LINK, PROGRAM, type ArchiveEntry } from './cpio.ts';
import { moduleFiles, MODULES } from './modules.ts';

export interface InstallerOptions {
  /** Gets `installer.iso`, `linux`, `initrd`, and `kexec.tgz` if kexec is installed here. */
  readonly directory: string;
  /** Debian package of a kernel; null: a kernel below `root`. */
  readonly deb: string | null;
  /** Its `boot` and `lib/modules` have the kernel. */
  readonly root: string;
  /** Kernel modules besides the usual ones. */
  readonly modules: readonly string[];
  /** Words for the kernel command line. */
  readonly append: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** What was built. */
export interface Installer {
  readonly kernel: string;
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[];
  /** Usual modules that this kernel does not have. */
  readonly missing: readonly string[];
}

/** The Debian package of each program or file that is needed. */
const PROGRAMS: Readonly<Record<string, string>> = {
  busybox: 'busybox-static',
  zstd: 'zstd',
  'grub-mkrescue': 'grub-common',
  xorriso: 'xorriso',
  mformat: 'mtools',
};
const GRUB: Readonly<Record<string, string>> = {
  '/usr/lib/grub/i386-pc/modinfo.sh': 'grub-pc-bin',
  '/usr/lib/grub/x86_64-efi/modinfo.sh': 'grub-efi-amd64-bin',
};
/** Programs of busybox that the installer calls. */
const APPLETS = ['blockdev', 'depmod', 'ip', 'modprobe', 'sha256sum', 'timeout', 'udhcpc', 'wget'];
const UNPACKERS: Readonly<Record<string, string>> = { xz: 'xz', zst: 'zstd', gz: 'gzip' };
/** Without these, GRUB brings 15 MB of modules, fonts and translations. */
const SMALL = ['--locales=', '--themes=', '--fonts=', '--install-modules=linux normal iso9660'];
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;

/**
 * Builds the installer of machines, without root: a kernel, an initramfs with `init.sh`, and an ISO
 * that boots both by BIOS and by UEFI.
 * @throws {UsageError} a program, a kernel or a module is missing; names what to install or give.
 */
export async function buildInstaller(options: InstallerOptions): Promise<Installer> {
  const { directory, deb, env = process.env } = options;
  if (deb !== null && !existsSync(deb)) throw new UsageError(`there is no file ${deb}`);
  makeWritable(directory);
  const programs = requirePrograms(deb === null ? [] : ['dpkg-deb'], env);
  const work = mkdtempSync(join(tmpdir(), 'shepherd-installer-'));
  try {
    if (deb !== null) run(['dpkg-deb', '-x', deb, join(work, 'root')]);
    const kernel = deb === null ? kernelBelow(options.root) : kernelBelow(join(work, 'root'), deb);
    const { missing, entries } = modulesOf(kernel, {
      ...options,
      work,
      busybox: programs('busybox'),
    });
    const initrd = gzipSync(
      cpio(
        withDirectories([
          ...['proc', 'sys', 'dev', 'tmp', 'mnt', 'etc'].map(directoryAt),
          linkTo('bin', 'sbin'),
          linkTo('busybox', 'bin/sh'),
          program('init', join(import.meta.dirname, 'init.sh')),
          program('disks.sh', join(import.meta.dirname, '../../adapters/driver-kit/disks.sh')),
          ...withLibraries('bin/busybox', programs('busybox')),
          ...withLibraries('bin/zstd', programs('zstd')),
          ...entries,
        ]),
      ),
    );
    const boot = join(work, 'iso', 'boot');
    mkdirSync(join(boot, 'grub'), { recursive: true });
    for (const place of [boot, directory]) {
      writeFileSync(join(place, 'linux'), readFileSync(kernel.image));
      writeFileSync(join(place, 'initrd'), initrd);
    }
    const words = `console=ttyS0,115200 console=tty0 panic=30 ${options.append}`.trim();
    writeFileSync(join(directory, ARGUMENTS_FILE), words);
    writeFileSync(join(boot, 'grub', 'grub.cfg'), grubConfig(words));
    run(['grub-mkrescue', ...SMALL, '-o', join(directory, 'installer.iso'), join(work, 'iso')]);
    const kexec = findProgram('kexec', [...placesIn(env), '/usr/sbin', '/sbin']);
    if (kexec !== null) writeFileSync(join(directory, KEXEC_FILE), await packKexec(kexec));
    const made = ['installer.iso', 'linux', 'initrd', ...(kexec === null ? [] : [KEXEC_FILE])];
    const files = made.map((name) => {
      const path = join(directory, name);
      return { path, sizeBytes: statSync(path).size };
    });
    return { kernel: kernel.version, files, missing };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function makeWritable(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK);
  } catch (cause) {
    throw new UsageError(`the files cannot be written to ${directory}`, { cause });
  }
}

const grubConfig = (words: string): string => `set timeout=0
linux /boot/linux ${SEED_PLACEHOLDER} ${words}
initrd /boot/initrd
boot
`;

const placesIn = (env: NodeJS.ProcessEnv): string[] => (env['PATH'] ?? '').split(delimiter);

/** Finds all programs, so that one message names every missing package. */
function requirePrograms(more: readonly string[], env: NodeJS.ProcessEnv) {
  const find = (name: string) => findProgram(name, placesIn(env));
  const lacking = [
    ...[...Object.keys(PROGRAMS), ...more].filter((name) => find(name) === null),
    ...Object.keys(GRUB).filter((path) => !existsSync(path)),
  ];
  if (lacking.length > 0) {
    const packages = lacking.map((name) => PROGRAMS[name] ?? GRUB[name] ?? 'dpkg');
    throw new UsageError(
      `missing here: ${lacking.join(', ')}; on Debian: apt-get install ${packages.join(' ')}`,
    );
  }
  const applets = run([find('busybox')!, '--list']).split('\n');
  const without = APPLETS.filter((name) => !applets.includes(name));
  if (without.length === 0) return (name: string): string => find(name)!;
  throw new UsageError(
    `busybox lacks ${without.join(', ')}; on Debian: apt-get install busybox-static`,
  );
}

interface Kernel {
  readonly version: string;
  readonly image: string;
  /** Directory of its modules. */
  readonly modules: string;
  readonly root: string;
}

/** The newest kernel that has its modules. @param named how a message names the place. */
function kernelBelow(root: string, named = root): Kernel {
  const boot = join(root, 'boot');
  const images = existsSync(boot)
    ? readdirSync(boot).filter((name) => name.startsWith('vmlinuz-'))
    : [];
  const byVersion = images.toSorted((one, other) =>
    other.localeCompare(one, 'en', { numeric: true }),
  );
  for (const image of byVersion) {
    const version = image.slice('vmlinuz-'.length);
    const modules = ['lib', 'usr/lib']
      .map((place) => join(root, place, 'modules', version))
      .find(existsSync);
    if (modules !== undefined) return { version, image: join(boot, image), modules, root };
  }
  throw new UsageError(
    `${named} has no kernel (boot/vmlinuz-VERSION) with modules (lib/modules/VERSION); run ` +
      '"apt-get download $(apt-cache depends linux-image-amd64 | sed -n \'s/.*Depends: //p\')" ' +
      'and give the package by --deb',
  );
}

/** The modules as entries, with the lists from which `modprobe` finds them. */
function modulesOf(
  { modules, version }: Kernel,
  {
    modules: more,
    work,
    busybox,
  }: Pick<InstallerOptions, 'modules'> & { work: string; busybox: string },
) {
  const depmod = (base: string, ...flags: string[]) =>
    run([busybox, 'depmod', ...flags, '-b', base, version]);
  // A package has no list of dependencies: the system that installs it writes the list.
  const base = modules.slice(0, -join('lib', 'modules', version).length);
  const dependencies = readIfPresent(join(modules, 'modules.dep')) ?? depmod(base, '-n');
  const builtIn = readIfPresent(join(modules, 'modules.builtin')) ?? '';
  const { files, missing } = moduleFiles([...MODULES, ...more], { dependencies, builtIn });
  const unknown = missing.filter((name) => more.includes(name));
  if (unknown.length > 0)
    throw new UsageError(`the kernel ${version} has no module ${unknown.join(', ')}`);
  const stage = join(work, 'stage');
  const place = join('lib', 'modules', version);
  for (const file of files) {
    const to = join(stage, place, file.replace(/\.ko\.[a-z0-9]+$/, '.ko'));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, unpacked(join(modules, file)));
  }
  depmod(stage);
  const staged = readdirSync(join(stage, place), { recursive: true, withFileTypes: true });
  const entries = staged
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => program(path.slice(stage.length + 1), path));
  return { entries, missing };
}

function unpacked(path: string): Buffer {
  const unpacker = UNPACKERS[/\.ko\.([a-z0-9]+)$/.exec(path)?.[1] ?? ''];
  if (unpacker === undefined) return readFileSync(path);
  return execFileSync(unpacker, ['-dc', path], { maxBuffer: OUTPUT_MAX_BYTES });
}

const directoryAt = (path: string): ArchiveEntry => ({ path, mode: DIRECTORY });
const linkTo = (target: string, path: string): ArchiveEntry => ({
  path,
  mode: LINK,
  content: Buffer.from(target),
});
const program = (path: string, from: string): ArchiveEntry => ({
  path,
  mode: PROGRAM,
  content: readFileSync(from),
});

/** A program, and the libraries that it loads, at the same paths as here. */
function withLibraries(path: string, from: string): ArchiveEntry[] {
  const listed = isStatic(from) ? '' : run(['ldd', from]);
  const libraries = [...listed.matchAll(/(?:=> |^\s*)(\/\S+) \(/gm)].map(([, library]) => library!);
  return [program(path, from), ...libraries.map((library) => program(library.slice(1), library))];
}

/** kexec with its libraries, for machines without: their own libraries may be older. */
async function packKexec(path: string): Promise<Uint8Array> {
  const files = withLibraries('kexec', path).map(({ path: name, content }) => ({
    ...{ name: `kexec/${basename(name)}`, data: content!, attrs: { mode: '755', uid: 0, gid: 0 } },
  }));
  return createTarGzip(files);
}

/** The ELF file names no program that loads its libraries (`PT_INTERP`). */
const isStatic = (path: string): boolean =>
  !readFileSync(realpathSync(path)).subarray(0, 4096).includes('/ld-');

/** Each entry once, after its directories. */
function withDirectories(entries: readonly ArchiveEntry[]): ArchiveEntry[] {
  const found = new Map<string, ArchiveEntry>();
  const add = (entry: ArchiveEntry): void => {
    const parent = dirname(entry.path);
    if (parent !== '.') add(directoryAt(parent));
    if (!found.has(entry.path)) found.set(entry.path, entry);
  };
  for (const entry of entries) add(entry);
  return [...found.values()];
}

function readIfPresent(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

/** @throws {UsageError} the program failed; has its last words. */
function run([name = '', ...args]: readonly string[]): string {
  try {
    return execFileSync(name, args, {
      encoding: 'utf8',
      maxBuffer: OUTPUT_MAX_BYTES,
      stdio: 'pipe',
    });
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: string };
    const words = stderr?.trim().split('\n').slice(-3).join(' ') ?? '';
    throw new UsageError(`${basename(name)} failed: ${words}`, { cause });
  }
}
