import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { judgedChild } from '../published/children.ts';

/** Contexts of the person who runs the tests are not touched, and found by no command. */
const NO_CONTEXTS = mkdtempSync(join(tmpdir(), 'shepherd-no-contexts-'));
process.once('exit', () => rmSync(NO_CONTEXTS, { recursive: true, force: true }));

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `shepherd` process of its own. */
export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function shepherd(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  launcher = LAUNCHER,
): Started {
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...judgedChild, XDG_CONFIG_HOME: NO_CONTEXTS, ...env },
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]): Ended => ({ stdout, stderr, code: code as number | null }),
  );
  return { child, ended };
}

/** Resolves with the first line that the process writes to standard output. */
export async function firstLine({ child, ended }: Started): Promise<string> {
  let seen = '';
  const line = new Promise<string>((resolve) => {
    child.stdout!.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      const end = seen.indexOf('\n');
      if (end >= 0) resolve(seen.slice(0, end));
    });
  });
  const failed = ended.then(({ code, stderr }): never => {
    throw new Error(`ended with ${code} before its first line: ${stderr}`);
  });
  return Promise.race([line, failed]);
}
