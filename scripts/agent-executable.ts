/**
 * Makes one executable file of the agent's script and a Node runtime: Node's single executable
 * application. All that it takes comes from the npm registry; `strip`, where the machine has it,
 * makes the file smaller.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '..', 'node_modules');
const NODE = join(PACKAGES, 'node', 'bin', 'node');
const POSTJECT = join(PACKAGES, 'postject', 'dist', 'cli.js');
/** Where the runtime looks for what was put into it: fixed by Node. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const EXECUTABLE_MODE = 0o755;

/** For which machines the executable is: those like this one. */
export const platform = `${process.platform}-${process.arch}`;

/**
 * Writes the executable, mode 0755; it appears whole or not at all.
 * @throws {Error} one of the steps failed.
 */
export function buildAgentExecutable(options: { script: Uint8Array; outFile: string }): void {
  const scratch = mkdtempSync(join(tmpdir(), 'shepherd-agent-'));
  mkdirSync(dirname(options.outFile), { recursive: true });
  const draft = `${options.outFile}.${process.pid}.new`;
  try {
    const blob = prepareBlob(scratch, options.script);
    copyFileSync(NODE, draft);
    chmodSync(draft, EXECUTABLE_MODE);
    // Before the script goes in: afterwards it would be taken out again.
    spawnSync('strip', [draft], { stdio: 'ignore' });
    const injection = [draft, RESOURCE, blob, '--sentinel-fuse', FUSE];
    run([POSTJECT, ...injection]);
    renameSync(draft, options.outFile);
  } finally {
    rmSync(draft, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

function prepareBlob(scratch: string, script: Uint8Array): string {
  const main = join(scratch, 'agent.js');
  const output = join(scratch, 'agent.blob');
  const config = join(scratch, 'sea-config.json');
  writeFileSync(main, script);
  const choices = { disableExperimentalSEAWarning: true, useSnapshot: false, useCodeCache: false };
  writeFileSync(config, JSON.stringify({ main, output, ...choices }));
  run(['--experimental-sea-config', config]);
  return output;
}

/**
 * By the runtime that goes into the file: the two must be of one version. What it says on standard
 * error is part of the error when it fails, and else of no interest.
 */
function run(args: readonly string[]): void {
  execFileSync(NODE, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
