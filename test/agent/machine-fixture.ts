import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readAll } from '../../src/agent/takeover.ts';

/** A directory that plays a machine's disk, with the agent on it. */
export interface TestMachine {
  readonly executable: string;
  readonly bootId: string;
  /** Runs the program as SSH does: bytes in, then EOF; all that comes out, once it has ended. */
  takeOver(stdin: Uint8Array): Promise<{ code: number | null; stdout: Buffer; stderr: string }>;
  /** Process id that the pid file names; null when there is no such file. */
  pid(): number | null;
  log(): string;
  /** Ends the agent and removes the disk. */
  dispose(): Promise<void>;
}

/** Whether the process runs; one that ended and was not waited for does not. */
export function runs(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export async function ends(pid: number): Promise<void> {
  await expect.poll(() => runs(pid), { timeout: 10_000 }).toBe(false);
}

/** `scope` is a package.json above the program, such as one that makes files ES modules. */
export function createTestMachine(program: Buffer, scope?: string): TestMachine {
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
  return {
    executable,
    bootId,
    pid,
    log: () => readOr(`${executable}.log`, ''),
    async takeOver(stdin) {
      const child = spawn(process.execPath, [executable], {
        env: { ...process.env, SHEPHERD_AGENT_BOOT_ID_FILE: join(disk, 'boot_id') },
      });
      child.stdin.end(stdin);
      const [stdout, stderr, [code]] = await Promise.all([
        readAll(child.stdout as AsyncIterable<Uint8Array>),
        readAll(child.stderr as AsyncIterable<Uint8Array>),
        once(child, 'close') as Promise<[number | null]>,
      ]);
      return { code, stdout, stderr: stderr.toString() };
    },
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
