import { spawn } from 'node:child_process';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { pipeline as pipelineDone } from 'node:stream/promises';
import zlib from 'node:zlib';
import { IMAGE_COMPRESSION } from '../../wire/installation.ts';
import type { HostPrograms } from '../host-programs.ts';

/** Turns a downloaded image into its form on the disk. */
export type Unpack = (packed: Readable) => AsyncIterable<Buffer>;

/**
 * The unpacker for this compression. gzip is built in. zstd is part of newer runtimes; older ones
 * need its program. xz always needs its program.
 * @throws {Error} this machine cannot unpack it.
 */
export function unpackerOf(compression: number, programs: HostPrograms): Unpack {
  switch (compression) {
    case IMAGE_COMPRESSION.none:
      return (packed) => packed as AsyncIterable<Buffer>;
    case IMAGE_COMPRESSION.gzip:
      return (packed) => through(packed, zlib.createGunzip());
    case IMAGE_COMPRESSION.zstd:
      return 'createZstdDecompress' in zlib
        ? (packed) => through(packed, zlib.createZstdDecompress())
        : throughProgram('zstd', programs);
    case IMAGE_COMPRESSION.xz:
      return throughProgram('xz', programs);
    default:
      throw new Error(`compression ${compression} is not known`);
  }
}

/** The reader of the result gets errors of both. */
const through = (packed: Readable, transform: Transform): AsyncIterable<Buffer> =>
  pipeline(packed, transform, () => undefined) as AsyncIterable<Buffer>;

function throughProgram(name: string, programs: HostPrograms): Unpack {
  const path = programs.find(name);
  if (path === null) {
    throw new Error(`cannot unpack ${name}: the program ${name} is not on this machine`);
  }
  return (packed) => runThrough(path, packed);
}

const COMPLAINT_MAX = 500;
const READS_NO_FURTHER = ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'];

async function* runThrough(path: string, packed: Readable): AsyncGenerator<Buffer, void> {
  const child = spawn(path, ['--decompress', '--stdout']);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (status) => resolve(status === 0 ? '' : `status ${status}`));
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint = `${complaint}${text.toString('utf8')}`.slice(0, COMPLAINT_MAX);
  });
  const fed = pipelineDone(packed, child.stdin).then(
    () => null,
    (error: unknown) => error as NodeJS.ErrnoException,
  );
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const [failure, broken] = await Promise.all([ended, fed]);
    // A failed program stops reading; its own message has the cause.
    if (broken && !READS_NO_FURTHER.includes(broken.code ?? '')) throw broken;
    if (failure !== '') throw new Error(`${path} failed: ${complaint.trim() || failure}`);
  } finally {
    child.kill('SIGKILL');
    packed.destroy();
  }
}
