import type { GenericImage, InstallationRequest, RootDeviceSelector } from './codec.ts';

/** Compressions of a downloaded image, by the words that people use. */
export const IMAGE_COMPRESSION = { none: 0, gzip: 1, zstd: 2, xz: 3 } as const;

const SHA256_BYTES = 32;
const URL_MAX = 2048;
const TEXT_MAX = 256;
/** A path component that stays in its directory. */
const KERNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/;
const WWN_BYTES = [8, 16];
/** Sensible limit of a NoCloud seed. */
const CLOUD_INIT_MAX_BYTES = 1024 * 1024;

/**
 * Why an installation request is invalid; null: it is valid. Does not check the machine: the agent
 * sees whether the disk exists and is free.
 */
export function installationFault(request: InstallationRequest): string | null {
  if ((request.generation ?? 0n) < 1n) return 'its generation is not positive';
  if (request.genericImage) return genericImageFault(request.genericImage);
  return request.metropolis ? null : 'it does not say what to install';
}

/** The same for the image alone. */
export function genericImageFault(image: GenericImage): string | null {
  const compression = image.compression ?? IMAGE_COMPRESSION.none;
  if (!Object.values<number>(IMAGE_COMPRESSION).includes(compression)) {
    return `its compression ${compression} is not known`;
  }
  if (image.sha256?.length !== SHA256_BYTES) return 'its sha256 is not 32 bytes';
  if ((image.cloudInit?.length ?? 0) > CLOUD_INIT_MAX_BYTES) return 'its cloud_init is too large';
  return urlFault(image.imageUrl ?? '') ?? selectorFault(image.rootDevice ?? {});
}

function urlFault(text: string): string | null {
  if (text.length > URL_MAX) return 'its image_url is too long';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    return 'its image_url is not an http or https address';
  }
  return null;
}

function selectorFault({ name, serial, wwn }: RootDeviceSelector): string | null {
  const given = [name, serial, wwn].filter((each) => (each?.length ?? 0) > 0);
  if (given.length !== 1) return 'its root_device needs exactly one of name, serial and wwn';
  if (name && !KERNEL_NAME.test(name)) return 'its root_device is not a kernel name';
  if (serial && !isPrintable(serial)) return 'its root_device serial is not plain text';
  if (wwn?.length && !WWN_BYTES.includes(wwn.length)) return 'its root_device wwn has a wrong size';
  return null;
}

const isPrintable = (text: string): boolean =>
  text.length <= TEXT_MAX && /^[\x20-\x7e]+$/.test(text);
