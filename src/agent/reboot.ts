import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { log } from './program.ts';

/** What a reboot does to the system. */
export interface RebootSteps {
  /** Answers whether the program ended well within its time. Never rejects, never hangs. */
  run(name: string, args: readonly string[]): Promise<boolean>;
  wait(delayMs: number): Promise<void>;
  /** Asks the kernel itself: one letter of its system requests. */
  request(letter: string): void;
}

/** From the mildest: each is given time to work. */
const COMMANDS: readonly (readonly [string, ...string[]])[] = [
  ['systemctl', 'reboot'],
  ['reboot'],
  ['reboot', '-f'],
];
const LIMIT_MS = 60_000;
const REQUESTS_PATH = '/proc/sysrq-trigger';

/**
 * Writes back what is in memory and starts the system anew. A system that is asked to reboot ends
 * this process; while it lives on, it asks harder. Returns when nothing helped.
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
  // Not by the thread pool: writes to a disk that hangs may have all of its threads.
  request(letter) {
    try {
      writeFileSync(REQUESTS_PATH, letter);
    } catch (error) {
      log(`${REQUESTS_PATH}: ${(error as NodeJS.ErrnoException).code}`);
    }
  },
};

/**
 * Whether the program ended well within its time. One that hangs in the kernel survives its kill, so
 * its end is not waited for.
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

/** What is needed of a process. */
interface Started {
  kill(signal: 'SIGKILL'): boolean;
  unref(): void;
  once(event: 'error', hear: (error: Error) => void): unknown;
  once(event: 'exit', hear: (code: number | null) => void): unknown;
}
