/** A file, directory or symbolic link of an initramfs. */
export interface ArchiveEntry {
  /** Without a slash at the start. */
  readonly path: string;
  /** Bits of `stat`: kind and permissions. */
  readonly mode: number;
  /** Of a file; or the target of a link. */
  readonly content?: Uint8Array;
}

export const DIRECTORY = 0o040_755;
export const PROGRAM = 0o100_755;
export const LINK = 0o120_777;

const ALIGN_BYTES = 4;
const TRAILER: ArchiveEntry = { path: 'TRAILER!!!', mode: 0 };

/**
 * A cpio archive of the format `newc`, which the kernel unpacks
 * (https://docs.kernel.org/driver-api/early-userspace/buffer-format.html). All files belong to
 * root and have no time, so that the same entries give the same bytes. Directories come first.
 */
export function cpio(entries: readonly ArchiveEntry[]): Buffer {
  return Buffer.concat([...entries, TRAILER].flatMap(parts));
}

function parts({ path, mode, content = new Uint8Array() }: ArchiveEntry, at: number): Uint8Array[] {
  const name = Buffer.from(`${path}\0`);
  const [inode, user, group, links, time, major, minor, checksum] = [at + 1, 0, 0, 1, 0, 0, 0, 0];
  const fields = [inode, mode, user, group, links, time, content.length];
  const numbers = [...fields, major, minor, major, minor, name.length, checksum];
  const head = `070701${numbers.map((value) => value.toString(16).padStart(8, '0')).join('')}`;
  return [padded(Buffer.concat([Buffer.from(head), name])), padded(content)];
}

const padded = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([bytes, Buffer.alloc(-bytes.length & (ALIGN_BYTES - 1))]);
