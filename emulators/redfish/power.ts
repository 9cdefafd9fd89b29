import type { Core } from './core.ts';
import type { ResetType } from './profiles.ts';
import { type Bmc, note, type PowerState, type System } from './world.ts';

/** How long things take, milliseconds. */
export interface Timings {
  readonly offMs: number;
  readonly onMs: number;
  readonly gracefulMs: number;
  readonly postMs: number;
  readonly bmcRestartMs: number;
  /** Of an installer that was booted. */
  readonly installMs: number;
}
export const REAL_TIMINGS: Timings = {
  offMs: 2_000,
  onMs: 2_000,
  gracefulMs: 20_000,
  postMs: 60_000,
  bmcRestartMs: 90_000,
  installMs: 240_000,
};

/** What a system that has ended its POST boots. */
export interface Boot {
  /** `Hdd` when nothing else was asked for, or what was asked for is not there. */
  readonly source: string;
  readonly mode: 'UEFI' | 'Legacy';
  /** Of the virtual medium that is booted. */
  readonly image: string | null;
  readonly httpBootUri: string | null;
  /** What an installer that is booted is to do; other than `works` by a fault. */
  readonly installer: 'works' | 'fails' | 'hangs' | 'silent';
}

const HISTORY_MAX = 20;
const IN_POST = ['PrimaryProcessorInitializationStarted', 'SystemHardwareInitializationComplete'];
export const isInPost = ({ progress }: System): boolean => IN_POST.includes(progress.state);

export interface Power {
  /** The system is on and has booted its disk, as if it had always been. */
  start(bmc: Bmc, system: System): void;
  /** Carries a reset out that was accepted; a later one takes the place of what is under way. */
  reset(bmc: Bmc, system: System, type: ResetType): void;
  /** The BMC restarts; its systems go on. */
  restartBmc(bmc: Bmc, takesMs: number): void;
  settled(): Promise<void>;
  close(): void;
}

