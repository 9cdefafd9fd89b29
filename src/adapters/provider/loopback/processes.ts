import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  bootIdVariable,
  killAll,
  processesByMachine,
} from '../../../../emulators/hosts/processes.ts';

/** What runs on the machine: each command in a process group of its own. */
export interface Processes {
  /** Runs a shell line. */
  start(line: string): ChildProcess;
  /** Runs a script, fed to a shell; answers its exit code, null when it was killed. */
  runScript(script: string, signal: AbortSignal): Promise<number | null>;
  /** Ends the commands that were started here. */
  leave(): Promise<void>;
  /**
   * Ends everything, as a reboot would: what left its group too, and what was started when another
   * process ran the machine. Answers how many of those there were; where there is no `/proc`, none.
   */
  end(): Promise<number>;
}

/**
 * @param cwd where commands start.
 * @param bootIdFile named in the environment of all that runs here, which tells its agent the boot.
 */
export function createProcesses(cwd: string, bootIdFile: string): Processes {
  const running = new Set<ChildProcess>();

  function run(args: readonly string[]): ChildProcess {
    const child = spawn('/bin/sh', args, {
      cwd,
      env: { ...environment(), [bootIdVariable]: bootIdFile },
      detached: true,
      stdio: 'pipe',
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    child.once('error', () => running.delete(child));
    return child;
  }

  async function leave(): Promise<void> {
    // Not `close`: what left its group may hold the pipes for as long as it likes.
    const ended = [...running].map((child) => once(child, 'exit'));
    for (const child of running) killGroup(child);
    await Promise.all(ended);
  }

  return {
    leave,
    start: (line) => run(['-c', line]),
    async runScript(script, signal) {
      const child = run(['-s']);
      const kill = () => killGroup(child);
      signal.addEventListener('abort', kill, { once: true });
      // A script may end before it was read to its end.
      child.stdin!.on('error', () => undefined);
      child.stdin!.end(script);
      child.stdout!.resume();
      child.stderr!.resume();
      const [code] = (await once(child, 'exit')) as [number | null];
      signal.removeEventListener('abort', kill);
      return code;
    },
    async end() {
      await leave();
      return killAll(() => processesByMachine().get(bootIdFile) ?? []);
    },
  };
}

/** What a login gives; ours also holds the daemon's secrets, which no machine is told. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TMPDIR', 'TZ']
      .map((name) => [name, process.env[name]])
      .filter(([, value]) => value !== undefined),
  );

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
