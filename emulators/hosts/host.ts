/** An installation's content, which reboots keep. */
export interface HostSystem {
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** Lines of `authorized_keys`. */
  readonly authorizedKeys: readonly string[];
  /** Input of an installation's first boot. */
  readonly userdata?: string | null;
  /** Login user. Default: root. */
  readonly user?: string;
  /** Whether the first boot has happened. */
  readonly initialized?: boolean;
}

/** A host's persistent storage. */
export interface HostDisk {
  /** Erases everything. */
  wipe(): Promise<void>;
  /** Prepares a boot: deletes files in memory, and sets the boot id. */
  boot(bootId: string): Promise<void>;
  /** Plays the script of the first boot. Never rejects because of the script. */
  runScript(script: string): Promise<void>;
  /** Power loss. */
  halt?(): void;
}

/** A host's programs: its agent, and everything started over SSH. */
export interface HostPrograms {
  /** Ends all of them, as a power loss does. @returns their number. */
  end(): Promise<number>;
  /** Stops their progress until `false`. */
  freeze?(on: boolean): void;
  /** Ends programs that an earlier process of ours left, before the first boot. */
  discard?(): Promise<void>;
  /** After the first boot: restarts programs that ran when an earlier process ended. */
  resume?(): Promise<void>;
}

/** A host's listener. Opening and closing are idempotent. */
export interface HostListener {
  open(): Promise<void>;
  /** Breaks all connections and accepts no more. */
  close(): Promise<void>;
  /** While frozen, connections are accepted and never answered. */
  freeze?(on: boolean): void;
}

/** The parts of a host. Each part handles one call at a time. */
export interface HostParts<System extends HostSystem> {
  readonly disk: HostDisk;
  readonly programs: HostPrograms;
  readonly listener: HostListener;
  /** The host's service for clients, which works even while it refuses SSH. */
  readonly service?: HostListener | undefined;
  readonly newBootId: () => string;
  /** Boot id from an earlier process. */
  readonly bootId?: string | undefined;
  /** Called with each change of the system. */
  readonly save?: (system: System) => Promise<void>;
}

/** How a host refuses SSH: the port is closed, or every key is rejected. */
export type SshRefusal = 'connection' | 'key';

export interface BootTally {
  /** Number of boots. */
  readonly boots: number;
  /** Number of reinstallations, without the first installation. */
  readonly installs: number;
}

export interface HostState {
  readonly up: boolean;
  /** Changes at every boot; absent before the first. */
  readonly bootId: string | undefined;
  readonly hanging: boolean;
  readonly refusing: SshRefusal | undefined;
  /** It has no power, whatever is requested. */
  readonly powerless: boolean;
  readonly seen: BootTally;
}

/**
 * A simulated machine: its power, boots and operating system, with their faults. Its calls run one
 * after another.
 */
export interface Host<System extends HostSystem> {
  readonly system: () => System;
  readonly state: () => HostState;
  /** After all earlier calls. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Only for a host that is not closed. */
  update(change: Partial<System>): Promise<void>;
  on(): Promise<void>;
  off(): Promise<void>;
  /** Powers it off and on again, if it is on. */
  reboot(): Promise<void>;
  /** Leaves it off with an empty disk; the next boot is a first boot. */
  install(change: Partial<System> & Pick<HostSystem, 'hostKey'>): Promise<void>;
  /** Leaves it off for good. */
  remove(): Promise<void>;
  /** Ends all programs; the host stays up. @returns their number. */
  loseAgent(): Promise<number>;
  /** Cuts the power, whatever is requested, until `false`: then it boots if it was on. */
  losePower(on: boolean): Promise<void>;
  /**
   * Freezes it: connections get no answer, and nothing runs. Ends with `false` and with power off.
   */
  hang(on: boolean): Promise<void>;
  /** Refuses all logins, also after reboots, until undefined. */
  refuse(how: SshRefusal | undefined): Promise<void>;
  /** Answers nobody from now on, and never powers on again. The caller ends running programs. */
  close(): Promise<void>;
}

/** Initially off, whatever its state in an earlier process. */
export function createHost<System extends HostSystem>(
  initial: System,
  { disk, programs, listener, service, ...parts }: HostParts<System>,
): Host<System> {
  let system = initial;
  let { bootId } = parts;
  let isOn = false;
  let isWanted = false;
  let isPowerless = false;
  let isHanging = false;
  let isClosed = false;
  /** Programs of an earlier process may still run. */
  let isUnknown = true;
  let refusing: SshRefusal | undefined;
  const seen = { boots: 0, installs: 0 };
  let last: Promise<unknown> = Promise.resolve();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };

  async function update(change: Partial<System>): Promise<void> {
    if (isClosed) return;
    system = { ...system, ...change };
    await parts.save?.(system);
  }

  /** A different id than before, even when the random source restarted with its old seed. */
  function nextBootId(): string {
    for (;;) {
      const next = parts.newBootId();
      if (next !== bootId) return next;
    }
  }

  async function boot(): Promise<void> {
    bootId = nextBootId();
    await disk.boot(bootId);
    if (!system.initialized) {
      await disk.runScript(system.userdata ?? '');
      await update({ initialized: true } as Partial<System>);
    }
    isOn = true;
    seen.boots += 1;
    if (refusing !== 'connection') await listener.open();
    await service?.open();
  }

  async function powerOn(): Promise<void> {
    isWanted = true;
    if (isOn || isClosed || isPowerless) return;
    const isFirst = isUnknown;
    isUnknown = false;
    if (isFirst) await programs.discard?.();
    await boot();
    if (isFirst) await programs.resume?.();
  }

  async function powerOff(): Promise<void> {
    const mayRun = isOn || isUnknown;
    isOn = false;
    disk.halt?.();
    await service?.close();
    await listener.close();
    if (isUnknown) await programs.discard?.();
    isUnknown = false;
    if (mayRun) await programs.end();
    if (isHanging) freeze(false);
  }

  async function switchOff(): Promise<void> {
    isWanted = false;
    await powerOff();
  }

  function freeze(on: boolean): void {
    isHanging = on;
    listener.freeze?.(on);
    service?.freeze?.(on);
    programs.freeze?.(on);
  }

  return {
    inTurn,
    system: () => system,
    state: () => ({
      up: isOn,
      bootId,
      hanging: isHanging,
      refusing,
      powerless: isPowerless,
      seen: { ...seen },
    }),
    update: (change) => inTurn(() => update(change)),
    on: () => inTurn(powerOn),
    off: () => inTurn(switchOff),
    reboot: () =>
      inTurn(async () => {
        if (!isOn) return;
        await powerOff();
        await powerOn();
      }),
    install: (change) =>
      inTurn(async () => {
        await switchOff();
        seen.installs += 1;
        bootId = undefined;
        await disk.wipe();
        await update({ ...change, initialized: false });
      }),
    remove: () =>
      inTurn(async () => {
        await switchOff();
        isClosed = true;
      }),
    loseAgent: () => inTurn(() => programs.end()),
    losePower: (on) =>
      inTurn(async () => {
        isPowerless = on;
        if (on) await powerOff();
        else if (isWanted) await powerOn();
      }),
    hang: (on) =>
      inTurn(async () => {
        if (isOn && on !== isHanging) freeze(on);
      }),
    refuse: (how) =>
      inTurn(async () => {
        refusing = how;
        if (how === 'connection') await listener.close();
        else if (isOn) await listener.open();
      }),
    close: () => {
      isClosed = true;
      isOn = false;
      disk.halt?.();
      return inTurn(async () => {
        await service?.close();
        await listener.close();
      });
    },
  };
}
