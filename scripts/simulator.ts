import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const LAUNCHER = join(import.meta.dirname, '../bin/shepherd.mjs');

export interface RunningSimulator {
  /** Logs a browser in to the console, once. */
  readonly link: string;
  readonly ended: Promise<unknown>;
  /** Ends it, and waits for the end. */
  stop(): Promise<unknown>;
}

/** Starts `shepherd sim` with a console on a free port. A Ctrl-C in the terminal does not reach it. */
export async function startSimulator(args: readonly string[]): Promise<RunningSimulator> {
  const child = spawn(process.execPath, [LAUNCHER, 'sim', '--console-port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = () => {
    child.kill('SIGINT');
    return ended;
  };
  for await (const line of createInterface({ input: child.stdout })) {
    const link = /http:\S+\/login#\S+/.exec(line)?.[0];
    if (link === undefined) continue;
    child.stdout.resume();
    return { link, ended, stop };
  }
  await stop();
  throw new Error('the simulator ended before it printed its login link');
}
