import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ProviderError } from '../../../../domain/errors.ts';
import type { SettingComplaint } from '../../port.ts';

/** Files of `shepherd redfish build-iso`, as installers request them. */
export const INSTALLER_FILES = ['installer.iso', 'linux', 'initrd'] as const;
export type InstallerFile = (typeof INSTALLER_FILES)[number];

/** Words for the kernel command line, besides those of one installation. */
export const ARGUMENTS_FILE = 'arguments';
/** kexec with its libraries, for machines that do not have it. */
export const KEXEC_FILE = 'kexec.tgz';

/** What a directory lacks of an installer, for the check of a configuration. */
export function complaintsAboutInstaller(directory: string | undefined): SettingComplaint[] {
  const lacking = [...INSTALLER_FILES, ARGUMENTS_FILE].filter(
    (name) => directory !== undefined && !existsSync(join(directory, name)),
  );
  const message =
    `names the installer ${directory}, which has no ${lacking.join(', ')}; run ` +
    `shepherd redfish build-iso ${directory}`;
  return lacking.length > 0 ? [{ key: 'install', message, isWarning: true }] : [];
}

const KEY = 'shepherd.seed=';
const URL_LENGTH_MAX = 240;
/** On the kernel command line of the ISO; replaced by the address of an installation's seed. */
export const SEED_PLACEHOLDER = `${KEY}${'_'.repeat(URL_LENGTH_MAX)}`;

/** The words for a seed's address, as long as the placeholder. */
function seedWords(seed: string): Buffer {
  if (seed.length > URL_LENGTH_MAX) {
    throw new ProviderError('invalid', `${seed} is longer than ${URL_LENGTH_MAX} characters`);
  }
  return Buffer.from(`${KEY}${seed}`.padEnd(SEED_PLACEHOLDER.length));
}

export interface InstallerContent {
  readonly sizeBytes: number;
  /** Bytes from the first to the last, both included. */
  read(first: number, last: number): Readable;
}

/** Reads the installer in a directory. */
export function createInstallerFiles(directory: string) {
  /** Where the placeholder is in the ISO with this size and time. */
  let known: { readonly version: string; readonly at: number } | null = null;

  async function placeholderIn(path: string, version: string): Promise<number> {
    if (known?.version === version) return known.at;
    const at = (await readFile(path)).indexOf(SEED_PLACEHOLDER);
    if (at < 0)
      throw new ProviderError('invalid', `${path} is no ISO of shepherd redfish build-iso`);
    known = { version, at };
    return at;
  }

  return {
    /** For a boot without the ISO. */
    commandLine: (seed: string): string =>
      `${KEY}${seed} ${readFileSync(join(directory, ARGUMENTS_FILE), 'utf8')}`,
    /** For a machine that gets the files in another way; null: there is no such file. */
    async content(name: 'linux' | 'initrd' | typeof KEXEC_FILE): Promise<Buffer | null> {
      return readFile(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
    },
    /** @param seed address of the seed, which the ISO gets. */
    async open(name: InstallerFile, seed: string): Promise<InstallerContent> {
      const path = join(directory, name);
      const { size, mtimeMs } = await stat(path);
      const isPatched = name === 'installer.iso';
      const at = isPatched ? await placeholderIn(path, `${size} ${mtimeMs}`) : size;
      const words = isPatched ? seedWords(seed) : Buffer.alloc(0);
      return {
        sizeBytes: size,
        read: (first, last) =>
          Readable.from(
            overlaid(createReadStream(path, { start: first, end: last }), first, { at, words }),
          ),
      };
    },
  };
}
export type InstallerFiles = ReturnType<typeof createInstallerFiles>;

/** The content from a position on, with these words in it. */
async function* overlaid(
  content: AsyncIterable<Buffer>,
  start: number,
  { at, words }: { readonly at: number; readonly words: Buffer },
): AsyncGenerator<Buffer, void> {
  let position = start;
  for await (const chunk of content) {
    const from = Math.max(at, position);
    const to = Math.min(at + words.length, position + chunk.length);
    if (from < to) words.copy(chunk, from - position, from - at, to - at);
    position += chunk.length;
    yield chunk;
  }
}

/**
 * The part of a file that a `Range` header asks for; null: the whole file; `none`: outside of it.
 * Virtual CD drives read an ISO in parts (RFC 9110, section 14).
 */
export function rangeOf(
  header: string | undefined,
  sizeBytes: number,
): { readonly first: number; readonly last: number } | 'none' | null {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return null;
  const first = from === '' ? Math.max(0, sizeBytes - Number(to)) : Number(from);
  const last = from === '' || to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1);
  return first <= last ? { first, last } : 'none';
}
