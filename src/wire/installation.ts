import type { GenericImage, InstallationRequest, RootDeviceSelector } from './codec.ts';

/** How an image may be packed where it is fetched from, by the words that people use. */
export const IMAGE_COMPRESSION = { none: 0, gzip: 1, zstd: 2, xz: 3 } as const;

const SHA256_BYTES = 32;
const URL_MAX = 2048;
const TEXT_MAX = 256;
/** A part of a path that stays where it is. */
const KERNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/;
const WWN_BYTES = [8, 16];
/** What a NoCloud seed may sensibly hold. */
const CLOUD_INIT_MAX_BYTES = 1024 * 1024;

/**
 * Why an installation cannot be asked for; null when it can. It says nothing about the machine:
 * whether the disk is there and free is for the agent to see.
 */
export function installationFault(request: InstallationRequest): string | null {
  if ((request.generation ?? 0n) < 1n) return 'its generation is not positive';
  if (request.genericImage) return genericImageFault(request.genericImage);
  return request.metropolis ? null : 'it says not what to install';
}

/** The same, of the image alone. */
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
    return 'its image_url is no http or https address';
  }
  return null;
}

function selectorFault({ name, serial, wwn }: RootDeviceSelector): string | null {
  const given = [name, serial, wwn].filter((each) => (each?.length ?? 0) > 0);
  if (given.length !== 1) return 'its root_device needs exactly one of name, serial and wwn';
  if (name && !KERNEL_NAME.test(name)) return 'its root_device is no kernel name';
  if (serial && !isPrintable(serial)) return 'its root_device serial is not plain text';
  if (wwn?.length && !WWN_BYTES.includes(wwn.length)) return 'its root_device wwn has a wrong size';
  return null;
}

const isPrintable = (text: string): boolean =>
  text.length <= TEXT_MAX && /^[\x20-\x7e]+$/.test(text);
