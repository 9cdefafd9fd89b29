import type { Random } from '../../src/adapters/clock/port.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import type { Beat, FromDaemon, MachineInfo, ToDaemon } from './messages.ts';

/** A machine of the test. It outlives every daemon. */
export interface WorldMachine {
  readonly machineId: string;
  readonly provider: string;
  readonly deviceId: string;
  readonly reservationId: string;
  readonly address: string;
  readonly location: string;
  bootId: string;
  up: boolean;
  agent: { readonly publicKey: Buffer; nextBeatAtMs: number } | null;
  /** Its agent is silent until this time. */
  mutedUntilMs: number;
}

/** An action on a machine, and the run that did it. */
export interface WorldEffect {
  readonly run: string;
  readonly kind: 'execute' | 'reboot';
  readonly machineId: string;
  /** See `FromDaemon`. */
  readonly atMs: number;
  readonly sentAtMs: number;
}

export interface FaultWorld {
  readonly machines: readonly WorldMachine[];
  readonly effects: readonly WorldEffect[];
  readonly counts: Readonly<
    Record<'starts' | 'refusals' | 'reboots' | 'silenced' | 'muted', number>
  >;
  /** Applies a daemon's action to a machine; `reply` returns the result. */
  act(run: string, effect: FromDaemon & { type: 'effect' }, reply: (to: ToDaemon) => void): void;
  /** Returns due reports, and schedules the next ones. */
  dueBeats(): Beat[];
  /** Ends the agent of some machine for good. */
  silenceOne(): void;
  /** Ends all agents. */
  silenceAll(): void;
  /** Hangs the agent of some machine for a while. */
  muteOne(forMs: number): void;
  info(): MachineInfo[];
  end(): void;
}

export interface WorldOptions {
  readonly random: Random;
  readonly machines: number;
  readonly periodMs: number;
  /** Share of agent starts that the machine refuses. */
  readonly refusals: number;
  /** Tells every daemon that a machine went down or came up. */
  readonly tell: (message: ToDaemon) => void;
}

/** The test's machines and the agents on them. */
export function createWorld({ random, tell, ...options }: WorldOptions): FaultWorld {
  const machines = Array.from({ length: options.machines }, (_, at) => machineAt(random, at));
  const byAddress = new Map(machines.map((machine) => [machine.address, machine]));
  const effects: WorldEffect[] = [];
  const counts = { starts: 0, refusals: 0, reboots: 0, silenced: 0, muted: 0 };
  const timers = new Set<NodeJS.Timeout>();
  const between = (low: number, high: number) => low + random.next() * (high - low);
  const later = (delayMs: number, then: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      then();
    }, delayMs);
    timers.add(timer);
  };
  const power = (machine: WorldMachine, up: boolean) => {
    machine.up = up;
    machine.agent = null;
    if (up) machine.bootId = random.uuid();
    const { address, bootId } = machine;
    tell({ type: 'power', address, bootId, up });
  };
  const takeOver = (machine: WorldMachine, stdin: string) => {
    if (!machine.up || random.next() < options.refusals) {
      counts.refusals += 1;
      return { exitCode: 1, stdout: '' };
    }
    counts.starts += 1;
    const initMessage = takeoverInitCodec.decode(Buffer.from(stdin, 'base64'));
    const publicKey = Buffer.from(random.uuid().replaceAll('-', '').repeat(2), 'hex');
    machine.agent = { publicKey, nextBeatAtMs: Date.now() + between(50, options.periodMs) };
    const answer = takeoverResponseCodec.encode({ success: { initMessage, key: publicKey } });
    return { exitCode: 0, stdout: Buffer.from(answer).toString('base64') };
  };
  const someAgent = (): WorldMachine | undefined => {
    const reporting = machines.filter((machine) => machine.agent);
    return reporting[Math.floor(random.next() * reporting.length)];
  };

  return {
    machines,
    effects,
    counts,
    act(run, { id, kind, address, atMs, sentAtMs, stdin }, reply) {
      const machine = byAddress.get(address)!;
      effects.push({ run, kind, atMs, sentAtMs, machineId: machine.machineId });
      if (kind === 'reboot') {
        counts.reboots += 1;
        power(machine, false);
        later(between(200, 800), () => power(machine, true));
        reply({ type: 'answer', id, exitCode: 0, stdout: '' });
        return;
      }
      later(between(5, 80), () => reply({ type: 'answer', id, ...takeOver(machine, stdin) }));
    },
    dueBeats() {
      const nowMs = Date.now();
      return machines.flatMap((machine) => {
        const { agent, machineId, bootId } = machine;
        if (!agent || agent.nextBeatAtMs > nowMs || machine.mutedUntilMs > nowMs) return [];
        agent.nextBeatAtMs = nowMs + options.periodMs * between(0.9, 1.1);
        return [{ machineId, bootId, publicKey: agent.publicKey.toString('hex') }];
      });
    },
    silenceOne() {
      const machine = someAgent();
      if (!machine) return;
      counts.silenced += 1;
      machine.agent = null;
    },
    silenceAll() {
      for (const machine of machines) {
        if (machine.agent) counts.silenced += 1;
        machine.agent = null;
      }
    },
    muteOne(forMs) {
      const machine = someAgent();
      if (!machine) return;
      counts.muted += 1;
      machine.mutedUntilMs = Date.now() + forMs;
    },
    info: () => machines.map(({ agent: _, mutedUntilMs: __, ...rest }) => rest),
    end: () => timers.forEach((timer) => clearTimeout(timer)),
  };
}

/** Two providers with three locations each. */
function machineAt(random: Random, at: number): WorldMachine {
  const provider = at % 2 === 0 ? 'metal-a' : 'metal-b';
  return {
    machineId: random.uuid(),
    provider,
    deviceId: `device-${at}`,
    reservationId: `slot-${at}`,
    address: `10.0.${Math.floor(at / 250)}.${(at % 250) + 1}`,
    location: `${provider}-${at % 3}`,
    bootId: random.uuid(),
    up: true,
    agent: null,
    mutedUntilMs: 0,
  };
}
