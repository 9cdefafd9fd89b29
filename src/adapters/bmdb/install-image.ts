import { installationRequestCodec, WireError } from '../../wire/codec.ts';
import type { GenericImage, RootDeviceSelector } from '../../wire/codec.ts';
import { genericImageFault, IMAGE_COMPRESSION } from '../../wire/installation.ts';
import { plainText } from '../../lib/texts.ts';
import type { InstallImage } from '../../domain/verbs.ts';

/** An image to install, in the form of the agents' protocol. */

const SHA256 = /^[0-9a-f]{64}$/;
/** As disks and people write it: perhaps with a prefix for its kind, and with separators. */
const WWN = /^(?:eui\.|naa\.|0x)?((?:[0-9a-f]{2}[:-]?)+)$/i;

/** Why the image cannot be installed; null if it can. */
export function imageFault(image: InstallImage): string | null {
  if (!SHA256.test(image.sha256)) return 'its sha256 is not 64 lower-case hexadecimal digits';
  if (!Object.hasOwn(IMAGE_COMPRESSION, image.compression)) {
    return `its compression is one of ${Object.keys(IMAGE_COMPRESSION).join(', ')}`;
  }
  const { rootDevice, url } = image;
  if (plainText(url, url.length) !== url) return 'its url is not plain text';
  if (hasCredentials(url)) return 'its url has a user name or a password, which would be stored';
  if (Object.keys(rootDevice).length !== 1) return 'its root device is given in several ways';
  if ('wwn' in rootDevice && !WWN.test(rootDevice.wwn))
    return 'its root device wwn is not a number';
  return genericImageFault(wireImage(image));
}

function hasCredentials(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url !== null && url.username + url.password !== '';
}

/** Returns a serialized `OSInstallationRequest`. @throws {WireError} it cannot be encoded. */
export const installationOf = (image: InstallImage, generation: bigint): Uint8Array =>
  installationRequestCodec.encode({
    generation,
    genericImage: wireImage(image),
    type: 'genericImage',
  });

/**
 * Reduces an answered request to what is still needed. It is not handed out again, and its
 * first-boot data may hold secrets. Of an unreadable request or another kind, only the generation
 * is kept.
 */
export function answeredRequest(raw: Uint8Array): Uint8Array {
  try {
    const request = installationRequestCodec.decode(raw);
    const { generation = 0n, genericImage: image } = request;
    if (request.type !== 'genericImage' || !image) {
      return installationRequestCodec.encode({ generation });
    }
    const { cloudInit: _, ...genericImage } = image;
    return installationRequestCodec.encode({ generation, genericImage, type: 'genericImage' });
  } catch (error) {
    if (error instanceof WireError) return new Uint8Array();
    throw error;
  }
}

const wireImage = (image: InstallImage): GenericImage => ({
  imageUrl: image.url,
  sha256: Buffer.from(image.sha256, 'hex'),
  compression: IMAGE_COMPRESSION[image.compression],
  rootDevice: selectorOf(image.rootDevice),
});

function selectorOf(device: InstallImage['rootDevice']): RootDeviceSelector {
  if ('name' in device) return { name: device.name, by: 'name' };
  if ('serial' in device) return { serial: device.serial, by: 'serial' };
  const digits = WWN.exec(device.wwn)?.[1]?.replace(/[:-]/g, '') ?? '';
  return { wwn: Buffer.from(digits, 'hex'), by: 'wwn' };
}
