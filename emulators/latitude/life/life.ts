import { createMachines } from '../../kit/machines.ts';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { MachineHooks } from '../../kit/hooks.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { LatitudeFaultEffect } from '../api.ts';
import {
  addToStock,
  type LatitudeServer,
  type ServerStatus,
  type LatitudeWorld,
} from '../world.ts';
import { createServerMachines } from './server-machines.ts';
import { createTimers } from './timers.ts';

export const POWER_ACTIONS = ['power_on', 'power_off', 'reboot'] as const;
export type PowerAction = (typeof POWER_ACTIONS)[number];

export type ServerLife = ReturnType<typeof createLife>;

/** Durations, milliseconds. */
export const TIMINGS = {
  startingMs: 5_000,
  /** `on` after the start and before the deployment. */
  flashMs: 20_000,
  deployingMs: 600_000,
  erasingMs: 60_000,
  /** From the request to `failed_deployment`. */
  failMs: 1_800_000,
  powerOffMs: 5_000,
  powerOnMs: 10_000,
  rebootDownMs: 5_000,
  /** From the request, not from the machine's shutdown. */
  rebootUpMs: 60_000,
};
export type LatitudeTimings = Readonly<typeof TIMINGS>;

export interface LifeDeps {
  readonly world: LatitudeWorld;
  readonly clock: EmulatorClock;
  readonly timings: LatitudeTimings;
  readonly log: EmulatorLog;
  /** Without hooks servers exist on paper only. */
  readonly hooks: MachineHooks | undefined;
  /** The first fault of this type that strikes the server's life. */
  readonly strike: <T extends LatitudeFaultEffect['type']>(
    type: T,
    server: LatitudeServer,
  ) => Extract<LatitudeFaultEffect, { type: T }> | undefined;
}

/** Moves servers, and the simulated machines behind them, from state to state. Callers check the rules first. */
export function createLife({ world, clock, timings, log, hooks, strike }: LifeDeps) {
  const queue = createMachines(hooks, log);
  const machines = createServerMachines(world, queue);
  const timers = createTimers(clock);

  /** The next step of a server's life; it replaces the pending step. */
  const then = (server: LatitudeServer, delayMs: number, next: () => void) =>
    timers.set(server.id, 'phase', delayMs, next);
  const settle = (server: LatitudeServer, status: ServerStatus) => {
    server.status = status;
    server.isInstalling = false;
  };

  const deploy = (server: LatitudeServer, isFirst: boolean, requestedAtMs: number) => {
    server.status = 'deploying';
    if (strike('deployFails', server)) {
      const leftMs = requestedAtMs + timings.failMs - clock.now();
      return then(server, leftMs, () => settle(server, 'failed_deployment'));
    }
    then(server, timings.deployingMs, () => {
      settle(server, 'on');
      machines.install(server, isFirst);
    });
  };

  const acts: Readonly<Record<PowerAction, (server: LatitudeServer) => void>> = {
    power_off: (server) =>
      then(server, timings.powerOffMs, () => {
        server.status = 'off';
        machines.down(server);
      }),
    power_on: (server) => {
      if (server.status === 'on') return;
      then(server, timings.powerOnMs, () => {
        server.status = 'on';
        machines.up(server);
      });
    },
    reboot: (server) =>
      then(server, timings.rebootDownMs, () => {
        machines.down(server);
        const leftMs = timings.rebootUpMs - timings.rebootDownMs;
        then(server, leftMs, () => machines.up(server));
      }),
  };

  const remove = (server: LatitudeServer) => {
    timers.clear(server.id, 'phase');
    timers.clear(server.id, 'removal');
    server.isLeaving = true;
    server.goneAtMs = clock.now() + (strike('tombstone', server)?.ms ?? 0);
    addToStock(world, server, 1);
    machines.gone(server);
  };

  return {
    /** For a server that was just added to the world. Resolves when its address is known. */
    create(server: LatitudeServer): Promise<void> {
      const requestedAtMs = clock.now();
      then(server, timings.startingMs, () => {
        // A recorded reply of the service shows `on` before the deployment.
        server.status = 'on';
        then(server, timings.flashMs, () => deploy(server, true, requestedAtMs));
      });
      return machines.assign(server);
    },
    /** Installs the server's present configuration. */
    reinstall(server: LatitudeServer): void {
      const requestedAtMs = clock.now();
      server.status = 'disk_erasing';
      server.isInstalling = true;
      machines.down(server);
      then(server, timings.erasingMs, () => deploy(server, false, requestedAtMs));
    },
    act: (server: LatitudeServer, action: PowerAction): void => acts[action](server),
    remove,
    scheduleRemoval(server: LatitudeServer, atMs: number): void {
      server.scheduledDeletionAtMs = atMs;
      timers.set(server.id, 'removal', atMs - clock.now(), () => remove(server));
    },
    /** Resolves when no hook runs or waits. */
    settled: queue.settled,
    close() {
      timers.close();
      queue.stop();
    },
  };
}
