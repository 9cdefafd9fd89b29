import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import {
  createStateFile,
  type StateFilePace,
} from '../../../src/simulator/fakequinix/state/state-file.ts';

/** Longer than any test. */
const NEVER_MS = 3_600_000;

/** A number that is kept on disk; each change adds one. */
async function setUp(pace?: StateFilePace) {
  const dir = await mkdtemp(join(tmpdir(), 'fakequinix-state-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, 'state.json');
  let [value, writes] = [0, 0];
  const serialise = () => {
    writes += 1;
    return `{"value":${value}}`;
  };
  const file = createStateFile(path, serialise, silentLog, pace);
  onTestFinished(() => file.close());
  return {
    file,
    dir,
    writes: () => writes,
    change: () => {
      value += 1;
      file.touch();
      return file.save();
    },
    stored: async () => (JSON.parse(await readFile(path, 'utf8')) as { value: number }).value,
  };
}

test('a small state is on disk when a change is answered', async () => {
  const { change, stored } = await setUp({ smallMaxLength: 1_000, gapMs: NEVER_MS });
  for (const expected of [1, 2, 3]) {
    await change();
    expect(await stored()).toBe(expected);
  }
});

test('changes of a large state wait for one write together; the last one is at the end', async () => {
  const { file, dir, change, stored, writes } = await setUp({ smallMaxLength: 0, gapMs: NEVER_MS });
  await change();
  expect(await stored()).toBe(1);
  for (let times = 0; times < 50; times += 1) await change();
  expect([writes(), await stored()]).toEqual([1, 1]);
  await file.close();
  expect([writes(), await stored()]).toEqual([2, 51]);
  expect(await readdir(dir)).toEqual(['state.json']);
});

test('a large state is written while it runs, too', async () => {
  const { change, stored, writes } = await setUp({ smallMaxLength: 0, gapMs: 20 });
  for (let times = 0; times < 50; times += 1) await change();
  await expect.poll(stored).toBe(50);
  expect(writes()).toBeLessThan(50);
});
