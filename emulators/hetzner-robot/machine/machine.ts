import type { Activity } from '../../kit/activity.ts';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { EmulatorLog } from '../../kit/log.ts';
import type { Play, Played } from '../../hosts/commands.ts';
import { createDoor } from '../../hosts/door.ts';
import type { HostDoor } from '../../hosts/host.ts';
import { generateHostKey, readKey } from '../../hosts/keys.ts';
import { listenSsh } from '../../hosts/ssh-server.ts';
import type { EffectOf, FaultEffect, Faults } from '../fault-rules.ts';
import type { Files } from '../shell/files.ts';
import type { Host, Program } from '../shell/process.ts';
import { armed, type BootConfig, type ResetType, type Server } from '../world.ts';
import { BOOT_ID_PATH, IMAGES, mountKernel, rescueTree, systemTree } from './disk-tree.ts';
import type { DiskHosts } from './disk-hosts.ts';
import { blankDrive, type Drive, type NamedDrive } from './drives.ts';
import { powerPrograms } from './power-programs.ts';
import { rescuePrograms } from './rescue-programs.ts';
import {
  playLine,
  playWords,
  runQuietly,
  type System,
  type SystemDeps,
  visitOf,
} from './system.ts';
import type { Timings } from './timings.ts';
import { scriptsOf, wantedUnits } from './units.ts';

/** What a machine does now. `nothing`: there is nothing that it could boot. */
export type Phase = 'off' | 'post' | 'starting' | 'rescue' | 'disk' | 'nothing' | 'ending';

export interface MachineState {
  readonly power: 'on' | 'off';
  readonly phase: Phase;
  /** Null: nothing runs. */
  readonly bootId: string | null;
  readonly hostname: string | null;
  readonly boots: number;
  readonly installs: number;
  /** A technician was asked to come. */
  readonly isManual: boolean;
  /** What each drive holds, by WWN. */
  readonly drives: Readonly<Record<string, 'nothing' | 'system'>>;
  /** Resets that were taken, oldest first. */
  readonly resets: readonly { readonly atMs: number; readonly type: ResetType }[];
}

export interface Machine {
  state(): MachineState;
  reset(type: ResetType): void;
  /** By the network: turns it on. */
  wake(): void;
  /** What is on the drive that it boots; null: nothing. */
  disk(): Files | null;
  /** Carries out a command line on what runs, as SSH would. @throws {Error} nothing runs. */
  console(line: string, stdin: string): Promise<Played>;
  /** The kernel ends: nothing is heeded but the reset button and the power. */
  crash(): void;
  /** A command for the system that others play; undefined: it does not run. */
  play(argv: readonly string[]): Play | undefined;
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface MachineDeps {
  readonly clock: EmulatorClock;
  readonly timings: Timings;
  readonly pace: number;
  readonly faults: Faults;
  readonly activity: Activity;
  readonly log: EmulatorLog;
  readonly uuid: () => string;
  /** Where SSH answers; null: nobody reaches it. */
  readonly place: { readonly address: string; readonly port: number } | null;
  readonly hosts: DiskHosts | undefined;
}

const MANUAL_MS = 30 * 60_000;

export function createMachine(server: Server, deps: MachineDeps): Machine {
  const { clock, timings, faults, activity, log, place, hosts } = deps;
  const drives: Drive[] = server.drives.map(blankDrive);
  const device = String(server.number);
  let power: 'on' | 'off' = 'on';
  let phase: Phase = 'post';
  let system: System | null = null;
  let boots = 0;
  let installs = 0;
  let isCrashed = false;
  let manualUntilMs = 0;
  let timer: unknown;
  const resets: { atMs: number; type: ResetType }[] = [];
  /** Systems whose first boot is still to come. */
  const fresh = new WeakSet<Files>();
  /** Those that others play. */
  const played = new WeakSet<Files>();
  let told: Promise<void> = Promise.resolve();

  const strike = <T extends FaultEffect['type']>(
    type: T,
    fits?: (effect: EffectOf<T>) => boolean,
  ): EffectOf<T> | undefined =>
    faults.strikeOne([type], { method: '', route: '', server: server.number }, fits)?.effect;

  /** One after another. */
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
    run: activity.run,
    hangs: () => isCrashed || strike('commandHangs') !== undefined,
  };
  const door: HostDoor | null =
    place &&
    createDoor({
      what: 'SSH',
      log,
      where: () => place,
      inTurn: tell,
      listen: () =>
        listenSsh({ ...place, log, visit: () => system && visitOf(system, systemDeps) }),
    });

  function halt(): void {
    clock.clearTimeout(timer);
    const ended = system;
    system = null;
    isCrashed = false;
    ended?.end();
    void tell(async () => {
      await door?.close();
      if (hosts && ended?.kind === 'disk') await hosts.down(device);
    });
  }

  function boot(): void {
    halt();
    power = 'on';
    phase = 'post';
    later(timings.postMs, choose);
  }

  /** The network first, then the drives. */
  function choose(): void {
    const config = armed(server, clock.now());
    const named = namedDrives();
    if (config && !strike('bootsDisk')) {
      server.boot = null;
      config.bootedMs = clock.now();
      phase = 'starting';
      if (config.kind === 'linux') later(timings.installMs, () => installStock(config));
      else later(timings.rescueBootMs - timings.postMs, () => startRescue(config, named));
      return;
    }
    const files = named.find(({ drive }) => drive.system)?.drive.system;
    if (!files) {
      phase = 'nothing';
      return;
    }
    phase = 'starting';
    later(timings.diskBootMs - timings.postMs, () => startDisk(files, named));
  }

