import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { log } from './program.ts';

/** The effects of a reboot on the system. */
export interface RebootSteps {
  /** Returns whether the program ended well within its time. Never rejects, never hangs. */
  run(name: string, args: readonly string[]): Promise<boolean>;
  wait(delayMs: number): Promise<void>;
  /** Asks the kernel directly, with one letter of its system requests. */
  request(letter: string): void;
}

/** From mild to hard; each gets time to work. */
const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['systemctl', 'reboot'],
  ['reboot'],
  ['reboot', '-f'],
];
const LIMIT_MS = 60_000;
const REQUESTS_PATH = '/proc/sysrq-trigger';

/**
 * Syncs disks and restarts the system. A rebooting system ends this process; while it lives, uses
 * harder means. Returns if nothing helped.
 */
export async function rebootForReal(steps: RebootSteps = realSteps): Promise<void> {
  await steps.run('sync', []);
  for (const [name, ...args] of COMMANDS) {
    log(`rebooting: ${[name, ...args].join(' ')}`);
    if (await steps.run(name, args)) await steps.wait(LIMIT_MS);
  }
  for (const letter of ['s', 'u', 'b']) steps.request(letter);
}

const realSteps: RebootSteps = {
  run: (name, args) => runToEnd(name, args),
  wait: (delayMs) => sleep(delayMs),
  // Avoids the thread pool, whose threads may all hang in disk writes.
  request(letter) {
    try {
      writeFileSync(REQUESTS_PATH, letter);
    } catch (error) {
      log(`${REQUESTS_PATH}: ${(error as NodeJS.ErrnoException).code}`);
    }
  },
};

/**
 * Whether the program ended well within its time. Does not wait longer, because a program that
 * hangs in the kernel survives its kill.
 */
export function runToEnd(
  name: string,
  args: readonly string[],
  { limitMs = LIMIT_MS, start = spawn }: { limitMs?: number; start?: Start } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = start(name, [...args], { stdio: 'ignore' });
    const limit = setTimeout(() => {
      log(`${name}: took longer than ${limitMs} ms`);
      child.kill('SIGKILL');
      child.unref();
      resolve(false);
    }, limitMs);
    const end = (isWell: boolean) => {
      clearTimeout(limit);
      resolve(isWell);
    };
    child.once('error', (error) => {
      log(`${name}: ${error.message}`);
      end(false);
    });
    child.once('exit', (code) => end(code === 0));
  });
}

type Start = (name: string, args: string[], options: { stdio: 'ignore' }) => Started;

/** The used part of a process. */
interface Started {
  kill(signal: 'SIGKILL'): boolean;
  unref(): void;
  once(event: 'error', hear: (error: Error) => void): unknown;
  once(event: 'exit', hear: (code: number | null) => void): unknown;
}
