import { expect, test } from 'vitest';
import { readBootId } from '../../../src/actors/tasks/task.ts';

/** A machine whose shell prints this before what a command prints. */
const shellOf = (stdout: string) => ({
  execute: async () => ({ stdout: Buffer.from(stdout), stderr: Buffer.of() }),
});
const signal = new AbortController().signal;

test('C5: a boot id is not what a .bashrc prints before it, which may differ each time', async () => {
  const id = '0d5b3c1e-6a52-4e0b-9d3f-6c1f0f4a7b10';
  expect(await readBootId(shellOf(`${id}\n`), signal)).toBe(id);
  expect(await readBootId(shellOf(`It is 10:01:02\n${id}\n`), signal)).toBe(id);
  expect(await readBootId(shellOf(`It is 10:01:03\r\n${id}\r\n`), signal)).toBe(id);
});
