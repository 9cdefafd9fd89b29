import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Writes an image to a disk from the first byte to the last. */
export interface DiskWriter {
  /** @throws {Error} the image is larger than the disk, or the disk cannot be written. */
  write(chunk: Uint8Array): Promise<void>;
  /**
   * Call once after the last byte. Until then the start of the disk stays blank, so that a partial
   * or wrong image never boots.
   * @throws {Error} the SHA-256 is not `sha256`, or the disk returns different bytes.
   */
  finish(sha256: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export interface DiskWriterOptions {
  readonly path: string;
  readonly sizeBytes: number;
  /** `major:minor` that the device must have; null for a file in place of a device. */
  readonly number: string | null;
  /** Clears the kernel's cache of the disk, so that reads come from the disk itself. */
  readonly dropCaches: () => Promise<void>;
}

const BLOCK_BYTES = 4 * 1024 * 1024;

/**
 * Opens the disk exclusively: the kernel refuses while it, or a part of it, is in use.
 * @throws {Error} it is in use, or it is another device than expected.
 */
export async function openDisk(
  options: DiskWriterOptions,
  openFile: typeof open = open,
): Promise<DiskWriter> {
  const { path } = options;
  const file = await openFile(path, constants.O_RDWR | constants.O_EXCL).catch((cause: unknown) => {
    throw new Error(`cannot open ${path}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  });
  try {
    await assertIsDisk(file, options);
    return createWriter(file, options);
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function assertIsDisk(file: FileHandle, { path, number }: DiskWriterOptions) {
  if (number === null) return;
  const stat = await file.stat();
  if (!stat.isBlockDevice()) throw new Error(`${path} is not a block device`);
  const { major, minor } = splitDevice(BigInt(stat.rdev));
  if (`${major}:${minor}` !== number) {
    throw new Error(`${path} is device ${major}:${minor}, not ${number}`);
  }
}

/** The same as glibc's `gnu_dev_major` and `gnu_dev_minor`. */
export const splitDevice = (device: bigint): { major: bigint; minor: bigint } => ({
  major: ((device >> 8n) & 0xfffn) | ((device >> 32n) & ~0xfffn),
  minor: (device & 0xffn) | ((device >> 12n) & ~0xffn),
});

function createWriter(file: FileHandle, options: DiskWriterOptions): DiskWriter {
  const { path, sizeBytes } = options;
  const hash = createHash('sha256');
  const block = Buffer.alloc(BLOCK_BYTES);
  let head: Buffer | null = null;
  let [fill, atBytes] = [0, 0];

  const flush = async () => {
    const content = block.subarray(0, fill);
    hash.update(content);
    if (head) await writeAll(file, content, atBytes);
    else {
      head = Buffer.from(content);
      await writeAll(file, Buffer.alloc(Math.min(BLOCK_BYTES, sizeBytes)), 0);
    }
    atBytes += fill;
    fill = 0;
  };
  return {
    async write(chunk) {
      if (atBytes + fill + chunk.length > sizeBytes) {
        throw new Error(`the image is larger than ${path}, which has ${sizeBytes} bytes`);
      }
      for (let from = 0; from < chunk.length;) {
        const part = chunk.subarray(from, from + BLOCK_BYTES - fill);
        block.set(part, fill);
        fill += part.length;
        from += part.length;
        if (fill === BLOCK_BYTES) await flush();
      }
    },
    async finish(sha256) {
      if (fill > 0) await flush();
      if (!head) throw new Error('the image is empty');
      const found = hash.digest();
      if (Buffer.compare(found, sha256) !== 0) throw wrongHash(found, sha256);
      await file.sync();
      await writeAll(file, head, 0);
      await file.sync();
      await options.dropCaches();
      await verify(file, { path, atBytes, found });
    },
    close: () => file.close(),
  };
}

export const wrongHash = (found: Uint8Array, asked: Uint8Array): Error =>
  new Error(`the image has SHA-256 ${hex(found)}, not ${hex(asked)}`);

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

async function writeAll(file: FileHandle, content: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < content.length;) {
    const rest = content.subarray(done);
    const { bytesWritten } = await file.write(rest, 0, rest.length, position + done);
    if (bytesWritten === 0) throw new Error('the disk is full');
    done += bytesWritten;
  }
}

async function verify(
  file: FileHandle,
  { path, atBytes, found }: { path: string; atBytes: number; found: Buffer },
): Promise<void> {
  const hash = createHash('sha256');
  const block = Buffer.alloc(BLOCK_BYTES);
  for (let done = 0; done < atBytes;) {
    const wanted = Math.min(BLOCK_BYTES, atBytes - done);
    const { bytesRead } = await file.read(block, 0, wanted, done);
    if (bytesRead === 0) break;
    hash.update(block.subarray(0, bytesRead));
    done += bytesRead;
  }
  if (Buffer.compare(hash.digest(), found) !== 0) {
    throw new Error(`${path} does not return the bytes that were written to it`);
  }
}
