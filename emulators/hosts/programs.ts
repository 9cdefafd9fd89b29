import { dirname, join } from 'node:path';
import { CommandRefused, type CommandContext, uploadedProgram } from './commands.ts';
import type { Host, HostPrograms } from './host.ts';
import { agentInitVariable, createKeptAgent, launchAgent } from './kept-agent.ts';
import type { GateReason } from './light/gate.ts';
import { createLightMachine } from './light/machine.ts';
import type { MachineDeps } from './machine.ts';
import type { HostTally } from './options.ts';
import { homeDirectory, outsidePath } from './paths.ts';
import {
  bootIdVariable,
  killAll,
  processesByMachine,
  signalProcess,
  startProcess,
} from './processes.ts';
import type { MachineRecord } from './record.ts';
import { playShellStep } from './shell-steps.ts';

export interface ProgramsDeps extends MachineDeps {
  readonly deviceId: string;
  /** The machine's disk. */
  readonly root: string;
  readonly bootIdFile: string;
  /** Once it is there. */
  readonly host: () => Host<MachineRecord>;
  /** Additional environment of all its programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** A simulated machine's programs: real processes, or an agent in this process. */
export interface Programs extends HostPrograms {
  /** Context of commands on the machine. */
  readonly context: CommandContext;
  readonly seen: () => Pick<HostTally, 'programs' | 'stops'>;
  /** Number of agents that are no processes. */
  lightAgents(): number;
  /** Each agent dies this long after its start; undefined ends that. */
  shorten(lifeMs: number | undefined): void;
  /** While shut, its agent reaches nobody. @throws {Error} the agent is a process. */
  shut(reason: GateReason, on: boolean): void;
  /** The simulator ends; the caller ends the processes. */
  leave(): void;
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function createPrograms({ deviceId, home, root, host, ...deps }: ProgramsDeps): Programs {
  const { bootIdFile, log, random } = deps;
  const kept = createKeptAgent(home);
  const seen = { programs: 0, stops: 0 };
  let lifeMs: number | undefined;
  let death: NodeJS.Timeout | undefined;

  const pids = async () => (await deps.scan()).get(bootIdFile) ?? [];
  const bootId = () => (host().state().up ? host().state().bootId : undefined);
  const light = deps.light
    ? createLightMachine({ deviceId, bootId, kept, random, log })
    : undefined;
  const env = {
    ...deps.env,
    PATH: `${dirname(process.execPath)}:${systemPath}`,
    HOME: join(root, homeDirectory),
    TMPDIR: join(root, 'tmp'),
    USER: 'root',
    LOGNAME: 'root',
    [bootIdVariable]: bootIdFile,
    [agentInitVariable]: kept.path,
  };

  async function run(program: string, args: readonly string[]) {
    const file = await uploadedProgram(program, root);
    seen.programs += 1;
    doom();
    if (host().system().program !== program) {
      tryLater('what runs on the machine is not recorded', host().update({ program }));
    }
    if (light) return light.play;
    if (bootId() === undefined) throw new CommandRefused('sh: power is off', 137);
    // In its own process group.
    return startProcess(file, args, {
      cwd: outsidePath(root, homeDirectory),
      env,
      detached: true,
      stdio: 'pipe',
    });
  }

  function tryLater(failure: string, work: Promise<unknown>): void {
    work.catch((err: unknown) => log.error({ device: deviceId, err }, failure));
  }

  async function end(): Promise<number> {
    clearTimeout(death);
    const ended = light ? light.stopAgent() : await killAll(pids);
    await kept.forget();
    return ended;
  }

  async function stopAgent(): Promise<void> {
    seen.stops += 1;
    await end();
  }

  /** Limits the life of a starting program, if its machine has such a limit. */
  function doom(): void {
    clearTimeout(death);
    if (lifeMs === undefined) return;
    death = setTimeout(() => tryLater('not killed', host().loseAgent()), lifeMs);
    death.unref();
  }

  /** As on machines that went on without a simulator. */
  async function startAgain(init: Buffer, program: string): Promise<void> {
    try {
      if (light) await light.startAgain(init);
      else await launchAgent({ root, env, program, init });
    } catch (err) {
      const message = 'the agent of an earlier run cannot be started again';
      log.error({ device: deviceId, err }, message);
    }
  }

  return {
    context: {
      root,
      run,
      play: (argv) => playShellStep(argv, { root, stopAgent }) ?? deps.play?.(deviceId, argv),
    },
    end,
    seen: () => ({ ...seen }),
    lightAgents: () => light?.agents() ?? 0,
    async discard() {
      await killAll(pids);
    },
    async resume() {
      const init = await kept.read();
      const { program } = host().system();
      if (init && program !== undefined) await startAgain(init, program);
    },
    freeze(on) {
      light?.shut('hanging', on);
      const running = processesByMachine().get(bootIdFile) ?? [];
      for (const pid of running) signalProcess(pid, on ? 'SIGSTOP' : 'SIGCONT');
    },
    shorten(ms) {
      lifeMs = ms;
      doom();
    },
    shut(reason, on) {
      if (!light) throw new Error(`the agent of ${deviceId} is a process: it cannot be cut off`);
      light.shut(reason, on);
    },
    leave() {
      clearTimeout(death);
      light?.stopAgent();
    },
  };
}
