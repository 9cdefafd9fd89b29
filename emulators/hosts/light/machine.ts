import {
  agentInitCodec,
  takeoverInitCodec,
  takeoverResponseCodec,
} from '../../../src/wire/codec.ts';
import type { AgentInit } from '../../../src/wire/codec.ts';
import { generateRawKeyPair, joinKeyPair } from '../../../src/agent/keys.ts';
import { CommandRefused, type Play, type Played } from '../commands.ts';
import type { KeptAgent } from '../kept-agent.ts';
import type { HostsLog, HostsRandom } from '../options.ts';
import { startLightAgent } from './agent.ts';
import { createGate, type GateReason } from './gate.ts';

/** The agent of a machine without processes. */
export interface LightMachine {
  /** Plays the uploaded program, whatever it is, as the start of an agent. */
  readonly play: Play;
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
  /** Undefined: the power is off. */
  readonly bootId: () => string | undefined;
  readonly kept: KeptAgent;
  readonly random: HostsRandom;
  readonly log: HostsLog;
}

export function createLightMachine({ bootId, kept, ...deps }: LightMachineDeps): LightMachine {
  const gate = createGate();
  let running: { stop(): void } | undefined;

  const stopAgent = () => {
    const stopped = running ? 1 : 0;
    running?.stop();
    running = undefined;
    return stopped;
  };

  async function launch(init: AgentInit): Promise<void> {
    const boot = bootId();
    const agent = await startLightAgent({ ...deps, init, bootId: boot ?? '', gate });
    if (boot === undefined || bootId() !== boot) {
      agent.stop();
      throw new CommandRefused('power is off', 137);
    }
    stopAgent();
    running = agent;
  }

  async function takeOver(stdin: Buffer): Promise<Played> {
    const initMessage = takeoverInitCodec.decode(stdin);
    const pair = generateRawKeyPair();
    const init = { takeoverInit: initMessage, privateKey: joinKeyPair(pair) };
    await kept.keep(agentInitCodec.encode(init));
    try {
      await launch(init);
    } catch (error) {
      await kept.forget();
      throw error;
    }
    const success = { initMessage, key: pair.publicKey, warning: [] };
    return { stdout: takeoverResponseCodec.encode({ success }), exitCode: 0 };
  }

  return {
    agents: () => (running ? 1 : 0),
    stopAgent,
    startAgain: (init) => launch(agentInitCodec.decode(init)),
    shut: gate.shut,
    async play(stdin) {
      try {
        return await takeOver(stdin);
      } catch (error) {
        if (error instanceof CommandRefused) throw error;
        const message = error instanceof Error ? error.message : String(error);
        return { stdout: takeoverResponseCodec.encode({ error: { message } }), exitCode: 0 };
      }
    },
  };
}
