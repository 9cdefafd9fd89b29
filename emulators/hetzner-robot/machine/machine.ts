import { randomUUID } from 'node:crypto';
import type { Activity } from '../../kit/activity.ts';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { Play } from '../../hosts/commands.ts';
import { createHostListener } from '../../hosts/listener.ts';
import type { HostListener } from '../../hosts/host.ts';
import { generateHostKey, readKey } from '../../hosts/keys.ts';
import { listenSsh } from '../../hosts/ssh-server.ts';
import type { RobotFaultEffect, RobotEffectOf, RobotFaultRules } from '../api.ts';
import { armed, type BootConfig, type ResetType, type RobotServer } from '../world.ts';
import {
  AUTHORIZED_KEYS_PATH,
  BOOT_ID_PATH,
  type Drive,
  IMAGES,
  rescueTree,
  systemTree,
  type Tree,
} from './disk.ts';
import { powerPrograms, rescuePrograms } from './programs.ts';
import {
  keysOf,
  playLine,
  startSystem,
  type BootedSystem,
  type SystemDeps,
  visitOf,
} from './system.ts';
import { scriptOf, wantedUnits } from './units.ts';

/** Simulates the systems on drives, outside this emulator. */
export interface DiskHosts {
  /** A system was installed and not booted yet. */
  reinstalled(device: string, system: InstalledSystem): Promise<void>;
  up(device: string): Promise<void>;
  down(device: string): Promise<void>;
  /** Id of its last boot. */
  bootId?(device: string): string | undefined;
  isHanging?(device: string): boolean;
}
export interface InstalledSystem {
  readonly id: string;
  readonly hostname: string;
  readonly authorizedKeys: readonly string[];
  /** Script of its first boot. */
  readonly userdata: string | null;
}

/** Durations, milliseconds. */
export interface RobotTimings {
  /** From the reset to the network boot request. */
  readonly postMs: number;
  /** From the reset until the rescue system answers. */
  readonly rescueBootMs: number;
  /** Duration of installimage, and of an unattended installation. */
  readonly installMs: number;
  /** From the reset until the system on the drives answers. */
  readonly diskBootMs: number;
  /** From Ctrl+Alt+Del or the power button to the end of the system. */
  readonly gracefulMs: number;
}

export const REAL_TIMINGS: RobotTimings = {
  postMs: 60_000,
  rescueBootMs: 180_000,
  installMs: 120_000,
  diskBootMs: 90_000,
  gracefulMs: 20_000,
};

/** The machine's activity. `nothing`: it has nothing to boot. */
export type Phase = 'off' | 'post' | 'starting' | 'rescue' | 'disk' | 'nothing' | 'ending';

export interface MachineState {
  readonly power: 'on' | 'off';
  readonly phase: Phase;
  /** Null: nothing runs. */
  readonly bootId: string | null;
  readonly hostname: string | null;
  readonly boots: number;
  readonly installs: number;
  /** Whether a technician was requested. */
  readonly isManual: boolean;
  /** Content of each drive, by WWN. */
  readonly drives: Readonly<Record<string, 'nothing' | 'system'>>;
  /** Accepted resets, oldest first. */
  readonly resets: readonly { readonly atMs: number; readonly type: ResetType }[];
}

