import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { type Block, ROOT } from './equinix/document.ts';

const BOUNDARY = '--- end of the block of line';
export const LIMIT_MS = 600_000;

/** A `shepherd` on the path, as if it were installed. */
function installShepherd(directory: string): string {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const launcher = join(bin, 'shepherd');
  writeFileSync(
    launcher,
    `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/bin/shepherd.mjs' "$@"\n`,
  );
  chmodSync(launcher, 0o755);
  return bin;
}

export interface ShellOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** What may be on standard error; nothing when absent. */
  readonly mayComplain?: RegExp;
}

/** Runs every block in one shell, as a reader would. Answers what each printed, by its line. */
export async function runBlocks(
  examples: readonly Block[],
  directory: string,
  { env = {}, mayComplain }: ShellOptions = {},
): Promise<ReadonlyMap<number, string>> {
  const script = [
    'set -eu',
    'end() { for job in $(jobs -p); do kill "$job" || true; done; wait; }',
    'trap end EXIT',
    ...examples.map((block) => `${block.text}\necho; echo '${BOUNDARY}' ${block.line}`),
  ].join('\n');
  const path = [installShepherd(directory), process.env['PATH']].join(delimiter);
  const shell = spawn('bash', ['-c', script], {
    cwd: directory,
    env: { ...process.env, ...env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const limit = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), LIMIT_MS);
  const [stdout, stderr, [code]] = await Promise.all([
    text(shell.stdout),
    text(shell.stderr),
    once(shell, 'exit'),
  ]);
  clearTimeout(limit);
  const complaints = mayComplain ? stderr.replaceAll(mayComplain, '') : stderr;
  expect({ code, complaints }).toEqual({ code: 0, complaints: '' });
  const found = new Map<number, string>();
  let rest = stdout;
  for (const { line } of examples) {
    const mark = `\n${BOUNDARY} ${line}\n`;
    const end = rest.indexOf(mark);
    found.set(line, rest.slice(0, end).trimEnd());
    rest = rest.slice(end + mark.length);
  }
  return found;
}
