import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openDisk } from '../../../src/agent/install/disk-writer.ts';
import { bytesOf, plantTree } from '../tree-fixture.ts';

/** A file: unlike a block device, two processes may open it. */
const plantDisk = () => {
  const root = plantTree({ 'dev/vda': bytesOf(Buffer.alloc(4096)) });
  const path = join(root, 'dev/vda');
  return { path, sizeBytes: 4096, number: null, dropCaches: () => Promise.resolve() };
};

test('opens the disk exclusively, for reading and writing', async () => {
  const options = plantDisk();
  const openFile = vi.fn<typeof open>(open);
  const disk = await openDisk(options, openFile);
  await disk.close();
  const { O_RDWR, O_EXCL } = constants;
  expect(openFile).toHaveBeenCalledExactlyOnceWith(options.path, O_RDWR | O_EXCL);
});

test('reports a disk that the kernel does not give exclusively, and does not try again', async () => {
  const options = plantDisk();
  const busy = Object.assign(new Error('in use'), { code: 'EBUSY' });
  const openFile = vi.fn<typeof open>(() => Promise.reject(busy));
  await expect(openDisk(options, openFile)).rejects.toThrow(`cannot open ${options.path}: EBUSY`);
  expect(openFile).toHaveBeenCalledOnce();
});
