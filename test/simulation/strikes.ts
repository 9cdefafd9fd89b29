import type { Random } from '../../src/adapters/clock/port.ts';
import type { HoldKind } from '../../src/domain/machine.ts';
import type { FaultKind, StubOperation } from '../../src/adapters/provider/stub/fault-kinds.ts';
import { REMEDIES } from '../doubles/mem-machines.ts';
import type { CallEffect } from './call-faults.ts';
import { askOf, deviceAt, hostAt, machineAt } from './targets.ts';
import type { Simulation, SimulatedDaemon } from './simulation.ts';

type Figures = Readonly<Record<string, number>>;

/** A kind of fault: how often it is drawn, with which figures, and what it does. */
interface StrikeKindSpec {
  /** Mean number in an hour of a run that has this kind. */
  readonly perHour: number;
  draw(random: Random): Figures;
  /** @returns what was hit, for people; null: there was nothing to hit. */
  strike(simulation: Simulation, figures: Figures): string | null;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const between = (random: Random, from: number, to: number) =>
  Math.floor(from + random.next() * (to - from));
/** Chooses by the figure, so that a plan means the same whatever else is dropped from it. */
const pick = <Item>(items: readonly Item[], figure: number): Item =>
  items[Math.floor(figure * items.length) % items.length]!;

const target = (random: Random): Figures => ({ which: random.next() });
const targetFor = (fromMs: number, toMs: number) => (random: Random) => ({
  which: random.next(),
  forMs: between(random, fromMs, toMs),
});
const daemonOf = ({ daemons }: Simulation, { which }: Figures): SimulatedDaemon =>
  pick(daemons, which!);

// Machines.

const MACHINES = {
  'agent-dies': {
    perHour: 1.5,
    draw: target,
    strike(simulation, { which }) {
      const host = hostAt(simulation, which!);
      host?.machine.killAgent();
      return host && `the agent on ${host.address} dies`;
    },
  },
  'machine-hangs': {
    perHour: 1,
    draw: target,
    strike(simulation, { which }) {
      const host = hostAt(simulation, which!);
      if (host) host.machine.unreachable = true;
      return host && `${host.address} hangs until it boots`;
    },
  },
  'machine-dies': {
    perHour: 0.3,
    draw: (random) => ({ which: random.next(), remedy: random.next() }),
    strike(simulation, { which, remedy }) {
      const host = hostAt(simulation, which!);
      const cure = pick([...REMEDIES, undefined], remedy!);
      host?.machine.die(cure);
      return host && `${host.address} dies; ${cure ?? 'nothing'} brings it back`;
    },
  },
  'network-of-machine-fails': {
    perHour: 1,
    draw: targetFor(MINUTE, 40 * MINUTE),
    strike(simulation, { which, forMs }) {
      const host = hostAt(simulation, which!);
      if (!host || host.machine.unreachable) return null;
      const { bootId } = host.machine;
      host.machine.unreachable = true;
      simulation.later(() => {
        if (host.machine.bootId === bootId) host.machine.unreachable = false;
      }, forMs!);
      return `${host.address} is cut off for ${minutes(forMs!)}`;
    },
  },
  'slow-boots': {
    perHour: 0.5,
    draw: targetFor(2 * MINUTE, 25 * MINUTE),
    strike(simulation, { which, forMs }) {
      const host = hostAt(simulation, which!);
      if (host) host.machine.bootMs = forMs!;
      return host && `${host.address} takes ${minutes(forMs!)} to boot from now on`;
    },
  },
  'ssh-hangs': {
    perHour: 0.7,
    draw: (random) => ({
      which: random.next(),
      step: random.next(),
      forMs: between(random, MINUTE, 90 * MINUTE),
    }),
    strike(simulation, { which, step, forMs }) {
      const host = hostAt(simulation, which!);
      const at = pick(['connect', 'handshake', 'upload', 'execute'] as const, step!);
      if (!host) return null;
      host.machine.hangs = at;
      simulation.later(() => (host.machine.hangs = undefined), forMs!);
      return `SSH to ${host.address} hangs at ${at} for ${minutes(forMs!)}`;
    },
  },
  'ssh-refuses-key': {
    perHour: 0.2,
    draw: targetFor(MINUTE, 90 * MINUTE),
    strike(simulation, { which, forMs }) {
      const host = hostAt(simulation, which!);
      if (!host) return null;
      host.machine.refusesKey = true;
      simulation.later(() => (host.machine.refusesKey = false), forMs!);
      return `${host.address} refuses our key for ${minutes(forMs!)}`;
    },
  },
  'rack-loses-power': {
    perHour: 0.15,
    draw: targetFor(2 * MINUTE, 60 * MINUTE),
    strike(simulation, { which, forMs }) {
      const { world, plan } = simulation;
      const location = `hall${1 + Math.floor(which! * plan.locations)}`;
      const hosts = world.provider.account.world
        .devices()
        .filter(({ plan: { location: at } }) => at === location)
        .flatMap(({ addresses }) => world.hosts.get(`${addresses[0]}:22`) ?? []);
      if (hosts.length === 0) return null;
      for (const host of hosts) {
        host.die();
        host.killAgent();
      }
      simulation.later(() => {
        for (const host of hosts) {
          host.repair();
          world.boot([...world.hosts].find(([, each]) => each === host)![0].replace(/:22$/, ''));
        }
      }, forMs!);
      return `${location} with ${hosts.length} machines loses power for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;

// The provider.

const CALL_FAULTS: readonly FaultKind[] = [
  'call-fails',
  'fails-after',
  'reply-lost',
  'hangs',
  'hangs-after',
  'slow',
  'html-body',
  'truncated-body',
  'server-error',
  'rate-limit',
  'retry-time-missing',
  'conflict',
];
const OPERATIONS: readonly (StubOperation | undefined)[] = [
  undefined,
  'list',
  'get',
  'create',
  'reboot',
  'power',
  'destroy',
];
const LIST_FAULTS: readonly FaultKind[] = [
  'list-lag',
  'partial-page',
  'page-fails',
  'duplicates',
  'reordering',
  'disappears',
  'vanish-all',
  'foreign-machines',
];
const ACTION_FAULTS: readonly (readonly [FaultKind, StubOperation])[] = [
  ['reboot-ignored', 'reboot'],
  ['bmc-unreachable', 'reboot'],
  ['bmc-unreachable', 'power'],
  ['get-not-found', 'get'],
  ['create-stuck', 'create'],
  ['failed-at-create', 'create'],
  ['reused-id', 'create'],
];

const PROVIDER = {
  'provider-call-fails': {
    perHour: 4,
    draw: (random) => ({
      fault: random.next(),
      operation: random.next(),
      times: between(random, 1, 6),
    }),
    strike({ world }, { fault, operation, times }) {
      const rule = {
        fault: pick(CALL_FAULTS, fault!),
        operation: pick(OPERATIONS, operation!),
        times: times!,
      };
      world.provider.inject(rule);
      return `${rule.fault} on the next ${times} calls ${rule.operation ?? 'of any kind'}`;
    },
  },
  'provider-lists-wrongly': {
    perHour: 2,
    draw: (random) => ({ fault: random.next(), times: between(random, 1, 8) }),
    strike({ world }, { fault, times }) {
      const kind = pick(LIST_FAULTS, fault!);
      world.provider.inject({ fault: kind, times: times! });
      return `${kind} in the next ${times} listings`;
    },
  },
  'provider-acts-wrongly': {
    perHour: 1,
    draw: (random) => ({ fault: random.next(), times: between(random, 1, 4) }),
    strike({ world }, { fault, times }) {
      const [kind, operation] = pick(ACTION_FAULTS, fault!);
      world.provider.inject({ fault: kind, operation, times: times! });
      return `${kind} on the next ${times} calls ${operation}`;
    },
  },
  'provider-away': {
    perHour: 0.3,
    draw: (random) => ({ forMs: between(random, MINUTE, 40 * MINUTE) }),
    strike({ world, later }, { forMs }) {
      world.provider.inject({ fault: 'server-error' });
      later(() => world.provider.account.faults.clear('server-error'), forMs!);
      return `every call fails for ${minutes(forMs!)}`;
    },
  },
  'device-vanishes': {
    perHour: 0.3,
    draw: (random) => ({ which: random.next(), slot: random.next() }),
    strike(simulation, { which, slot }) {
      const device = deviceAt(simulation, which!);
      if (!device) return null;
      const withReservation = slot! < 0.3;
      simulation.world.provider.remove(device.id, { withReservation });
      return `device ${device.id} vanishes${withReservation ? ' with its reservation' : ''}`;
    },
  },
  'tag-vanishes': {
    perHour: 0.2,
    draw: target,
    strike(simulation, { which }) {
      const device = deviceAt(simulation, which!);
      if (device) simulation.world.provider.setOwner(device.id, null);
      return device && `device ${device.id} loses its owner's tag`;
    },
  },
  'address-changes': {
    perHour: 0.3,
    draw: (random) => ({ which: random.next(), last: between(random, 1, 250) }),
    strike(simulation, { which, last }) {
      const device = deviceAt(simulation, which!);
      const address = `198.51.100.${last}`;
      const { world } = simulation;
      if (!device?.addresses[0] || world.hosts.has(`${address}:22`)) return null;
      if (!world.hosts.has(`${device.addresses[0]}:22`)) return null;
      world.move(device.id, address);
      return `device ${device.id} moves from ${device.addresses[0]} to ${address}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;

// The database, as daemons reach it.

const DATABASE_PATHS = [
  'bmdb.session.claim',
  'bmdb.work.finish',
  'bmdb.work.fail',
  'bmdb.work.note',
  'bmdb.work',
  'bmdb.session.intents',
  'bmdb.session.intents.adopt',
  'bmdb.session.settle',
  'bmdb.session.poke',
  'bmdb.session.lease',
  'bmdb.openSession',
  'bmdb.scan',
  'bmdb.changesSince',
  'bmdb.readMachine',
  'bmdb.heartbeats',
  'bmdb.guard',
  'bmdb.providerHolds',
  'bmdb.sweep',
  'bmdb.wakes$',
  'bmdb',
];

const databaseCall = (effect: CallEffect, perHour: number): StrikeKindSpec => ({
  perHour,
  draw: (random) => ({
    which: random.next(),
    path: random.next(),
    times: between(random, 1, 4),
    forMs: between(random, SECOND, 40 * SECOND),
  }),
  strike(simulation, figures) {
    const daemon = daemonOf(simulation, figures);
    const path = pick(DATABASE_PATHS, figures['path']!);
    const { times, forMs } = figures as { times: number; forMs: number };
    daemon.faults.add({ effect, path, times, forMs });
    return `${daemon.name}: the next ${times} calls ${path} are ${effect}`;
  },
});

const DATABASE = {
  'database-refuses': databaseCall('refused', 3),
  'database-answer-lost': databaseCall('lost', 3),
  'database-answer-late': databaseCall('late', 2),
  'database-call-delayed': databaseCall('delayed', 2),
  'database-away': {
    perHour: 0.3,
    draw: (random) => ({ forMs: between(random, 5 * SECOND, 20 * MINUTE) }),
    strike({ world, later }, { forMs }) {
      world.bmdb.tables.reachable = false;
      later(() => (world.bmdb.tables.reachable = true), forMs!);
      return `the database is away for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;

// Daemons and their ways to the world.

const DAEMONS = {
  'daemon-killed': {
    perHour: 0.7,
    draw: targetFor(SECOND, 15 * MINUTE),
    strike(simulation, figures) {
      const daemon = daemonOf(simulation, figures);
      if (!daemon.played) return null;
      daemon.kill(figures['forMs']!);
      return `${daemon.name} is killed and starts again after ${minutes(figures['forMs']!)}`;
    },
  },
  'daemon-restarts': {
    perHour: 0.3,
    draw: target,
    strike(simulation, figures) {
      const daemon = daemonOf(simulation, figures);
      if (!daemon.played?.isAlive) return null;
      void daemon.restart();
      return `${daemon.name} is restarted in peace`;
    },
  },
  'daemon-paused': {
    perHour: 0.7,
    draw: targetFor(SECOND, 5 * MINUTE),
    strike(simulation, figures) {
      const { played, name } = daemonOf(simulation, figures);
      if (!played) return null;
      played.pause();
      simulation.later(() => played.resume(), figures['forMs']!);
      return `${name} stands still for ${minutes(figures['forMs']!)}`;
    },
  },
  'daemon-cut-off': {
    perHour: 0.5,
    draw: (random) => ({
      which: random.next(),
      port: random.next(),
      effect: random.next(),
      forMs: between(random, 5 * SECOND, 30 * MINUTE),
    }),
    strike(simulation, figures) {
      const daemon = daemonOf(simulation, figures);
      const path = pick(['bmdb', 'provider', 'shell'], figures['port']!);
      const effect = pick(['refused', 'lost'] as const, figures['effect']!);
      const untilMs = simulation.clock.monotonic() + figures['forMs']!;
      daemon.faults.add({ effect, path, untilMs });
      return `${daemon.name} is cut off from ${path} (${effect}) for ${minutes(figures['forMs']!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;

// Operators.

const HOLDS: readonly HoldKind[] = ['no-start', 'no-recover', 'no-allocate', 'preserve'];

const OPERATORS = {
  'operator-holds': {
    perHour: 0.5,
    draw: (random) => ({
      which: random.next(),
      kind: random.next(),
      forMs: between(random, MINUTE, 120 * MINUTE),
    }),
    strike(simulation, { which, kind, forMs }) {
      const machine = machineAt(simulation, which!);
      const hold = pick(HOLDS, kind!);
      return askOf(simulation, machine, (target) => ({
        ...{ verb: 'hold', target, kind: hold },
        untilMs: simulation.clock.now() + forMs!,
      }));
    },
  },
  'operator-orders': {
    perHour: 1,
    draw: (random) => ({ which: random.next(), verb: random.next(), force: random.next() }),
    strike(simulation, { which, verb, force }) {
      const chosen = pick(['reboot', 'restart-agent', 'reinstall'] as const, verb!);
      return askOf(simulation, machineAt(simulation, which!), (target) =>
        chosen === 'reboot'
          ? { verb: chosen, target, force: force! < 0.5 }
          : { verb: chosen, target },
      );
    },
  },
  'operator-withdraws': {
    perHour: 0.5,
    draw: target,
    strike: (simulation, { which }) =>
      askOf(simulation, machineAt(simulation, which!), (target) => ({ verb: 'withdraw', target })),
  },
  'operator-deprovisions': {
    perHour: 0.4,
    draw: (random) => ({ which: random.next(), pool: random.next() }),
    strike: (simulation, { which, pool }) =>
      askOf(simulation, machineAt(simulation, which!), (target) => ({
        ...{ verb: 'deprovision', target },
        returnToPool: pool! < 0.5,
      })),
  },
  'operator-quarantines': {
    perHour: 0.3,
    draw: targetFor(5 * MINUTE, 60 * MINUTE),
    strike: (simulation, { which, forMs }) =>
      askOf(simulation, machineAt(simulation, which!), (target) => ({
        ...{ verb: 'quarantine', target },
        untilMs: simulation.clock.now() + forMs!,
      })),
  },
  'operator-releases': {
    perHour: 0.5,
    draw: target,
    strike: (simulation, { which }) =>
      askOf(simulation, machineAt(simulation, which!), (target) => ({
        ...{ verb: 'release', target },
        forgetHostKey: false,
      })),
  },
  'operator-freezes': {
    perHour: 0.2,
    draw: targetFor(5 * MINUTE, 90 * MINUTE),
    strike(simulation, { forMs }) {
      const freeze = askOf(simulation, null, () => ({ verb: 'freeze', scope: 'fleet' }));
      simulation.later(
        () => void askOf(simulation, null, () => ({ verb: 'thaw', scope: 'fleet' })),
        forMs!,
      );
      return freeze;
    },
  },
} satisfies Record<string, StrikeKindSpec>;

const TABLE = { ...MACHINES, ...PROVIDER, ...DATABASE, ...DAEMONS, ...OPERATORS };
export type StrikeKind = keyof typeof TABLE;
/** Every kind of strike. A new kind is a new entry. */
export const STRIKES: Readonly<Record<StrikeKind, StrikeKindSpec>> = TABLE;
export const STRIKE_KINDS = Object.keys(STRIKES) as readonly StrikeKind[];

const minutes = (ms: number): string =>
  ms < MINUTE ? `${Math.round(ms / SECOND)} s` : `${Math.round(ms / MINUTE)} min`;
