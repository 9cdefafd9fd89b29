import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { installationRequestCodec, type GenericImage } from '../../src/wire/codec.ts';
import {
  IMAGE_COMPRESSION,
  genericImageFault,
  installationFault,
} from '../../src/wire/installation.ts';
import { testRows } from '../support/rows.ts';

const IMAGE: GenericImage = {
  imageUrl: 'https://images.lan/a.img',
  sha256: Buffer.alloc(32, 1),
  compression: IMAGE_COMPRESSION.xz,
  rootDevice: { wwn: Buffer.alloc(8, 2) },
};

describe('a generic image on the wire', () => {
  test('has the field numbers of proto/', () => {
    const bytes = installationRequestCodec.encode({
      generation: 5n,
      genericImage: {
        imageUrl: 'u',
        sha256: Buffer.from('aabb', 'hex'),
        compression: 2,
        rootDevice: { name: 'vda' },
        cloudInit: Buffer.from('c'),
      },
    });
    const image = '0a0175' + '1202aabb' + '1802' + '22050a03766461' + '2a0163';
    const length = (image.length / 2).toString(16).padStart(2, '0');
    expect(Buffer.from(bytes).toString('hex')).toBe(`0805${'8201'}${length}${image}`);
  });

  testRows([
    ['serial', { serial: 'S1' }, '12025331'],
    ['wwn', { wwn: Buffer.from('0102', 'hex') }, '1a020102'],
  ])('a disk by its %s', (_name, rootDevice, hex) => {
    const bytes = installationRequestCodec.encode({ genericImage: { rootDevice } });
    expect(Buffer.from(bytes).toString('hex')).toMatch(new RegExp(`${hex}$`));
    const { genericImage } = installationRequestCodec.decode(bytes);
    expect(genericImage?.rootDevice).toMatchObject(rootDevice);
    expect(genericImage).not.toHaveProperty('cloudInit');
  });

  test('decodes as it was encoded', () => {
    const images = fc.record(
      {
        imageUrl: fc.webUrl(),
        sha256: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((each) => Buffer.from(each)),
        compression: fc.constantFrom(...Object.values(IMAGE_COMPRESSION)),
        cloudInit: fc.uint8Array({ minLength: 1 }).map((each) => Buffer.from(each)),
      },
      { requiredKeys: ['imageUrl', 'sha256', 'compression'] },
    );
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), images, (generation, image) => {
        const genericImage = { ...image, rootDevice: { name: 'sda' } };
        const request = { generation, genericImage };
        const decoded = installationRequestCodec.decode(installationRequestCodec.encode(request));
        expect(installationFault(decoded)).toBeNull();
        const { compression, ...rest } = genericImage;
        expect(decoded).toMatchObject({ generation, genericImage: rest });
        expect(decoded.genericImage?.compression ?? 0).toBe(compression);
      }),
    );
  });
});

describe('faults', () => {
  test.each<[string, GenericImage, RegExp | null]>([
    ['nothing', {}, null],
    ['a name', { rootDevice: { name: 'nvme0n1' } }, null],
    ['a serial', { rootDevice: { serial: 'S3 EW/1' } }, null],
    ['no disk', { rootDevice: {} }, /exactly one/],
    ['two disks', { rootDevice: { name: 'sda', serial: 'x' } }, /exactly one/],
    ['a path', { rootDevice: { name: '../sda' } }, /not a kernel name/],
    ['a path that looks like none', { rootDevice: { name: 'sda/..' } }, /not a kernel name/],
    ['dots', { rootDevice: { name: '..' } }, /not a kernel name/],
    ['a serial of more lines', { rootDevice: { serial: 'a\nb' } }, /plain text/],
    ['half a WWN', { rootDevice: { wwn: Buffer.alloc(4) } }, /wrong size/],
    ['ftp', { imageUrl: 'ftp://x/y' }, /not an http or https/],
    ['no address', { imageUrl: '//x' }, /not an http or https/],
    ['a long address', { imageUrl: `http://x/${'y'.repeat(3_000)}` }, /too long/],
    ['a short SHA-256', { sha256: Buffer.alloc(20) }, /not 32 bytes/],
    ['another compression', { compression: 4 }, /not known/],
    ['much cloud-init', { cloudInit: Buffer.alloc(2_000_000) }, /too large/],
  ])('judges an image with %s', (_name, change, message) => {
    const fault = genericImageFault({ ...IMAGE, ...change });
    if (message === null) expect(fault).toBeNull();
    else expect(fault).toMatch(message);
  });

  test('faults of the request around the image', () => {
    expect(installationFault({ generation: 0n, genericImage: IMAGE })).toMatch(/not positive/);
    expect(installationFault({ generation: 1n })).toMatch(/what to install/);
    expect(installationFault({ generation: 1n, metropolis: {} })).toBeNull();
    expect(installationFault({ generation: 1n, genericImage: IMAGE })).toBeNull();
  });
});
