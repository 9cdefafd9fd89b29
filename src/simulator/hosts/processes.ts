import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Names the file that holds the machine's boot id; also how we know whose process it is. */
export const bootIdVariable = 'SHEPHERD_AGENT_BOOT_ID_FILE';

/**
 * All live processes that were started on simulated machines, by the value of their
 * {@link bootIdVariable}. An agent that detached itself, or that an earlier simulator left behind,
 * is found all the same. Reads Linux's /proc; elsewhere finds nothing.
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

function listProcesses(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const needle = `${bootIdVariable}=`;

/** Absent for processes of others, and for those that ended while we looked. */
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

/** False when it had ended already. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/**
 * When the process was started, in ticks since boot, which tells it from a later one of the same
 * number; absent once it is dead, even if nobody has collected it yet.
 */
export function aliveSince(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in brackets, which may hold anything (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ['Z', 'X'].includes(fields[0]!) ? undefined : fields[19];
}

const pollMs = 5;
const roundsMax = 1_000;

/**
 * Kills all processes that `choose` finds, and looks again until it finds none: one of them may be
 * just starting another. When it returns they are dead, so their sockets and files are closed.
 * Answers how many there were. @throws {Error} when some will not die.
 */
export async function killAll(choose: () => readonly number[]): Promise<number> {
  const killed = new Map<number, string>();
  for (let round = 0; round < roundsMax; round += 1) {
    const before = killed.size;
    for (const pid of choose()) {
      const since = aliveSince(pid);
      if (since === undefined) continue;
      killed.set(pid, since);
      signalProcess(pid, 'SIGKILL');
    }
    const dying = [...killed].some(([pid, since]) => aliveSince(pid) === since);
    if (!dying && killed.size === before) return killed.size;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(`processes ${choose().join(', ')} do not die`);
}

/** Kills once, without waiting, everything that runs on machines below `dir`. */
export function abandonMachines(dir: string): void {
  const below = `${resolve(dir)}/`;
  for (const [file, pids] of processesByMachine()) {
    if (file.startsWith(below)) for (const pid of pids) signalProcess(pid, 'SIGKILL');
  }
}
