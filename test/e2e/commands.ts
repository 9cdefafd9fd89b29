import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pid } from 'node:process';
import { text } from 'node:stream/consumers';
import { vi } from 'vitest';
import { judgedChild } from '../published/children.ts';

/** The time that a busy machine needs for a fleet of real processes. */
export const WAIT = { timeout: 600_000, interval: 100 };

/** A folder that does not exist, so that no command reads the contexts of the person who tests. */
const NO_CONTEXTS = join(import.meta.dirname, 'no-contexts');

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `shepherd` process of its own. */
export interface StartedCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Waits until `find` finds something in its standard error. @throws when it ends earlier. */
  said<T>(find: (log: string) => T): Promise<Exclude<T, null | undefined | false>>;
  /** Its message after the start. */
  started(): Promise<Readonly<Record<string, string>>>;
}

export function shepherd(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  launcher = LAUNCHER,
): StartedCommand {
  const child = spawn(process.execPath, [launcher, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...judgedChild, XDG_CONFIG_HOME: NO_CONTEXTS, ...env },
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]): Ended => ({ stdout, stderr, code: code as number | null }),
  );
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const said: StartedCommand['said'] = (find) =>
    vi.waitUntil(() => {
      if (child.exitCode !== null) throw new Error(`it ended: ${log}`);
      return find(log);
    }, WAIT) as never;
  return {
    child,
    ended,
    said,
    started: async () => {
      const line = await said((all) =>
        all.split('\n').find((each) => /daemon started.*\}$/.test(each)),
      );
      return JSON.parse(line.replace(/^<\d>/, '')) as Record<string, string>;
    },
  };
}

/** Resolves with the first line on the process's standard output. */
export async function firstLine({ child, ended }: StartedCommand): Promise<string> {
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

/** Processes whose environment or command line names the directory. */
export const processesUsing = (path: string): string[] =>
  globSync('/proc/[0-9]*').filter(
    (process) =>
      process !== `/proc/${pid}` &&
      ['environ', 'cmdline'].some((file) => read(`${process}/${file}`).includes(path)),
  );

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // It ended during the look, or we may not read it.
  }
}
