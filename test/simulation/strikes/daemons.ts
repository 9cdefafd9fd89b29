import type { SimulatedDaemon } from '../simulation.ts';
import {
  between,
  daemonOf,
  figures,
  lasting,
  MINUTE,
  minutes,
  pick,
  SECOND,
  target,
  type StrikeKindSpec,
} from './kind.ts';

/** Calls during which a daemon may die. */
export const DEADLY: readonly string[] = [
  'bmdb.session.claim',
  'bmdb.session.intents.open',
  'bmdb.session.intents.progress',
  'bmdb.session.intents.adopt',
  'bmdb.session.applyRequest',
  'bmdb.work.note',
  'bmdb.work.finish',
  'bmdb.work',
  'provider.createMachine',
  'provider.setTags',
  'provider.deprovisionMachine',
  'provider.rebootMachine',
  'provider.setPower',
  'provider.reinstallMachine',
  'shell.connect',
  'shell.ssh.upload',
  'shell.ssh.execute',
  'balancer',
];
/** A daemon acts on machines right after these calls, but must not after a pause in them. */
const FATEFUL = [
  'bmdb.session.claim',
  'bmdb.work.note',
  'bmdb.work.note',
  'bmdb.session.intents.open',
] as const;
const POINTS = ['dies-before', 'dies-after', 'dies-answered'] as const;

/** Strikes on daemons and their connections. */
export const DAEMONS = {
  'daemon-killed': {
    perHour: 0.7,
    draw: lasting(SECOND, 15 * MINUTE),
    strike(simulation, numbers) {
      const daemon = daemonOf(simulation, numbers);
      if (!daemon.played) return null;
      daemon.kill(numbers['forMs']!);
      return `${daemon.name} is killed and starts again after ${minutes(numbers['forMs']!)}`;
    },
  },
  'daemon-dies-in-a-call': {
    perHour: 1,
    draw: (random) => ({
      ...lasting(SECOND, 5 * MINUTE, 'path', 'point')(random),
      skip: between(random, 0, 3),
    }),
    strike(simulation, { path: at, point, skip, forMs, ...numbers }) {
      const daemon = daemonOf(simulation, numbers);
      const path = pick(DEADLY, at!);
      const effect = pick(POINTS, point!);
      const strikeCaller = () => daemon.kill(forMs!);
      daemon.faults.add({ effect, path, times: 1, skip: skip!, strikeCaller });
      return `${daemon.name} ${effect} in its next call ${path} but ${skip}`;
    },
  },
  'daemon-restarts': {
    perHour: 0.3,
    draw: target,
    strike(simulation, numbers) {
      const daemon = daemonOf(simulation, numbers);
      if (!daemon.played?.isAlive) return null;
      void daemon.restart();
      return `${daemon.name} is restarted in peace`;
    },
  },
  'daemon-paused': {
    perHour: 0.7,
    draw: lasting(SECOND, 5 * MINUTE, 'isMidst', 'path'),
    strike(simulation, { isMidst, path: at, forMs, ...numbers }) {
      const pause = ({ played }: SimulatedDaemon) => {
        played?.pause();
        simulation.later(() => played?.resume(), forMs!);
      };
      if (isMidst! < 0.25) {
        const daemon = daemonOf(simulation, numbers);
        if (!daemon.played) return null;
        pause(daemon);
        return `${daemon.name} stands still for ${minutes(forMs!)}`;
      }
      // The daemon does its next step only after the pause.
      const path = pick(FATEFUL, at!);
      const stopAll = simulation.daemons.map((daemon) =>
        daemon.faults.add({
          ...{ effect: 'pauses', path, times: 1 },
          strikeCaller() {
            for (const stop of stopAll) stop();
            pause(daemon);
          },
        }),
      );
      return `who makes the next call ${path} stands still for ${minutes(forMs!)}`;
    },
  },
  'daemon-cut-off': {
    perHour: 0.5,
    draw: lasting(5 * SECOND, 30 * MINUTE, 'port', 'effect'),
    strike(simulation, numbers) {
      const daemon = daemonOf(simulation, numbers);
      const path = pick(['bmdb', 'provider', 'shell', 'balancer'], numbers['port']!);
      const effect = pick(['refused', 'lost'] as const, numbers['effect']!);
      const untilMs = simulation.clock.monotonic() + numbers['forMs']!;
      daemon.faults.add({ effect, path, untilMs });
      return `${daemon.name} is cut off from ${path} (${effect}) for ${minutes(numbers['forMs']!)}`;
    },
  },
  /** Agents cannot connect, for example because a certificate expired. The daemon does not notice. */
  'agents-do-not-reach-daemon': {
    perHour: 0.3,
    draw: lasting(MINUTE, 60 * MINUTE),
    strike(simulation, numbers) {
      const { name } = daemonOf(simulation, numbers);
      simulation.world.deafen(name, true);
      simulation.later(() => simulation.world.deafen(name, false), numbers['forMs']!);
      return `no agent gets through to ${name} for ${minutes(numbers['forMs']!)}`;
    },
  },
  'clock-is-set': {
    perHour: 0.5,
    draw: figures('which', 'ahead'),
    strike(simulation, { ahead, ...numbers }) {
      const { name } = daemonOf(simulation, numbers);
      const offsetMs = Math.round((2 * ahead! - 1) * 60 * MINUTE);
      simulation.world.setClock(name, offsetMs);
      return `the clock of ${name} is ${Math.round(offsetMs / SECOND)} s ahead from now on`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
