import type { ConditionReport } from '../../../src/adapters/bmdb/port.ts';
import type { ConditionStatus } from '../../../src/domain/conditions.ts';
import { slotIdOf } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import { REMEDIES, type AgentCalls, type SimulatedMachine } from '../../doubles/mem-machines.ts';
import type { Simulation } from '../simulation.ts';
import { addressOf, devicesAt, hostAt, type SimulatedHost } from '../targets.ts';
import { figures, lasting, MINUTE, minutes, pick, target, type StrikeKindSpec } from './kind.ts';

/** Strikes one machine that is present. */
const onHost = (
  perHour: number,
  draw: StrikeKindSpec['draw'],
  strike: (
    host: SimulatedHost,
    numbers: Readonly<Record<string, number>>,
    simulation: Simulation,
  ) => string | null,
): StrikeKindSpec => ({
  perHour,
  draw,
  strike(simulation, numbers) {
    const host = hostAt(simulation, numbers['which']!);
    return host && strike(host, numbers, simulation);
  },
});

/**
 * Cuts the machine off while it keeps running. @returns a function that reconnects it, unless it
 * has booted since.
 */
function cutOff(machine: SimulatedMachine): () => void {
  const { bootId } = machine;
  machine.unreachable = true;
  return () => {
    if (machine.bootId === bootId) machine.unreachable = false;
  };
}

/** What the lying checker says. */
export const LIE = 'gpu-lost';
export const lieAbout = (row: MachineRow, status: ConditionStatus): ConditionReport => ({
  ...{ provider: row.provided!.provider, slotId: slotIdOf(slotOfRow(row)!), type: LIE, status },
  ...{ source: 'token:gpud', reason: `it is ${status}`, detail: '', validForMs: null },
  machineId: row.machineId,
});

const AGENT_CALLS: readonly (readonly [string, AgentCalls])[] = [
  ['lost', { isLost: true }],
  ['doubled', { isDoubled: true }],
  ['late and out of order', { lateMs: 2 * MINUTE }],
  ['doubled and late', { isDoubled: true, lateMs: MINUTE / 2 }],
  ['sent with a report of hardware', { reportBytes: 200 }],
  ['sent with a report that is too large', { reportBytes: 17 * 1024 * 1024 }],
];

