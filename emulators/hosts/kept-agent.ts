import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { uploadedProgram } from './commands.ts';
import { aliveSince, startProcess } from './processes.ts';

/** Environment variable with the file for the agent's input on a simulated machine. */
export const agentInitVariable = 'SHEPHERD_AGENT_INIT_FILE';
/** Tells the program that it is the agent, not an agent start. */
const detachedFlag = 'TAKEOVER_DETACHED_LAUNCH';

export type KeptAgent = ReturnType<typeof createKeptAgent>;

/**
 * The agent's input (`AgentInit` with its private key), stored beside the machine's disk while the
 * agent runs. A real machine would not notice that a simulator was killed. So the next simulator
 * restarts the agents whose input it finds.
 */
export function createKeptAgent(home: string) {
  const path = join(home, 'agent-init');
  return {
    /** The file. */
    path,
    /** Undefined: no agent ran. */
    async read(): Promise<Buffer | undefined> {
      try {
        const init = await readFile(path);
        return init.length > 0 ? init : undefined;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    async keep(init: Uint8Array): Promise<void> {
      await writeFile(`${path}.new`, init, { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
    /** The agent ended for a reason inside the machine. */
    forget: () => rm(path, { force: true }),
  };
}

/** A machine and the program to run on it. */
export interface AgentLaunch {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** Path of the uploaded program on the machine. */
  readonly program: string;
  readonly init: Buffer;
}

/**
 * Starts the program as an agent, in place of an agent start.
 * @throws {CommandRefused} the program no longer exists.
 */
export async function launchAgent({ root, env, program, init }: AgentLaunch): Promise<void> {
  const file = await uploadedProgram(program, root);
  const log = openSync(`${file}.log`, 'a', 0o600);
  try {
    const agent = startProcess(file, [], {
      cwd: root,
      env: { ...env, [detachedFlag]: '1' },
      detached: true,
      stdio: ['pipe', 'ignore', log],
    });
    await once(agent, 'spawn');
    // So that the next agent start finds it.
    const recorded = { pid: agent.pid, startTicks: aliveSince(agent.pid!) };
    await writeFile(`${file}.pid`, `${JSON.stringify(recorded)}\n`, { mode: 0o600 });
    const stdin = agent.stdin!;
    // It may end before it has read everything.
    stdin.on('error', () => stdin.destroy());
    stdin.end(init);
    agent.unref();
  } finally {
    closeSync(log);
  }
}
