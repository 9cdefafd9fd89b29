import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { GenericImage } from '../../wire/codec.ts';
import { IMAGE_COMPRESSION, installationFault } from '../../wire/installation.ts';
import type { LoopTime } from '../heartbeat-loop.ts';
import type { HostPrograms } from '../host-programs.ts';
import type { Installer } from '../installation.ts';
import { openDisk, wrongHash } from './disk-writer.ts';
import { fetchImage, withoutSecrets } from './fetch-image.ts';
import { selectRootDevice } from './root-device.ts';
import { unpackerOf } from './unpack.ts';

export interface ImageInstallerDeps {
  /** Parent of the machine's `/dev`, `/proc` and `/sys`; `/` except for simulated machines. */
  readonly root: string;
  /** Whether the disk must be a kernel device; false if plain files replace disks. */
  readonly isReal: boolean;
  readonly programs: HostPrograms;
  readonly time: Pick<LoopTime, 'sleep' | 'random'>;
  readonly log: (message: string) => void;
  /** PEM of an additional authority to trust; null: none. */
  readonly trust: string | null;
  readonly dropCaches: () => Promise<void>;
  /** Number of bytes of an image that may be held in memory now. */
  readonly roomBytes: () => number;
}

const SILENCE_MS = 30_000;

/**
 * Writes the requested image to the requested disk. Makes all possible checks before the first byte
 * is written.
 */
export const createImageInstaller =
  (deps: ImageInstallerDeps): Installer =>
  async (request, signal) => {
    const fault = installationFault(request);
    if (fault !== null) throw new Error(`the installation request is refused: ${fault}`);
    const { genericImage } = request;
    if (!genericImage) throw new Error('this agent installs generic images only');
    if (genericImage.cloudInit?.length) {
      throw new Error('this agent cannot store cloud-init data; build it into the image');
    }
    await install(genericImage, deps, signal);
  };

async function install(
  image: GenericImage,
  deps: ImageInstallerDeps,
  signal: AbortSignal,
): Promise<void> {
  const compression = image.compression ?? IMAGE_COMPRESSION.none;
  const unpack = unpackerOf(compression, deps.programs);
  const device = selectRootDevice(deps.root, image.rootDevice ?? {});
  const disk = await openDisk({
    path: join(deps.root, 'dev', device.name),
    sizeBytes: device.sizeBytes,
    number: deps.isReal ? (device.number ?? 'of the kernel') : null,
    dropCaches: deps.dropCaches,
  });
  try {
    deps.log(`writing ${withoutSecrets(image.imageUrl ?? '')} to ${device.name}`);
    const isPacked = compression !== IMAGE_COMPRESSION.none;
    const sizeMaxBytes = isPacked ? Infinity : device.sizeBytes;
    const options = { ...deps, signal, silenceMs: SILENCE_MS, sizeMaxBytes };
    const sha256 = image.sha256 ?? new Uint8Array();
    const held = await hold(fetchImage(image.imageUrl ?? '', options), deps.roomBytes());
    // A wrong image is then refused while the disk is still unchanged.
    if (held.isWhole) {
      await assertIs(sha256, unpack(Readable.from(held.chunks(), { objectMode: false })), device);
    } else
      deps.log('the image does not fit into memory: its SHA-256 is checked after it is written');
    for await (const chunk of unpack(Readable.from(held.chunks(), { objectMode: false }))) {
      signal.throwIfAborted();
      await disk.write(chunk);
    }
    await disk.finish(sha256);
    deps.log(`${device.name} has the image`);
  } finally {
    await disk.close();
  }
}

/** The fetched part and the rest as it arrives; complete `chunks` can be read again. */
interface Held {
  readonly isWhole: boolean;
  readonly chunks: () => AsyncGenerator<Buffer, void>;
}

/** Fetches until the image is complete or memory is used up. */
async function hold(source: AsyncGenerator<Buffer, void>, roomBytes: number): Promise<Held> {
  const held: Buffer[] = [];
  let sizeBytes = 0;
  let isWhole = false;
  while (!isWhole && sizeBytes <= roomBytes) {
    const next = await source.next();
    isWhole = next.done === true;
    if (next.done) break;
    held.push(next.value);
    sizeBytes += next.value.length;
  }
  return {
    isWhole,
    async *chunks() {
      yield* held;
      if (!isWhole) yield* source;
    },
  };
}

async function assertIs(
  sha256: Uint8Array,
  image: AsyncIterable<Buffer>,
  { name, sizeBytes }: { name: string; sizeBytes: number },
): Promise<void> {
  const hash = createHash('sha256');
  let doneBytes = 0;
  for await (const chunk of image) {
    doneBytes += chunk.length;
    if (doneBytes > sizeBytes) {
      throw new Error(`the image is larger than ${name}, which has ${sizeBytes} bytes`);
    }
    hash.update(chunk);
  }
  if (doneBytes === 0) throw new Error('the image is empty');
  const found = hash.digest();
  if (Buffer.compare(found, sha256) !== 0) throw wrongHash(found, sha256);
}
