import { EventEmitter } from 'node:events';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { HeartbeatRecord } from '../../src/domain/heartbeat.ts';
import type { ProviderMachine } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import { createFakeHost, type FakeHost } from '../doubles/fake-shell.ts';

export const AGENT_PATH = '/root/agent';

/** A machine that came up. Its agent reports until the machine reboots or the agent is ended. */
export interface SimulatedMachine extends FakeHost {
  /** Ends the agent; the machine itself lives on. */
  killAgent(): void;
  /** How often an agent was started on it. */
  readonly executions: number;
}

export interface LandOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** From a reboot to a machine that answers. */
  readonly bootMs: number;
  /** Brings a heartbeat to an agent server; rejects when none takes it. */
  readonly report: (record: HeartbeatRecord) => Promise<unknown>;
}

/** The machines themselves, and the agents that run on them. */
export function createLand({ clock, random, report, bootMs }: LandOptions) {
  const hosts = new Map<string, SimulatedMachine>();
  const ended = new EventEmitter().setMaxListeners(0);
  const timers = new Set<unknown>();
  let count = 0;

  const later = (fn: () => void, ms: number) => {
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      fn();
    }, ms);
    timers.add(timer);
  };

  function agentOn(host: SimulatedMachine, id: string, publicKey: Buffer) {
    const { bootId } = host;
    let alive = true;
    ended.on('agent', (dead: SimulatedMachine) => {
      if (dead === host) alive = false;
    });
    const beat = () => {
      if (!alive || host.bootId !== bootId) return;
      // Cut off, it tries again and again.
      if (!host.unreachable) {
        report({ machineId: machineId(id), publicKey, bootId }).catch(() => undefined);
      }
      later(beat, DEFAULT_LOSS.periodMs);
    };
    later(beat, 1_000);
  }

  function takeover(host: SimulatedMachine, stdin: Buffer) {
    const init = takeoverInitCodec.decode(stdin);
    const key = Buffer.from(random.uuid().replaceAll('-', '').repeat(2), 'hex');
    agentOn(host, init.machineId ?? '', key);
    return { stdout: takeoverResponseCodec.encode({ success: { initMessage: init, key } }) };
  }

  const fall = (address: string) => {
    const host = hosts.get(`${address}:22`)!;
    host.unreachable = true;
    host.killAgent();
  };
  /** With a first-boot script it is a new system: another host key, another secret, an empty disk. */
  const rise = (address: string, initCommand: string | null) => {
    const host = hosts.get(`${address}:22`)!;
    later(() => {
      host.bootId = random.uuid();
      host.unreachable = false;
      if (initCommand === null) return;
      host.hostKey = `key of ${address} since ${host.bootId}`;
      host.secret = secretIn(initCommand);
      host.files.clear();
    }, bootMs);
  };

  return {
    /** By address and port. */
    hosts,
    raise(_: ProviderMachine, initCommand: string): string {
      count += 1;
      const address = `192.0.2.${count}`;
      let executions = 0;
      const host: SimulatedMachine = Object.assign(
        createFakeHost({
          bootId: random.uuid(),
          hostKey: `key of ${address}`,
          secret: secretIn(initCommand),
        }),
        {
          killAgent: () => void ended.emit('agent', host),
          run: ([path, ...args]: readonly string[], stdin: Buffer) => {
            if (path === 'sh' && args[2] === 'stop-agent') {
              host.killAgent();
              return {};
            }
            if (path !== AGENT_PATH || !host.files.has(AGENT_PATH)) return { exitCode: 127 };
            executions += 1;
            return takeover(host, stdin);
          },
        },
      ) as SimulatedMachine;
      Object.defineProperty(host, 'executions', { get: () => executions });
      hosts.set(`${address}:22`, host);
      return address;
    },
    reboot(address: string) {
      fall(address);
      rise(address, null);
    },
    down: fall,
    up: rise,
    /** Ends all agents, so that no timer of theirs is left. */
    end() {
      for (const timer of timers) clock.clearTimeout(timer);
      ended.removeAllListeners();
    },
  };
}

const secretIn = (initCommand: string): string | null =>
  /^printf %s (\S+)/m.exec(initCommand)?.[1] ?? null;
