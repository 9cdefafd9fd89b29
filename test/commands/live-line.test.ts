import { expect, test } from 'vitest';
import { wholeWriter } from '../../src/commands/terminal.ts';

/** A file that takes `piece` bytes at once, and `room` in all. */
function fileOf(room: number, piece: number) {
  let content = '';
  const write = wholeWriter((chunk) => {
    const taken = Math.min(piece, room - content.length, chunk.length);
    if (taken === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    content += Buffer.from(chunk.subarray(0, taken)).toString();
    return taken;
  });
  const told: unknown[] = [];
  write('a whole line\n', (error) => told.push(error));
  return { content, told };
}

test('a line that a file takes in pieces is written whole', () => {
  expect(fileOf(100, 5)).toEqual({ content: 'a whole line\n', told: [undefined] });
});

test('a line of which only the beginning finds room is told as failed', () => {
  const { content, told } = fileOf(7, 100);
  expect(content).toBe('a whole');
  expect(told).toEqual([expect.objectContaining({ code: 'ENOSPC' })]);
});