export const MACHINES = {
  'agent-dies': onHost(1.5, target, ({ address, machine }) => {
    machine.killAgent();
    return `the agent on ${address} dies`;
  }),
  'machine-hangs': onHost(1, target, ({ address, machine }) => {
    machine.unreachable = true;
    return `${address} hangs until it boots`;
  }),
  'machine-dies': onHost(0.3, figures('which', 'remedy'), ({ address, machine }, { remedy }) => {
    const cure = pick([...REMEDIES, undefined], remedy!);
    machine.die(cure);
    return `${address} dies; ${cure ?? 'nothing'} brings it back`;
  }),
  /** Its hardware crashes it every half hour to hour and a half, whatever is done. */
  'machine-is-chronic': onHost(
    0.2,
    lasting(40 * MINUTE, 90 * MINUTE, 'times'),
    ({ address, machine }, { forMs, times }, { later }) => {
      const crashes = 3 + Math.floor(4 * times!);
      const crash = (left: number) => {
        if (machine.agents > 0) machine.die('reboot');
        if (left > 1) later(() => crash(left - 1), forMs!);
      };
      crash(crashes);
      return `${address} crashes ${crashes} times, every ${minutes(forMs!)}`;
    },
  ),
  'disk-dies': onHost(
    0.4,
    lasting(20 * MINUTE, 180 * MINUTE),
    ({ address, machine }, { forMs }, { later }) => {
      const tell = (status: ConditionStatus) =>
        (machine.conditions = [
          { type: 'disk-failing', status, reason: `sda is ${status}`, detail: '' },
        ]);
      tell('True');
      later(() => tell('False'), forMs!);
      return `a disk of ${address} fails for ${minutes(forMs!)}`;
    },
  ),
  'checker-lies': {
    perHour: 0.3,
    draw: lasting(10 * MINUTE, 120 * MINUTE, 'share'),
    strike(simulation, { share, forMs }) {
      const { machines } = simulation.world.bmdb.tables;
      const rows = [...machines.values()].flatMap(({ row }) => (row.provided ? [row] : []));
      const told = rows.slice(0, Math.ceil(share! * rows.length));
      if (told.length === 0) return null;
      const tell = (status: ConditionStatus) =>
        void simulation.world.bmdb.conditions
          .report(told.map((row) => lieAbout(row, status)))
          .catch(() => simulation.later(() => tell(status), MINUTE));
      tell('True');
      simulation.later(() => tell('False'), forMs!);
      return `a checker marks ${told.length} machines for ${minutes(forMs!)}`;
    },
  },
  'machine-boots-by-itself': onHost(0.5, target, ({ address }, _, { world }) => {
    world.boot(address);
    return `${address} boots by itself`;
  }),
  'network-of-machine-fails': onHost(
    1,
    lasting(MINUTE, 40 * MINUTE),
    ({ address, machine }, { forMs }, { later }) => {
      if (machine.unreachable) return null;
      later(cutOff(machine), forMs!);
      return `${address} is cut off for ${minutes(forMs!)}`;
    },
  ),
  'agent-calls-are-spoilt': onHost(
    0.7,
    lasting(2 * MINUTE, 40 * MINUTE, 'how'),
    ({ address, machine }, { how, forMs }, { later }) => {
      const [what, calls] = pick(AGENT_CALLS, how!);
      machine.calls = calls;
      later(() => (machine.calls = {}), forMs!);
      return `heartbeats of ${address} are ${what} for ${minutes(forMs!)}`;
    },
  ),
  'installations-fail': onHost(0.3, figures('which', 'how'), ({ address, machine }, { how }) => {
    machine.installs = how! < 0.5 ? 'Error' : null;
    return `images that ${address} installs ${machine.installs ? 'fail' : 'never get done'}`;
  }),
  'slow-boots': onHost(0.5, lasting(2 * MINUTE, 25 * MINUTE), ({ address, machine }, { forMs }) => {
    machine.bootMs = forMs!;
    return `${address} takes ${minutes(forMs!)} to boot from now on`;
  }),
  'ssh-hangs': onHost(
    0.7,
    lasting(MINUTE, 90 * MINUTE, 'step'),
    ({ address, machine }, { step, forMs }, { later }) => {
      const at = pick(['connect', 'handshake', 'upload', 'execute'] as const, step!);
      machine.hangs = at;
      later(() => (machine.hangs = undefined), forMs!);
      return `SSH to ${address} hangs at ${at} for ${minutes(forMs!)}`;
    },
  ),
  'ssh-refuses-key': onHost(
    0.2,
    lasting(MINUTE, 90 * MINUTE),
    ({ address, machine }, { forMs }, { later }) => {
      machine.refusesKey = true;
      later(() => (machine.refusesKey = false), forMs!);
      return `${address} refuses our key for ${minutes(forMs!)}`;
    },
  ),
  'stranger-answers': onHost(
    0.2,
    lasting(5 * MINUTE, 120 * MINUTE),
    ({ address, machine }, { forMs }, { later }) => {
      machine.impersonate(`key of a stranger at ${address}`);
      later(() => machine.endImpersonation(), forMs!);
      return `a stranger's system answers at ${address} for ${minutes(forMs!)}`;
    },
  ),
  'rack-fails': {
    perHour: 0.15,
    draw: lasting(2 * MINUTE, 60 * MINUTE, 'how'),
    strike(simulation, { which, how, forMs }) {
      const { world } = simulation;
      const [location, devices] = devicesAt(simulation, which!);
      const hosts = devices.flatMap(({ addresses }) => world.hosts.get(`${addresses[0]}:22`) ?? []);
      if (hosts.length === 0) return null;
      if (how! < 0.4) {
        for (const host of hosts) if (!host.unreachable) simulation.later(cutOff(host), forMs!);
        return `the network of ${location} fails for ${minutes(forMs!)}`;
      }
      for (const host of hosts) host.die();
      simulation.later(() => {
        for (const host of hosts) {
          host.repair();
          world.boot(addressOf(simulation, host)!);
        }
      }, forMs!);
      return `${location} with ${hosts.length} machines loses power for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
