import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { resolve } from 'node:path';

/** Names the file of the machine's boot id, and so identifies the process's machine. */
export const bootIdVariable = 'SHEPHERD_AGENT_BOOT_ID_FILE';

/**
 * All live processes of simulated machines, by the value of their {@link bootIdVariable}. This also
 * finds detached agents, and agents of an earlier simulator. Reads Linux's /proc; elsewhere it
 * finds nothing.
 */
export function processesByMachine(): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const name of listProcesses()) {
    const machine = machineOf(name);
    if (machine === undefined) continue;
    const pids = found.get(machine);
    if (pids) pids.push(Number(name));
    else found.set(machine, [Number(name)]);
  }
  return found;
}

/** Like {@link processesByMachine}, for many frequent callers. */
export type ProcessScan = () => Promise<ReadonlyMap<string, readonly number[]>>;

/** Minimum time between two scans, which may use at most a third of all time. */
const GAP_MS = 15;
const GAP_FACTOR = 2;

/**
 * Callers that wait for a scan share it. A scan reads all processes of the computer. Under load it
 * takes tens of milliseconds, in which nothing else of this process runs. When fifty machines each
 * scanned repeatedly until their programs were dead, a daemon in this process lost its session.
 */
export function createProcessScan(scan = processesByMachine): ProcessScan {
  let next: ReturnType<ProcessScan> | null = null;
  let earliestMs = 0;
  return () =>
    (next ??= new Promise((resolve, reject) => {
      setTimeout(
        () => {
          next = null;
          const begunMs = performance.now();
          try {
            resolve(scan());
          } catch (error) {
            reject(error);
          }
          const endedMs = performance.now();
          earliestMs = endedMs + Math.max(GAP_MS, GAP_FACTOR * (endedMs - begunMs));
        },
        Math.max(0, earliestMs - performance.now()),
      );
    }));
}

/** Machines' programs yield to this computer's real users. */
const NICENESS = 10;

/** Starts a program of a machine. */
export function startProcess<Options extends SpawnOptions>(
  file: string,
  args: readonly string[],
  options: Options,
): ChildProcess {
  const child = spawn(file, args, options);
  if (child.pid === undefined) return child;
  try {
    setPriority(child.pid, NICENESS);
  } catch (error) {
    // The process may have ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
  }
  return child;
}

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const needle = `${bootIdVariable}=`;

/** Absent for other processes, and for processes that ended meanwhile. */
function machineOf(pid: string): string | undefined {
  if (Number(pid) === process.pid) return undefined;
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return undefined;
  }
  const variable = environment.split('\0').find((line) => line.startsWith(needle));
  return variable?.slice(needle.length);
}

/** False: it had already ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * The process's start time, in ticks since boot, which tells it from a later process with the same
 * number. Absent once it is dead, even if nobody has collected it yet.
 */
export function aliveSince(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in brackets, which may contain anything (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ['Z', 'X'].includes(fields[0]!) ? undefined : fields[19];
}

const pollMs = 5;
const roundsMax = 1_000;

/**
 * Kills all processes that `choose` finds, and repeats until it finds none, because one of them may
 * just start another. At its return they are dead, so their sockets and files are closed.
 * @returns their number. @throws {Error} some processes do not die.
 */
export async function killAll(
  choose: () => readonly number[] | Promise<readonly number[]>,
): Promise<number> {
  const killed = new Map<number, string>();
  for (let round = 0; round < roundsMax; round += 1) {
    const before = killed.size;
    for (const pid of await choose()) {
      const since = aliveSince(pid);
      if (since === undefined) continue;
      killed.set(pid, since);
      signalProcess(pid, 'SIGKILL');
    }
    const dying = [...killed].some(([pid, since]) => aliveSince(pid) === since);
    if (!dying && killed.size === before) return killed.size;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(`processes ${(await choose()).join(', ')} do not die`);
}

/** Kills once, without waiting, all programs of machines below `dir`. */
export function abandonMachines(dir: string): void {
  const below = `${resolve(dir)}/`;
  for (const [file, pids] of processesByMachine()) {
    if (file.startsWith(below)) for (const pid of pids) signalProcess(pid, 'SIGKILL');
  }
}
