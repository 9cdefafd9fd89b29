import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cpio, DIRECTORY, LINK, PROGRAM } from '../../../src/commands/installer/cpio.ts';
import { isProvided } from '../../support/programs.ts';

const hasBusybox = isProvided(whichBusybox(), { tested: 'initramfs archives', by: 'busybox' });

function whichBusybox(): boolean {
  try {
    return execFileSync('busybox', ['--list'], { encoding: 'utf8' }).includes('cpio');
  } catch {
    return false;
  }
}

test.runIf(hasBusybox)('another program unpacks what was packed', () => {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-cpio-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  // One of each remainder, because names and contents are padded to four bytes.
  const files = ['', 'a', 'ab', 'abc', 'abcd'].map((text) => ({
    path: `bin/${text}.sh`,
    mode: PROGRAM,
    content: Buffer.from(text),
  }));
  const link = { path: 'sbin', mode: LINK, content: Buffer.from('bin') };
  const input = cpio([{ path: 'bin', mode: DIRECTORY }, ...files, link]);
  expect(input.length % 4).toBe(0);
  execFileSync('busybox', ['cpio', '-idm'], { cwd: directory, input, stdio: 'pipe' });
  for (const { path, content } of files) {
    expect(readFileSync(join(directory, path))).toEqual(content);
    expect(lstatSync(join(directory, path)).mode & 0o777).toBe(0o755);
  }
  expect(readlinkSync(join(directory, 'sbin'))).toBe('bin');
});
