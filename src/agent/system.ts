import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createHostPrograms, noPrograms, type HostPrograms } from './host-programs.ts';
import { log } from './program.ts';
import { rebootForReal, runToEnd } from './reboot.ts';

/** The machine as the agent meets it: the real one, or a directory that plays one. */
export interface System {
  readonly isReal: boolean;
  /** Where `/proc`, `/sys` and `/dev` are; null when the machine has no disks to install to. */
  readonly diskRoot: string | null;
  readonly bootId: string;
  readonly programs: HostPrograms;
  /** After this what is read from a disk comes from the disk. Best effort. */
  dropCaches(): Promise<void>;
  /** Writes back what is in memory and starts the machine anew. Returns when it cannot. */
  reboot(): Promise<void>;
}

/** Names a file that stands in for the kernel's boot id: makes the machine a simulated one. */
const BOOT_ID_VARIABLE = 'SHEPHERD_AGENT_BOOT_ID_FILE';
/** Of a simulated machine: the directory that holds its `/proc`, `/sys` and `/dev`. */
const ROOT_VARIABLE = 'SHEPHERD_AGENT_ROOT';
/** Of a simulated machine: the shell command that reboots it. */
const REBOOT_VARIABLE = 'SHEPHERD_AGENT_REBOOT_COMMAND';

/** Of a simulated machine: where what the agent is started with is kept for the machine's next boot. */
const INIT_VARIABLE = 'SHEPHERD_AGENT_INIT_FILE';

const PROGRAM_LIMIT_MS = 10_000;
const KERNEL_BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** What the environment says the machine is. @throws {Error} its boot id cannot be read. */
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

/** On a simulated machine that wants it; on a real one the key stays in memory. */
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

/** Nothing that it does reaches the machine it is simulated on. */
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

/** The programs that read no hardware. */
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
