import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { uploadedProgram } from './commands.ts';
import { aliveSince, startProcess } from './processes.ts';

/** Where an agent of a simulated machine puts what it was started with. */
export const agentInitVariable = 'SHEPHERD_AGENT_INIT_FILE';
/** Tells the program that it is the agent, and not a takeover. */
const detachedFlag = 'TAKEOVER_DETACHED_LAUNCH';

export type KeptAgent = ReturnType<typeof createKeptAgent>;

/**
 * What the agent of a machine was started with (`AgentInit`, its private key among it), beside the
 * machine's disk. It is there while the agent runs: so a simulator that was killed, which no real
 * machine would have noticed, leaves behind which agents ran, and the next one starts them again.
 */
export function createKeptAgent(home: string) {
  const path = join(home, 'agent-init');
  return {
    /** The file. */
    path,
    /** Undefined: none ran. */
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
    /** It ended, for a reason that is the machine's own. */
    forget: () => rm(path, { force: true }),
  };
}

/** A machine whose program is to run, and as what. */
export interface AgentLaunch {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** The uploaded program, as the machine names it. */
  readonly program: string;
  readonly init: Buffer;
}

/**
 * Starts the program as an agent, in place of the takeover that had done so.
 * @throws {CommandRefused} the program is not there any more.
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
    // So that the next takeover finds it.
    const recorded = { pid: agent.pid, startTicks: aliveSince(agent.pid!) };
    await writeFile(`${file}.pid`, `${JSON.stringify(recorded)}\n`, { mode: 0o600 });
    const stdin = agent.stdin!;
    // It may end without having read all.
    stdin.on('error', () => stdin.destroy());
    stdin.end(init);
    agent.unref();
  } finally {
    closeSync(log);
  }
}
