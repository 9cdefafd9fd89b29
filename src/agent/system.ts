import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createHostPrograms, noPrograms, type HostPrograms } from './host-programs.ts';
import { log } from './program.ts';
import { rebootForReal, runToEnd } from './reboot.ts';

/** The machine as the agent sees it: the real one, or a directory that simulates one. */
export interface System {
  readonly isReal: boolean;
  /** Parent of `/proc`, `/sys` and `/dev`; null: the machine has no disks for an installation. */
  readonly diskRoot: string | null;
  readonly bootId: string;
  readonly programs: HostPrograms;
  /** Later reads come from the disk itself. Best effort. */
  dropCaches(): Promise<void>;
  /** Syncs disks and restarts the machine. Returns if it cannot. */
  reboot(): Promise<void>;
}

/** File that replaces the kernel's boot id: makes the machine a simulated one. */
const BOOT_ID_VARIABLE = 'SHEPHERD_AGENT_BOOT_ID_FILE';
/** Of a simulated machine: the parent of its `/proc`, `/sys` and `/dev`. */
const ROOT_VARIABLE = 'SHEPHERD_AGENT_ROOT';
/** Of a simulated machine: the shell command that reboots it. */
const REBOOT_VARIABLE = 'SHEPHERD_AGENT_REBOOT_COMMAND';

/** Of a simulated machine: where the agent's input is kept for the next boot. */
const INIT_VARIABLE = 'SHEPHERD_AGENT_INIT_FILE';

const PROGRAM_LIMIT_MS = 10_000;
const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** The machine that the environment describes. @throws {Error} its boot id is unreadable. */
export function openSystem(
  env: NodeJS.ProcessEnv = process.env,
  reboot: System['reboot'] = () => rebootForReal(),
): System {
  const bootIdFile = env[BOOT_ID_VARIABLE];
  const bootId = readFileSync(bootIdFile ?? KERNEL_BOOT_ID, 'utf8').trim();
  return bootIdFile === undefined
    ? { ...realSystem(), bootId, reboot }
    : { ...simulatedSystem(env), bootId };
}

/** On a simulated machine that wants it; on a real machine the key stays in memory. */
export function keepForNextBoot(agentInit: Uint8Array, env: NodeJS.ProcessEnv = process.env): void {
  const file = env[INIT_VARIABLE];
  if (env[BOOT_ID_VARIABLE] === undefined || file === undefined) return;
  writeFileSync(`${file}.new`, agentInit, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const realSystem = (): Omit<System, 'bootId' | 'reboot'> => ({
  isReal: true,
  diskRoot: '/',
  programs: createHostPrograms(PROGRAM_LIMIT_MS),
  dropCaches: () => tell('/proc/sys/vm/drop_caches', '1'),
});

/** Does not affect the host of the simulation. */
const simulatedSystem = (env: NodeJS.ProcessEnv): Omit<System, 'bootId'> => ({
  isReal: false,
  diskRoot: env[ROOT_VARIABLE] ?? null,
  programs: env[ROOT_VARIABLE] === undefined ? noPrograms : unpackers(),
  dropCaches: () => Promise.resolve(),
  async reboot() {
    const command = env[REBOOT_VARIABLE];
    if (command === undefined) log('a simulated machine without a way to reboot');
    else await runToEnd('/bin/sh', ['-c', command]);
  },
});

/** Programs that do not read hardware. */
function unpackers(): HostPrograms {
  const programs = createHostPrograms(PROGRAM_LIMIT_MS);
  return {
    ...noPrograms,
    find: (...names) => programs.find(...names.filter((name) => ['xz', 'zstd'].includes(name))),
  };
}

async function tell(path: string, words: string): Promise<void> {
  try {
    await writeFile(path, words);
  } catch (error) {
    log(`${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