  /** As this boot's kernel finds and names them. */
  function namedDrives(): NamedDrive[] {
    const missing = strike('drive', ({ does }) => does === 'missing');
    const renamed = strike('drive', ({ does }) => does === 'renamed');
    const names = drives.map(({ name }) => name);
    if (renamed) names.push(names.shift()!);
    return drives
      .map((drive, n) => ({ name: names[n]!, drive }))
      .filter((_one, n) => !missing || n !== (missing.drive ?? 0));
  }

  function newSystem(
    kind: System['kind'],
    files: Files,
    named: readonly NamedDrive[],
    programs: Readonly<Record<string, Program>>,
  ): System {
    const ending = new AbortController();
    const bootId = deps.uuid();
    let hostname = files.read('/etc/hostname').trim();
    mountKernel(files, bootId, named);
    const host: Host = {
      files,
      signal: ending.signal,
      hostname: () => hostname,
      setHostname: (name) => void (hostname = name),
      now: clock.now,
      sleep: (ms) => sleep(ms / deps.pace, ending.signal),
      apart: activity.apart,
      programs: { ...powerPrograms({ reboot, powerOff }), ...programs },
      background(work) {
        activity.run(async () => {
          try {
            await work;
          } catch (err) {
            if (!ending.signal.aborted) log.error({ err }, 'a job failed');
          }
        });
      },
    };
    const end = () => ending.abort(new Error('the machine ended'));
    return { kind, bootId, host, end };
  }

  const HOUR_MS = 3_600_000;
  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    for (let left = ms; left > 0; left -= HOUR_MS) {
      await activity.wait(clock, Math.min(left, HOUR_MS), signal);
    }
  }

  function startRescue({ hostKey, keys }: BootConfig, named: readonly NamedDrive[]): void {
    const does = strike('rescueKeys')?.does;
    const lines =
      does === 'none' ? [] : does === 'foreign' ? [foreignKey()] : keys.map(({ data }) => data);
    const gone = strike('imageGone');
    const images = IMAGES.filter((image) => !gone || (gone.image ?? image) !== image);
    const files = rescueTree({ hostname: 'rescue', hostKey, authorizedKeys: lines }, images);
    const programs = rescuePrograms({
      drives: named,
      installMs: timings.installMs * deps.pace,
      fault: () => strike('installimage')?.does,
      installed() {
        installs++;
        const installed = named.find(({ drive }) => drive.system)!.drive.system!;
        fresh.add(installed);
        if (hosts) handOver(installed, hosts);
      },
    });
    boots++;
    phase = 'rescue';
    system = newSystem('rescue', files, named, programs);
    void tell(() => door?.open());
  }

  /** Others play what was installed. */
  function handOver(files: Files, to: DiskHosts): void {
    played.add(files);
    const scripts = scriptsOf(files, wantedUnits(files, true));
    const installed = {
      id: device,
      hostname: files.read('/etc/hostname').trim(),
      authorizedKeys: files.read('/root/.ssh/authorized_keys').split('\n').filter(Boolean),
      userdata: scripts[0] ?? null,
    };
    void tell(() => to.reinstalled(device, installed));
  }

  function startDisk(files: Files, named: readonly NamedDrive[]): void {
    boots++;
    const started = newSystem('disk', files, named, {});
    system = started;
    phase = 'disk';
    const isFirst = fresh.delete(files);
    const units = wantedUnits(files, isFirst);
    const play = async (isBeforeSsh: boolean) => {
      for (const unit of units.filter((one) => one.isBeforeSsh === isBeforeSsh)) {
        for (const line of unit.commands) {
          const status = await runQuietly(line.replace(/^[-@+!]+/, ''), started.host);
          if (status !== 0 && !line.startsWith('-')) break;
        }
      }
    };
    started.host.background(
      (async () => {
        await play(true);
        if (system !== started) return;
        const plays = hosts && played.has(files);
        await tell(() => (plays ? hosts.up(device) : door?.open()));
        if (plays) takeBootId(started, hosts.bootId?.(device));
        await play(false);
      })(),
    );
  }

  /** Others play the boot, so theirs is its id. */
  function takeBootId(started: System, bootId: string | undefined): void {
    if (bootId === undefined) return;
    started.bootId = bootId;
    started.host.files.write(BOOT_ID_PATH, `${bootId}\n`);
  }

  function installStock({ keys }: BootConfig): void {
    const files = systemTree({
      hostname: server.name,
      hostKey: generateHostKey(),
      authorizedKeys: keys.map(({ data }) => data),
    });
    for (const drive of drives) Object.assign(drive, { system: files, partitions: 2 });
    installs++;
    boot();
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

  if (server.first === 'stranger') {
    const files = systemTree({
      hostname: `old-${server.number}`,
      hostKey: generateHostKey(),
      authorizedKeys: [foreignKey()],
    });
    for (const drive of drives) Object.assign(drive, { system: files, partitions: 3 });
    startDisk(files, namedDrives());
  } else phase = 'nothing';

  return {
    state: () => ({
      power,
      phase,
      bootId: system?.bootId ?? null,
      hostname: system?.host.hostname() ?? null,
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
    wake: () => void (power === 'off' && boot()),
    disk: () => drives.find((drive) => drive.system)?.system ?? null,
    async console(line, stdin) {
      if (!system) throw new Error(`nothing runs on machine ${device}`);
      return playLine(line, system.host, systemDeps)(Buffer.from(stdin));
    },
    play: (argv) =>
      system?.kind === 'disk' && phase === 'disk'
        ? playWords(argv, system.host, systemDeps)
        : undefined,
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
