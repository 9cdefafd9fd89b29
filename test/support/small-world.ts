import { expect, onTestFinished } from 'vitest';
import type { Board } from '../../src/actors/board.ts';
import type { GuardWatch } from '../../src/actors/guard/watch.ts';
import type { Mirror } from '../../src/actors/mirror/mirror.ts';
import type { SessionKeeper } from '../../src/actors/session-keeper.ts';
import type { TaskPool } from '../../src/actors/turns/turns.ts';
import type { PermitQueue } from '../../src/actors/turns/permit-queue.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { ConfigInput } from '../../src/config.ts';
import type { Daemon } from '../../src/daemon/daemon.ts';
import type { MachineView } from '../../src/domain/view.ts';
import type { MemMetrics } from '../doubles/mem-metrics.ts';
import type { RecordingLog } from '../doubles/recording-log.ts';
import { advance, settled } from '../doubles/simulated-clock.ts';
import { createPlayedWorld } from './played-world.ts';
import type { DaemonAbout, PlayedDaemon, PlayedWorld } from './played-world.ts';

export type { SimulatedMachine } from '../doubles/mem-machines.ts';

/** A whole shipped daemon, over a world in memory and in virtual time. */
export interface SmallWorld extends Omit<PlayedWorld, 'start'> {
  /** The mirror's last view of each slot; empty before the daemon starts. */
  readonly views: ReadonlyMap<string, MachineView>;
  /** Number of sweeps: one per period while a session's services run undisturbed. */
  sweeps(): number;
  /** Starts the daemon, which stops at the end of the test. @returns its supervisor. */
  fleet(): Promise<Daemon['supervisor']>;
  /** The started daemon's log, metrics and parts. */
  readonly log: RecordingLog;
  readonly metrics: MemMetrics;
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly mirror: Mirror;
  readonly board: Board;
  readonly watch: GuardWatch;
  readonly permits: PermitQueue;
}

export interface SmallWorldOptions extends Omit<DaemonAbout, 'name'> {
  readonly machines?: number;
  /** Reservations by location, instead of `machines` in one. */
  readonly locations?: Readonly<Record<string, number>>;
  readonly seed?: number;
  /** Maximum tasks of each kind at once. */
  readonly places?: number;
  readonly provisioner?: ConfigInput['provisioner'];
  /** Machines have BMCs that may hang. */
  readonly hasControllers?: boolean;
  /** Changes to the configured recovery ladder. */
  readonly ladder?: NonNullable<ConfigInput['recoverer']>['ladder'];
}

export function createSmallWorld(options: SmallWorldOptions = {}): SmallWorld {
  const { machines = 3, seed = 1, places = 4, provisioner, ladder } = options;
  const world = createPlayedWorld({
    seed,
    locations: options.locations ?? { sim1: machines },
    hasControllers: options.hasControllers ?? false,
    ofProvider: { callsPerSecond: 0, recoveryMayEraseDisks: true },
    config: {
      session: { interval: '10s' },
      provisioner: { maxMachines: 0, ...provisioner },
      initializer: { loopParallelism: places },
      recoverer: { loopParallelism: places, ...(ladder && { ladder }) },
    },
  });
  let sweeps = 0;
  const counted = (bmdb: Bmdb): Bmdb => ({
    ...bmdb,
    sweep: () => {
      sweeps += 1;
      return bmdb.sweep();
    },
  });
  const { bmdb: changed = (bmdb) => bmdb } = options;
  let started: PlayedDaemon | undefined;
  const own = () => {
    if (!started) throw new Error('the daemon is not started yet');
    return started;
  };
  const parts = () => own().daemon.parts;
  /** Ends the daemon and its world, and checks that nothing is left. */
  async function stop({ daemon: { supervisor } }: PlayedDaemon) {
    if (supervisor.getSnapshot().status === 'active') {
      supervisor.send({ type: 'fleet.stop' });
      await advance(world.clock, 60_000);
    }
    world.end();
    await settled();
    expect(supervisor.getSnapshot().value).toBe('stopped');
    expect(parts().taskPool.busy).toBe(0);
    expect(world.clock.pending, 'timers left').toBe(0);
  }
  return {
    ...world,
    get log() {
      return own().log;
    },
    get metrics() {
      return own().metrics;
    },
    get views() {
      const entries = started?.daemon.board.entries ?? [];
      return new Map([...entries].map(([slot, { view }]) => [slot, view]));
    },
    sweeps: () => sweeps,
    async fleet() {
      const bmdb = (real: Bmdb) => changed(counted(real));
      const daemon = await world.start({ ...options, name: 'memory', bmdb });
      started = daemon;
      onTestFinished(() => stop(daemon));
      return daemon.daemon.supervisor;
    },
    get taskPool() {
      return parts().taskPool;
    },
    get keeper() {
      return parts().keeper;
    },
    get mirror() {
      return parts().mirror;
    },
    get board() {
      return parts().board;
    },
    get watch() {
      return parts().watch;
    },
    get permits() {
      return parts().permits;
    },
  };
}