export function createPower(core: Core): Power {
  const { clock, timings, profile, hooks, log, faults } = core;
  const now = clock.now;
  const timers = new Map<System, unknown>();
  const told = new Map<System, Promise<void>>();
  /** Of those that run what they booted, which boot it was. */
  const running = new Map<System, symbol>();

  let tellCount = 0;

  /** One after another for each system. */
  const tell = (system: System, what: () => Promise<unknown> | undefined) => {
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
  const set = (system: System, state: PowerState) => {
    if (system.power === state) return;
    system.power = state;
    if (state === 'On' || state === 'Off') {
      note(system, { atMs: now(), severity: 'OK', text: `System power is ${state}.` });
    }
    system.powerHistory.push({ atMs: now(), state });
    if (system.powerHistory.length > HISTORY_MAX) system.powerHistory.shift();
  };
  const progress = (system: System, state: string) => {
    system.progress = { state, atMs: now() };
  };
  const cancel = (system: System) => {
    clock.clearTimeout(timers.get(system));
    timers.delete(system);
  };
  const later = (system: System, delayMs: number, then: () => void) => {
    cancel(system);
    timers.set(system, clock.setTimeout(then, delayMs));
  };

  const goDown = (system: System) => {
    running.delete(system);
    progress(system, 'None');
    tell(system, () => hooks?.down(system.name));
  };
  const turnOff = (system: System, then?: () => void) => {
    goDown(system);
    set(system, 'PoweringOff');
    later(system, timings.offMs, () => {
      set(system, 'Off');
      system.onConflictUntilMs = now() + profile.onConflictMs / core.pace;
      then?.();
    });
  };
  const handOver = (bmc: Bmc, system: System) => {
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
  const post = (bmc: Bmc, system: System) => {
    system.lastResetMs = now();
    const [first = '', second = ''] = IN_POST;
    progress(system, first);
    later(system, timings.postMs / 2, () => {
      progress(system, second);
      later(system, timings.postMs / 2, () => {
        timers.delete(system);
        handOver(bmc, system);
      });
    });
  };
  const turnOn = (bmc: Bmc, system: System) => {
    set(system, 'PoweringOn');
    later(system, timings.onMs, () => {
      set(system, 'On');
      post(bmc, system);
    });
  };
  const restart = (bmc: Bmc, system: System) => {
    note(system, { atMs: now(), severity: 'Warning', text: 'The system was reset.' });
    set(system, 'On');
    goDown(system);
    post(bmc, system);
  };

  /** What is booted; an override for one time is used up. */
  function bootOf(bmc: Bmc, system: System): Boot {
    const { boot, media, pendingBoot } = system;
    if (pendingBoot) Object.assign(boot, pendingBoot);
    system.pendingBoot = null;
    const subject = { method: '', route: '', bmc: bmc.name, system: system.name };
    const base = { mode: boot.mode, image: null, httpBootUri: null, source: 'Hdd' } as const;
    const disk: Boot = { ...base, installer: 'works' };
    if (boot.enabled === 'Disabled') return disk;
    const [installer] = faults.strike(['installer'], subject);
    const found: Boot = { ...base, installer: installer?.effect.does ?? 'works' };
    const { target, httpBootUri } = boot;
    const isSticky = faults.strike(
      ['override'],
      subject,
      ({ does }) => does === 'sticky' && boot.enabled === 'Once',
    );
    if (boot.enabled === 'Once' && isSticky.length === 0) {
      boot.enabled = 'Disabled';
      boot.target = 'None';
    }
    if (target === 'Cd' || target === 'UsbCd') {
      const disc = media.find(({ types, inserted }) => inserted && /CD|DVD/.test(types.join()));
      const isReached = target === profile.cdTarget && disc !== undefined;
      return isReached ? { ...found, source: target, image: disc.image } : disk;
    }
    if (target === 'UefiHttp') return { ...found, source: target, httpBootUri };
    return target === 'None' || target === 'Hdd' ? disk : { ...found, source: target };
  }

  /** Software that hangs does not hear of it. */
  const gracefully = (system: System, then: () => void) =>
    later(system, timings.gracefulMs, () => {
      if (hooks?.heeds?.(system.name) !== false) then();
    });
  const shutDown = (system: System) => gracefully(system, () => turnOff(system));
  const acts: Record<ResetType, (bmc: Bmc, system: System) => void> = {
    On: (bmc, system) => {
      if (system.power === 'Off' || system.power === 'PoweringOff') turnOn(bmc, system);
    },
    ForceOn: (bmc, system) => acts.On(bmc, system),
    ForceOff: (_bmc, system) => {
      if (system.power !== 'Off') turnOff(system);
    },
    GracefulShutdown: (_bmc, system) => shutDown(system),
    GracefulRestart: (bmc, system) => gracefully(system, () => restart(bmc, system)),
    ForceRestart: restart,
    PowerCycle: (bmc, system) => turnOff(system, () => turnOn(bmc, system)),
    FullPowerCycle: (bmc, system) => {
      turnOff(system, () => turnOn(bmc, system));
      restartBmc(bmc, timings.bmcRestartMs);
    },
    PushPowerButton: (bmc, system) =>
      system.power === 'Off' ? turnOn(bmc, system) : shutDown(system),
    /** What a crashed kernel does then is the host's business. */
    Nmi: () => undefined,
  };

  function restartBmc(bmc: Bmc, takesMs: number): void {
    bmc.restart = { deafUntilMs: now() + takesMs / 3, doneAtMs: now() + takesMs };
    bmc.isHanging = false;
    bmc.sessions.clear();
    bmc.tasks.clear();
    bmc.failedLogins = 0;
    bmc.lockedUntilMs = 0;
    for (const system of bmc.systems) {
      note(system, { atMs: now(), severity: 'Warning', text: 'The BMC was restarted.' });
      const subject = { method: '', route: '', bmc: bmc.name, system: system.name };
      const isLost = ({ does }: { does: string }) => does === 'lostAtRestart';
      if (faults.strikeOne(['assetTag'], subject, isLost)) system.assetTag = '';
    }
  }

  /** Calls may bring about others. */
  async function settled(): Promise<void> {
    for (let known = -1; known !== tellCount;) {
      known = tellCount;
      await Promise.all(told.values());
      await hooks?.settled?.();
    }
  }

  return {
    start(bmc, system) {
      set(system, 'On');
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
