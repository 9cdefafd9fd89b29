import { createMachines } from '../../equinix/lifecycle/machines.ts';
import type { Core } from '../core.ts';
import { addToStock, note, type Server, type ServerStatus, subjectOf } from '../state/world.ts';
import { createServerMachines } from './server-machines.ts';
import { createTimers } from './timers.ts';

export type PowerAction = 'power_on' | 'power_off' | 'reboot';

/** How servers move from state to state, and their machines with them. Rules are checked before. */
export interface Life {
  /** A server that was just put into the world. Resolves when its address is known. */
  create(server: Server): Promise<void>;
  /** With the configuration that the server has now. */
  reinstall(server: Server): void;
  act(server: Server, action: PowerAction): void;
  remove(server: Server): void;
  /** Null: it stays. */
  scheduleRemoval(server: Server, atMs: number | null): void;
  /** Resolves when no hook runs or waits. */
  settled(): Promise<void>;
  close(): void;
}

export function createLife(core: Core): Life {
  const { world, clock, timings, knobs, faults } = core;
  const queue = createMachines(core.hooks, core.log);
  const machines = createServerMachines(core, queue);
  const timers = createTimers(clock);

  const move = (server: Server, status: ServerStatus) => {
    server.status = status;
    server.history.push({ atMs: clock.now(), status });
  };
  /** What was under way is over; this is what comes next. */
  const then = (server: Server, delayMs: number, next: () => void) =>
    timers.set(server.id, 'phase', delayMs, next);
  const strikes = (type: 'deployStuck' | 'deployFails' | 'eraseFails', server: Server) =>
    faults.strikeOne([type], subjectOf(server)) !== undefined;
  const linger = (server: Server) => {
    const hit = faults.strikeOne(['staleOn'], subjectOf(server));
    if (hit) server.staleOnUntilMs = clock.now() + hit.effect.ms;
  };

  const deploy = (server: Server, isFirst: boolean, askedAtMs: number) => {
    move(server, 'deploying');
    machines.showAddress(server);
    if (strikes('deployStuck', server)) return timers.clear(server.id, 'phase');
    if (strikes('deployFails', server)) {
      const leftMs = askedAtMs + timings.failMs - clock.now();
      return then(server, leftMs, () => move(server, 'failed_deployment'));
    }
    then(server, timings.deployingMs, () => {
      move(server, 'on');
      machines.install(server, isFirst);
    });
  };

  const acts: Readonly<Record<PowerAction, (server: Server) => void>> = {
    power_off: (server) => {
      then(server, timings.powerOffMs, () => {
        move(server, 'off');
        machines.down(server);
      });
    },
    power_on: (server) => {
      if (server.status === 'on') return;
      then(server, timings.powerOnMs, () => {
        move(server, 'on');
        machines.up(server);
      });
    },
    reboot: (server) => {
      then(server, timings.rebootDownMs, () => {
        machines.down(server);
        const leftMs = timings.rebootUpMs - timings.rebootDownMs;
        then(server, leftMs, () => machines.up(server));
      });
    },
  };

  const remove = (server: Server) => {
    note(world, server, 'destroy', clock.now());
    timers.clear(server.id, 'phase');
    timers.clear(server.id, 'removal');
    server.isLeaving = true;
    server.goneAtMs = clock.now() + knobs.tombstoneMs;
    addToStock(world, server, 1);
    machines.gone(server);
  };

  return {
    create(server) {
      const askedAtMs = clock.now();
      note(world, server, 'create', askedAtMs);
      linger(server);
      then(server, timings.startingMs, () => {
        if (!knobs.onFlash) return deploy(server, true, askedAtMs);
        move(server, 'on');
        then(server, timings.flashMs, () => deploy(server, true, askedAtMs));
      });
      return machines.assign(server);
    },
    reinstall(server) {
      const askedAtMs = clock.now();
      note(world, server, 'reinstall', askedAtMs);
      linger(server);
      move(server, 'disk_erasing');
      machines.down(server);
      then(server, timings.erasingMs, () => {
        if (strikes('eraseFails', server)) return move(server, 'failed_disk_erasing');
        deploy(server, false, askedAtMs);
      });
    },
    act(server, action) {
      note(world, server, action, clock.now());
      acts[action](server);
    },
    remove,
    scheduleRemoval(server, atMs) {
      server.scheduledDeletionAtMs = atMs;
      if (atMs === null) timers.clear(server.id, 'removal');
      else timers.set(server.id, 'removal', atMs - clock.now(), () => remove(server));
    },
    settled: queue.settled,
    close() {
      timers.close();
      queue.stop();
    },
  };
}
