import { expect, test } from 'vitest';
import { createProcessScan } from '../../../emulators/hosts/processes.ts';

test('fifty machines that ask at once cost one scan, and whoever asks later gets a later one', async () => {
  let scans = 0;
  const scan = createProcessScan(() => new Map([['machine', [++scans]]]));
  const found = await Promise.all(Array.from({ length: 50 }, scan));
  expect(scans).toBe(1);
  expect(new Set(found.map((each) => each.get('machine')?.[0]))).toEqual(new Set([1]));
  expect((await scan()).get('machine')).toEqual([2]);
});

test('a scan that fails fails for those who asked, and not for the next', async () => {
  let scans = 0;
  const scan = createProcessScan(() => {
    scans += 1;
    if (scans === 1) throw new Error('not readable');
    return new Map();
  });
  await expect(Promise.all([scan(), scan()])).rejects.toThrow('not readable');
  expect(await scan()).toEqual(new Map());
});
