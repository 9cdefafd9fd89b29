import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const BYTES_MAX = 2_048;
const LINES_MAX = 10;
const AT_EASE = / heartbeats are accepted$/;
const AS_ASKED = / ended: stopped$/;

/**
 * What an earlier agent wrote to its log after all was well with it for the last time, on one line;
 * null: nothing that anybody would want to know, or nothing that can be read.
 */
export function lastWords(path: string): string | null {
  const lines = tailOf(path)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const since = lines.findLastIndex((line) => AT_EASE.test(line)) + 1;
  const words = lines.slice(since).filter((line) => !AS_ASKED.test(line));
  return words.length === 0 ? null : words.slice(-LINES_MAX).join(' | ');
}

/** Whole lines only. Not of what only looks like a file: to read that could take for ever. */
function tailOf(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const found = fstatSync(file);
    if (!found.isFile()) return '';
    const start = Math.max(0, found.size - BYTES_MAX);
    const bytes = Buffer.alloc(BYTES_MAX);
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, BYTES_MAX, start));
    return start === 0 ? text : text.slice(text.indexOf('\n') + 1);
  } catch {
    // It is only for people: a takeover goes on without.
    return '';
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
