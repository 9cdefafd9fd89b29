import { setImmediate as round } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { SFTPWrapper } from 'ssh2';
import { createTurns, writeFileFrom } from '../../../src/adapters/ssh/sftp-file.ts';

test('writes one chunk per round of the event loop, for the oldest upload that has one', async () => {
  const beginUpload = createTurns();
  const [first, second, third] = [beginUpload(), beginUpload(), beginUpload()];
  const written: string[] = [];
  const write = async (name: string, turn: () => Promise<void>) => {
    await turn();
    written.push(name);
  };
  void write('second', second);
  void write('third', third);
  void write('first', first);
  expect(written).toEqual([]);
  await round();
  expect(written).toEqual(['first']);
  void write('first again', first);
  await round();
  expect(written).toEqual(['first', 'first again']);
  await round();
  await round();
  expect(written).toEqual(['first', 'first again', 'second', 'third']);
  void write('third again', third);
  await round();
  expect(written.at(-1)).toBe('third again');
});

test('writes no chunk of a file before its turn in the queue', async () => {
  const begins: (() => void)[] = [];
  const turn = () => new Promise<void>((resolve) => void begins.push(resolve));
  const written: number[] = [];
  const sftp = {
    open: (...[, , , done]: [string, string, object, (error: null, handle: Buffer) => void]) =>
      done(null, Buffer.from('handle')),
    write: (...[, , , size, , done]: [Buffer, Buffer, number, number, number, () => void]) => {
      written.push(size);
      done();
    },
    close: (_handle: Buffer, done: () => void) => done(),
  } as unknown as SFTPWrapper;
  const content = Buffer.alloc(1_000_000);
  const onProgress = () => void (progresses += 1);
  let progresses = 0;
  const writing = writeFileFrom(sftp, 'agent', content, { fromBytes: 0, turn, onProgress });
  await round();
  expect([begins.length, written]).toEqual([4, []]);
  begins.shift()!();
  await round();
  expect([begins.length, written]).toEqual([4, [240 * 1024]]);
  while (begins.length > 0) {
    begins.shift()!();
    await round();
  }
  await writing;
  expect(written.reduce((sum, size) => sum + size, 0)).toBe(content.length);
  expect(progresses).toBe(written.length);
});
