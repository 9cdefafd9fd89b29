import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { readAll } from '../../src/agent/takeover.ts';
import { feed } from '../support/feed.ts';
import { PATIENCE } from '../support/patience.ts';

/** A directory that serves as a machine's disk, with the agent on it. */
export interface TestMachine {
  readonly executable: string;
  readonly bootId: string;
  /** Runs the program like SSH: sends bytes, then EOF; returns all output after the end. */
  takeOver(stdin: Uint8Array): Promise<{ code: number | null; stdout: Buffer; stderr: string }>;
  /** The same, by a caller who hangs up before the answer. */
  takeOverUnheard(stdin: Uint8Array): Promise<{ code: number | null; stderr: string }>;
  /** Runs the program like an agent start, to its end. */
  runAgent(stdin: Uint8Array): Promise<{ code: number | null; stdout: Buffer; stderr: string }>;
  /** Process id in the pid file; null if there is no such file. */
  pid(): number | null;
  log(): string;
  /** Ends the agent and removes the disk. */
  dispose(): Promise<void>;
}

/** Whether the process runs; a zombie does not. */
export function runs(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function ends(pid: number): Promise<void> {
  await expect.poll(() => runs(pid), PATIENCE).toBe(false);
}

export interface TestMachineOptions {
  /** A package.json above the program, such as one that makes files ES modules. */
  readonly scope?: string;
  /** The program needs no runtime: it runs by itself, with no other program available. */
  readonly isExecutable?: boolean;
  /** Directory with the machine's `/proc`, `/sys` and `/dev`. */
  readonly root?: string;
  readonly rebootCommand?: string;
}

export function createTestMachine(
  program: Buffer,
  { scope, isExecutable, root, rebootCommand }: TestMachineOptions = {},
): TestMachine {
  const disk = mkdtempSync(join(tmpdir(), 'shepherd-machine-'));
  const bootId = '7b1b9a8e-0000-4000-8000-000000000001';
  const executable = join(disk, 'root', 'agent');
  mkdirSync(join(disk, 'root'));
  writeFileSync(executable, program, { mode: 0o755 });
  writeFileSync(join(disk, 'boot_id'), `${bootId}\n`);
  if (scope) writeFileSync(join(disk, 'package.json'), scope);
  const readOr = <Absent>(path: string, absent: Absent) => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return absent;
    }
  };
  const pid = () => {
    const text = readOr(`${executable}.pid`, null);
    return text === null ? null : (JSON.parse(text) as { pid: number }).pid;
  };
  const start = (more: Record<string, string> = {}) => {
    const env = {
      SHEPHERD_AGENT_BOOT_ID_FILE: join(disk, 'boot_id'),
      ...(root && { SHEPHERD_AGENT_ROOT: root }),
      ...(rebootCommand && { SHEPHERD_AGENT_REBOOT_COMMAND: rebootCommand }),
      ...more,
    };
    return isExecutable
      ? spawn(executable, [], { env: { ...env, PATH: '/nowhere' } })
      : spawn(process.execPath, [executable], { env: { ...process.env, ...env } });
  };
  const run = async (stdin: Uint8Array, more: Record<string, string> = {}) => {
    const child = start(more);
    feed(child, stdin);
    const [stdout, stderr, [code]] = await Promise.all([
      readAll(child.stdout as AsyncIterable<Uint8Array>),
      readAll(child.stderr as AsyncIterable<Uint8Array>),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return { code, stdout, stderr: stderr.toString() };
  };
  return {
    executable,
    bootId,
    pid,
    log: () => readOr(`${executable}.log`, ''),
    takeOver: (stdin) => run(stdin),
    async takeOverUnheard(stdin) {
      const child = start();
      onTestFinished(() => void child.kill('SIGKILL'));
      child.stdout.destroy();
      feed(child, stdin);
      const [stderr, [code]] = await Promise.all([
        readAll(child.stderr as AsyncIterable<Uint8Array>),
        once(child, 'close') as Promise<[number | null]>,
      ]);
      return { code, stderr: stderr.toString() };
    },
    runAgent: (stdin) => run(stdin, { TAKEOVER_DETACHED_LAUNCH: '1' }),
    async dispose() {
      const agent = pid();
      if (agent !== null && runs(agent)) {
        process.kill(agent, 'SIGTERM');
        await ends(agent);
      }
      rmSync(disk, { recursive: true });
    },
  };
}
