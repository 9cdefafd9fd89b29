import type { RackCore } from './core.ts';
import type { ResetType } from './vendors.ts';
import type { Bmc, ComputerSystem } from './world.ts';

/** Durations, milliseconds. */
export interface PowerTimings {
  readonly offMs: number;
  readonly onMs: number;
  readonly gracefulMs: number;
  readonly postMs: number;
  readonly bmcRestartMs: number;
  /** Duration of a booted installer's work. */
  readonly installMs: number;
}
export const REAL_TIMINGS: PowerTimings = {
  offMs: 2_000,
  onMs: 2_000,
  gracefulMs: 20_000,
  postMs: 60_000,
  bmcRestartMs: 90_000,
  installMs: 240_000,
};

/** What a system boots after its POST. */
export interface Boot {
  /** `Hdd` by default, or if the requested source is missing. */
  readonly source: string;
  /** Address of the virtual medium or HTTP boot; null: neither is booted. */
  readonly address: string | null;
}

export interface Power {
  /** The system is on with its booted disk, as if it had always been. */
  start(bmc: Bmc, system: ComputerSystem): void;
  /** Carries out an accepted reset; a later reset replaces a running one. */
  reset(bmc: Bmc, system: ComputerSystem, type: ResetType): void;
  /** The BMC restarts; its systems continue. */
  restartBmc(bmc: Bmc, takesMs: number): void;
  settled(): Promise<void>;
  close(): void;
}

export function createPower(core: RackCore): Power {
  const { clock, timings, hooks, log, faults } = core;
  const now = clock.now;
  const timers = new Map<ComputerSystem, unknown>();
  const told = new Map<ComputerSystem, Promise<void>>();
  /** The present boot of each running system. */
  const running = new Map<ComputerSystem, symbol>();

  let tellCount = 0;

  /** One after another per system. */
  const tell = (system: ComputerSystem, what: () => Promise<unknown> | undefined) => {
    const before = told.get(system) ?? Promise.resolve();
    const call = async () => {
      try {
        await what();
      } catch (err) {
        log.error({ err, machine: system.name }, 'a hook of the simulated host failed');
      }
    };
    told.set(system, before.then(call));
    tellCount += 1;
  };
  const progress = (system: ComputerSystem, state: string) => {
    system.progress = { state, atMs: now() };
  };
  const cancel = (system: ComputerSystem) => {
    clock.clearTimeout(timers.get(system));
    timers.delete(system);
  };
  const later = (system: ComputerSystem, delayMs: number, then: () => void) => {
    cancel(system);
    timers.set(system, clock.setTimeout(then, delayMs));
  };

  const goDown = (system: ComputerSystem) => {
    running.delete(system);
    progress(system, 'None');
    tell(system, () => hooks?.down(system.name));
  };
  const turnOff = (system: ComputerSystem, then?: () => void) => {
    goDown(system);
    system.power = 'PoweringOff';
    later(system, timings.offMs, () => {
      system.power = 'Off';
      then?.();
    });
  };
  const handOver = (bmc: Bmc, system: ComputerSystem) => {
    const boot = bootOf(bmc, system);
    progress(system, 'OSBootStarted');
    const { progress: started } = system;
    const current = Symbol(system.name);
    running.set(system, current);
    const machine = {
      restart: () => {
        if (running.get(system) === current) restart(bmc, system);
      },
      clock,
      installMs: timings.installMs,
    };
    tell(system, async () => {
      const end = await hooks?.boot(system.name, boot, machine);
      if (end === undefined && system.progress === started) progress(system, 'OSRunning');
    });
  };
  const post = (bmc: Bmc, system: ComputerSystem) => {
    system.lastResetMs = now();
    progress(system, 'PrimaryProcessorInitializationStarted');
    later(system, timings.postMs, () => {
      timers.delete(system);
      handOver(bmc, system);
    });
  };
  const turnOn = (bmc: Bmc, system: ComputerSystem) => {
    system.power = 'PoweringOn';
    later(system, timings.onMs, () => {
      system.power = 'On';
      post(bmc, system);
    });
  };
  const restart = (bmc: Bmc, system: ComputerSystem) => {
    system.power = 'On';
    goDown(system);
    post(bmc, system);
  };

  /** The boot source; a one-time override is used up. */
  function bootOf(bmc: Bmc, system: ComputerSystem): Boot {
    const { boot, media, pendingBoot } = system;
    if (pendingBoot) Object.assign(boot, pendingBoot);
    system.pendingBoot = null;
    const { enabled, target: source, httpBootUri } = boot;
    const disk: Boot = { source: 'Hdd', address: null };
    if (enabled === 'Disabled') return disk;
    const subject = { method: '', route: '', bmc: bmc.name, system: system.name };
    const isSticky = faults.strikeOne(['override'], subject, ({ does }) => does === 'sticky');
    if (enabled === 'Once' && !isSticky)
      Object.assign(boot, { enabled: 'Disabled', target: 'None' });
    if (source === 'Cd' || source === 'UsbCd') {
      const disc = media.find(({ types, image }) => image !== null && types.includes('CD'));
      return disc ? { source, address: disc.image } : disk;
    }
    if (source === 'UefiHttp') return { source, address: httpBootUri };
    return source === 'None' ? disk : { source, address: null };
  }

  /** Hung software ignores it. What takes its own time may be reset meanwhile. */
  const gracefully = (system: ComputerSystem, then: () => void) =>
    later(system, timings.gracefulMs, () => {
      const heeds = hooks?.heeds?.(system.name);
      if (heeds instanceof Promise) {
        const asked = running.get(system);
        void heeds.then((ended) => {
          if (ended && running.get(system) === asked) then();
        });
      } else if (heeds !== false) then();
    });
  const shutDown = (system: ComputerSystem) => gracefully(system, () => turnOff(system));
  const acts: Record<ResetType, (bmc: Bmc, system: ComputerSystem) => void> = {
    On: (bmc, system) => {
      if (system.power === 'Off' || system.power === 'PoweringOff') turnOn(bmc, system);
    },
    ForceOff: (_bmc, system) => {
      if (system.power !== 'Off') turnOff(system);
    },
    GracefulShutdown: (_bmc, system) => shutDown(system),
    GracefulRestart: (bmc, system) => gracefully(system, () => restart(bmc, system)),
    ForceRestart: restart,
    PowerCycle: (bmc, system) => turnOff(system, () => turnOn(bmc, system)),
    PushPowerButton: (bmc, system) =>
      system.power === 'Off' ? turnOn(bmc, system) : shutDown(system),
  };

  function restartBmc(bmc: Bmc, takesMs: number): void {
    bmc.restart = { deafUntilMs: now() + takesMs / 3, doneAtMs: now() + takesMs };
    bmc.isHanging = false;
    bmc.sessions.clear();
    bmc.tasks.clear();
  }

  /** Calls may cause further calls. */
  async function settled(): Promise<void> {
    for (let known = -1; known !== tellCount;) {
      known = tellCount;
      await Promise.all(told.values());
      await hooks?.settled?.();
    }
  }

  return {
    start(bmc, system) {
      system.power = 'On';
      handOver(bmc, system);
    },
    reset: (bmc, system, type) => acts[type](bmc, system),
    restartBmc,
    settled,
    close() {
      for (const system of timers.keys()) cancel(system);
    },
  };
}
