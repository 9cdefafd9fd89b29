import {
  agentInitCodec,
  takeoverInitCodec,
  takeoverResponseCodec,
} from '../../../src/wire/codec.ts';
import type { AgentInit } from '../../../src/wire/codec.ts';
import { generateRawKeyPair, joinKeyPair } from '../../../src/agent/keys.ts';
import { CommandRefused, type Played } from '../commands.ts';
import type { KeptAgent } from '../kept-agent.ts';
import type { HostsLog, HostsRandom } from '../options.ts';
import { startLightAgent } from './agent.ts';
import { createGate } from './gate.ts';

export interface LightMachineDeps {
  readonly deviceId: string;
  /** Undefined: the power is off. */
  readonly bootId: () => string | undefined;
  readonly kept: KeptAgent;
  readonly random: HostsRandom;
  readonly log: HostsLog;
}

/** The agent of a machine without processes. */
export function createLightMachine({ bootId, kept, ...deps }: LightMachineDeps) {
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
    /** Number of running agents: none or one. */
    agents: () => (running ? 1 : 0),
    /** Ends it at once. @returns the number of ended agents. */
    stopAgent,
    /**
     * Restarts the agent of an earlier simulator. @throws {Error} its `AgentInit` is unreadable.
     */
    startAgain: (init: Uint8Array) => launch(agentInitCodec.decode(init)),
    /** While shut, its agent does not reach the agent server. */
    shut: gate.shut,
    /** Plays any uploaded program as the start of an agent. */
    async play(stdin: Buffer): Promise<Played> {
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