export interface RobotMachine {
  state(): MachineState;
  reset(type: ResetType): void;
  /** Crashes the kernel: only the reset button and the power still work. */
  crash(): void;
  /** A script on standard input for a system that others simulate; undefined: it does not run. */
  playScript(): Play | undefined;
  /** The running system, for clients without a network; null: none. */
  answering(): RunningSystem | null;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** A running system as SSH shows it. */
export interface RunningSystem {
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** Whether it accepts this key, a line of OpenSSH. */
  authorizes(line: string): Promise<boolean>;
  readonly play: (line: string) => Play;
  /** Aborts at the end of the system, after which nothing is answered. */
  readonly ended: AbortSignal;
}

export interface MachineDeps {
  readonly clock: EmulatorClock;
  readonly timings: RobotTimings;
  readonly pace: number;
  readonly faults: RobotFaultRules;
  readonly activity: Activity;
  readonly log: EmulatorLog;
  /** Address of SSH. */
  readonly place: { readonly address: string; readonly port: number };
  readonly hosts: DiskHosts | undefined;
  /** Nobody listens for SSH, because the network is in memory. */
  readonly isWithoutSsh: boolean;
}

const MANUAL_MS = 30 * 60_000;
const HOUR_MS = 3_600_000;

export function createMachine(server: RobotServer, deps: MachineDeps): RobotMachine {
  const { clock, timings, faults, activity, log, place, hosts, isWithoutSsh } = deps;
  const drives: Drive[] = server.drives.map((seed) => ({ ...seed, partitions: 0, system: null }));
  const device = String(server.number);
  let power: 'on' | 'off' = 'on';
  let phase: Phase = 'post';
  let system: BootedSystem | null = null;
  let boots = 0;
  let installs = 0;
  let isCrashed = false;
  let manualUntilMs = 0;
  let timer: unknown;
  const resets: { atMs: number; type: ResetType }[] = [];
  /** Systems that others simulate. */
  const played = new WeakSet<Tree>();
  let told: Promise<void> = Promise.resolve();

  const strike = <T extends RobotFaultEffect['type']>(
    type: T,
    fits?: (effect: RobotEffectOf<T>) => boolean,
  ): RobotEffectOf<T> | undefined =>
    faults.strikeOne([type], { method: '', route: '', server: server.number }, fits)?.effect;

  /** One call after another. */
  const tell = (what: () => Promise<void> | undefined) => {
    told = told.then(what).catch((err: unknown) => {
      log.error({ err, machine: server.number }, 'a machine could not be changed');
    });
    return told;
  };
  const later = (delayMs: number, then: () => void) => {
    clock.clearTimeout(timer);
    timer = clock.setTimeout(then, delayMs);
  };

  const systemDeps: SystemDeps = {
    log,
    activity,
    sleep: async (ms, signal) => {
      for (let left = ms / deps.pace; left > 0; left -= HOUR_MS) {
        await activity.wait(clock, Math.min(left, HOUR_MS), signal);
      }
    },
    hangs: () => isCrashed || strike('commandHangs') !== undefined,
  };
  const listener: HostListener = createHostListener({
    what: 'SSH',
    log,
    where: () => place,
    inTurn: tell,
    listen: async () =>
      isWithoutSsh
        ? { freeze: () => undefined, close: async () => undefined }
        : listenSsh({ ...place, log, visit: () => system && visitOf(system, systemDeps) }),
  });

  function halt(): void {
    clock.clearTimeout(timer);
    const ended = system;
    system = null;
    isCrashed = false;
    ended?.end();
    void tell(async () => {
      await listener.close();
      if (hosts && ended?.kind === 'disk') await hosts.down(device);
    });
  }

  function boot(): void {
    halt();
    power = 'on';
    phase = 'post';
    later(timings.postMs, choose);
  }

  /** Tries the network first, then the drives. */
  function choose(): void {
    const config = armed(server, clock.now());
    if (config && !strike('bootsDisk')) {
      server.boot = null;
      phase = 'starting';
      later(timings.rescueBootMs - timings.postMs, () => startRescue(config));
      return;
    }
    const tree = drives.find((drive) => drive.system)?.system;
    if (!tree) {
      phase = 'nothing';
      return;
    }
    phase = 'starting';
    later(timings.diskBootMs - timings.postMs, () => startDisk(tree));
  }

  function start(
    kind: BootedSystem['kind'],
    tree: Tree,
    programs: Parameters<typeof startSystem>[1] = () => ({}),
  ): BootedSystem {
    boots++;
    phase = kind;
    const power = powerPrograms({ reboot, powerOff });
    const all: typeof programs = (sleep) => ({ ...power, ...programs(sleep) });
    return (system = startSystem({ kind, tree, bootId: randomUUID() }, all, systemDeps));
  }

  function startRescue({ hostKey, keys }: BootConfig): void {
    const does = strike('rescueKeys')?.does;
    const lines =
      does === 'none' ? [] : does === 'foreign' ? [foreignKey()] : keys.map(({ data }) => data);
    const tree = rescueTree(hostKey, lines, IMAGES);
    const started: BootedSystem = start('rescue', tree, (sleep) =>
      rescuePrograms({
        drives,
        files: tree.files,
        installMs: timings.installMs * deps.pace,
        sleep,
        fault: () => strike('installimage')?.does,
        runInside: (installed, path) => started.shellIn(installed)(path),
        installed(installed) {
          installs++;
          if (hosts) handOver(installed, hosts);
        },
      }),
    );
    void tell(() => listener.open());
  }

  /** Hands the installed system over to the other simulator. */
  function handOver(tree: Tree, to: DiskHosts): void {
    played.add(tree);
    const { files, hostname } = tree;
    void tell(async () => {
      const keys = await files.readFile(AUTHORIZED_KEYS_PATH);
      const userdata = await scriptOf(files, await wantedUnits(files));
      const authorizedKeys = keys.split('\n').filter(Boolean);
      await to.reinstalled(device, { id: device, hostname, authorizedKeys, userdata });
    });
  }

  function startDisk(tree: Tree): void {
    const started = start('disk', tree);
    const bootUp = async () => {
      for (const commands of await wantedUnits(tree.files)) {
        for (const line of commands) {
          if ((await started.shell(line)).exitCode !== 0) break;
        }
      }
      if (system !== started) return;
      const plays = hosts && played.has(tree);
      await tell(() => (plays ? hosts.up(device) : listener.open()));
      if (plays) takeBootId(started, hosts.bootId?.(device));
    };
    started.background(bootUp());
  }

  /** Others simulate the boot, so their boot id counts. */
  function takeBootId(started: BootedSystem, bootId: string | undefined): void {
    if (bootId === undefined) return;
    started.bootId = bootId;
    started.tree.files.writeFileSync(BOOT_ID_PATH, `${bootId}\n`);
  }

  const isAlive = () =>
    (phase === 'rescue' || phase === 'disk') &&
    !isCrashed &&
    !(hosts?.isHanging?.(device) ?? false);

  function powerOff(): void {
    halt();
    power = 'off';
    phase = 'off';
  }
  function reboot(): void {
    phase = 'ending';
    later(timings.gracefulMs, boot);
  }

  const acts: Readonly<Record<ResetType, () => void>> = {
    sw: () => void (isAlive() && reboot()),
    hw: () => void (power === 'on' && boot()),
    power() {
      if (power === 'off') boot();
      else if (isAlive()) {
        phase = 'ending';
        later(timings.gracefulMs, powerOff);
      }
    },
    power_long: powerOff,
    man() {
      manualUntilMs = clock.now() + MANUAL_MS;
    },
  };

  if (server.first !== 'nothing') {
    const hostname = `old-${server.number}`;
    const tree = systemTree({ hostname, hostKey: generateHostKey() }, [
      foreignKey(),
      ...server.keys,
    ]);
    for (const drive of drives) Object.assign(drive, { system: tree, partitions: 3 });
    if (server.first === 'host') played.add(tree);
    startDisk(tree);
  } else phase = 'nothing';

  return {
    state: () => ({
      power,
      phase,
      bootId: system?.bootId ?? null,
      hostname: system?.tree.hostname ?? null,
      boots,
      installs,
      isManual: clock.now() < manualUntilMs,
      drives: Object.fromEntries(
        drives.map(({ wwn, system: files }) => [wwn, files ? 'system' : 'nothing'] as const),
      ),
      resets: [...resets],
    }),
    reset(type) {
      resets.push({ atMs: clock.now(), type });
      acts[type]();
    },
    playScript: () =>
      system && phase === 'disk' ? playLine('sh -s', system, systemDeps) : undefined,
    answering() {
      const running = system;
      if (!running) return null;
      return {
        hostKey: running.tree.hostKey,
        ended: running.ended,
        async authorizes(line) {
          const wanted = readKey(line).getPublicSSH();
          const keys = await keysOf(running.tree, log);
          return keys.some((key) => key.getPublicSSH().equals(wanted));
        },
        play: (line) => playLine(line, running, systemDeps),
      };
    },
    crash: () => void (isCrashed = system !== null),
    settled: () => told,
    async close() {
      halt();
      await told;
    },
  };
}

function foreignKey(): string {
  const key = readKey(generateHostKey());
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}
