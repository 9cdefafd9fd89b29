import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { GenericImage } from '../../wire/codec.ts';
import { IMAGE_COMPRESSION, installationFault } from '../../wire/installation.ts';
import type { LoopTime } from '../heartbeat-loop.ts';
import type { HostPrograms } from '../host-programs.ts';
import type { Installer } from '../installation.ts';
import { openDisk } from './disk-writer.ts';
import { fetchImage, withoutSecrets } from './fetch-image.ts';
import { selectRootDevice } from './root-device.ts';
import { unpackerOf } from './unpack.ts';

export interface ImageInstallerDeps {
  /** Where the machine's `/dev`, `/proc` and `/sys` are; `/` but for simulated machines. */
  readonly root: string;
  /** Whether the disk must be the kernel's; false where plain files stand in for disks. */
  readonly isReal: boolean;
  readonly programs: HostPrograms;
  readonly time: Pick<LoopTime, 'sleep' | 'random'>;
  readonly log: (message: string) => void;
  /** PEM of an authority to trust besides the usual ones; null for none. */
  readonly trust: string | null;
  readonly dropCaches: () => Promise<void>;
}

const SILENCE_MS = 30_000;

/**
 * Writes the image that a request names to the disk that it names. All that can be seen before the
 * first byte is written is checked before.
 */
export const createImageInstaller =
  (deps: ImageInstallerDeps): Installer =>
  async (request, signal) => {
    const fault = installationFault(request);
    if (fault !== null) throw new Error(`the installation request is refused: ${fault}`);
    const { genericImage } = request;
    if (!genericImage) throw new Error('this agent installs generic images only');
    if (genericImage.cloudInit?.length) {
      throw new Error('this agent has no place for cloud-init data; build it into the image');
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
    const chunks = fetchImage(image.imageUrl ?? '', options);
    const source = Readable.from(chunks, { objectMode: false });
    for await (const chunk of unpack(source)) {
      signal.throwIfAborted();
      await disk.write(chunk);
    }
    await disk.finish(image.sha256 ?? new Uint8Array());
    deps.log(`${device.name} has the image`);
  } finally {
    await disk.close();
  }
}
