import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { lookup } from '../../../src/domain/lookup.ts';
import {
  agentInitCodec,
  takeoverInitCodec,
  takeoverResponseCodec,
} from '../../../src/wire/codec.ts';
import type { TakeoverInit } from '../../../src/wire/codec.ts';
import { CommandRefused, uploadedProgram } from '../commands.ts';
import type { Play, Played } from '../commands.ts';
import type { KeptAgent } from '../kept-agent.ts';
import type { HostsLog, HostsRandom } from '../options.ts';
import { containedPath } from '../paths.ts';
import { startLightAgent } from './agent.ts';
import { createGate } from './gate.ts';
import type { GateReason } from './gate.ts';
import { createLightIdentity, lightIdentityOf } from './identity.ts';
import type { LightIdentity } from './identity.ts';

/** What a machine does without processes: its agent, and the commands that go with one. */
export interface LightMachine {
  /** Undefined: this command needs a process. */
  play(argv: readonly string[]): Play | undefined;
  /** Agents that run: none or one. */
  agents(): number;
  /** Starts the agent that ran in an earlier simulator. @throws {Error} its `AgentInit` is unreadable. */
  startAgain(init: Uint8Array): Promise<void>;
  /** Ends it at once. Answers how many there were. */
  stopAgent(): number;
  /** While shut its agent does not get through to the agent server. */
  shut(reason: GateReason, on: boolean): void;
}

export interface LightMachineDeps {
  readonly deviceId: string;
  readonly root: string;
  readonly powered: () => boolean;
  readonly bootId: () => string | undefined;
  /** An uploaded program is about to run. */
  readonly onProgram: (path: string) => void;
  readonly kept: KeptAgent;
  readonly random: HostsRandom;
  readonly log: HostsLog;
}

/** The program that is executed is not looked at: whatever it is, it is played as the agent. */
export function createLightMachine(deps: LightMachineDeps): LightMachine {
  const { root, deviceId, random, log } = deps;
  const gate = createGate();
  let running: { stop(): void } | undefined;

  const stopAgent = () => {
    const stopped = running ? 1 : 0;
    running?.stop();
    running = undefined;
    return stopped;
  };

  const launch = (init: TakeoverInit, identity: LightIdentity) => {
    const bootId = deps.bootId();
    if (!deps.powered() || bootId === undefined) throw new CommandRefused('power is off', 137);
    stopAgent();
    running = startLightAgent({ init, identity, deviceId, bootId, gate, random, log });
  };

  async function takeOver(stdin: Buffer): Promise<Played> {
    const init = takeoverInitCodec.decode(stdin);
    const identity = await createLightIdentity();
    const { privateKey } = identity;
    await deps.kept.keep(agentInitCodec.encode({ takeoverInit: init, privateKey }));
    try {
      launch(init, identity);
    } catch (error) {
      await deps.kept.forget();
      throw error;
    }
    const success = { initMessage: init, key: identity.publicKey, warning: [] };
    return { stdout: takeoverResponseCodec.encode({ success }), exitCode: 0 };
  }

  const program =
    (path: string): Play =>
    async (stdin) => {
      await uploadedProgram(path, root);
      deps.onProgram(path);
      try {
        return await takeOver(stdin);
      } catch (error) {
        if (error instanceof CommandRefused) throw error;
        const message = error instanceof Error ? error.message : String(error);
        return { stdout: takeoverResponseCodec.encode({ error: { message } }), exitCode: 0 };
      }
    };

  return {
    agents: () => (running ? 1 : 0),
    stopAgent,
    async startAgain(kept) {
      const { takeoverInit, privateKey } = agentInitCodec.decode(kept);
      if (!takeoverInit || !privateKey) throw new Error('what was kept is no AgentInit');
      launch(takeoverInit, await lightIdentityOf(privateKey));
    },
    shut: gate.shut,
    play([name = '', ...args]) {
      if (name.includes('/')) return args.length === 0 ? program(name) : undefined;
      const read = lookup(readers, name);
      const [path] = args;
      if (!read || args.length !== 1 || path === undefined || path.startsWith('-')) {
        return undefined;
      }
      return () => onFile(name, path, root, read);
    },
  };
}

/** Programs that only read one file: a process for each is what makes many machines heavy. */
const readers: Readonly<Record<string, (content: Buffer, path: string) => Buffer | string>> = {
  cat: (content) => content,
  sha256sum: (content, path) => `${createHash('sha256').update(content).digest('hex')}  ${path}\n`,
};

async function onFile(
  name: string,
  path: string,
  root: string,
  read: (content: Buffer, path: string) => Buffer | string,
): Promise<Played> {
  try {
    const content = await readFile(await containedPath(root, path));
    return { stdout: read(content, path), exitCode: 0 };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'No such file or directory' : 'Permission denied';
    return { stderr: `${name}: ${path}: ${why}\n`, exitCode: 1 };
  }
}
