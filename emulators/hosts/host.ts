/** What an installation puts on a host, which its reboots leave as it is. */
export interface HostSystem {
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** Lines of `authorized_keys`. */
  readonly authorizedKeys: readonly string[];
  /** What the first boot of an installation reads. */
  readonly userdata?: string | null;
  /** Who may log in. Default: root. */
  readonly user?: string;
  /** Whether that has happened. */
  readonly initialized?: boolean;
}

/** What a host keeps without power. */
export interface HostDisk {
  /** Nothing is on it any more. */
  wipe(): Promise<void>;
  /** Before anything runs: what was in memory is gone, and the boot has this id. */
  boot(bootId: string): Promise<void>;
  /** Plays the script of the first boot. Never rejects for what it says. */
  runScript(script: string): Promise<void>;
  /** The power is gone. */
  halt?(): void;
}

/** What runs on a host: its agent, and whatever was started over SSH. */
export interface HostPrograms {
  /** Ends all of it, as the loss of power does. Answers how many there were. */
  end(): Promise<number>;
  /** Nothing of it gets on until `false`. */
  freeze?(on: boolean): void;
  /** Ends what an earlier process of ours left behind; before the first boot. */
  discard?(): Promise<void>;
  /** After the first boot: what ran when an earlier process ended runs again. */
  resume?(): Promise<void>;
}

/** Where a host answers. Opening what is open, and closing what is not, changes nothing. */
export interface HostDoor {
  open(): Promise<void>;
  /** Breaks all connections; there are no new ones. */
  close(): Promise<void>;
  /** While frozen, connections are accepted and never answered. */
  freeze?(on: boolean): void;
}

/** Of what a host is made. Each part is asked for one thing at a time. */
export interface HostParts<System extends HostSystem> {
  readonly disk: HostDisk;
  readonly programs: HostPrograms;
  readonly door: HostDoor;
  /** What it does for others than its operators; who refuses SSH serves all the same. */
  readonly service?: HostDoor | undefined;
  readonly newBootId: () => string;
  /** Of its last boot in an earlier process. */
  readonly bootId?: string | undefined;
  /** Called with each change of the system. */
  readonly save?: (system: System) => Promise<void>;
}

/** How a host refuses SSH: the port is closed, or no key is good enough. */
export type SshRefusal = 'connection' | 'key';

export interface BootTally {
  /** Power came and the operating system started. */
  readonly boots: number;
  /** Operating systems installed anew; the first one is not counted. */
  readonly installs: number;
}

export interface HostState {
  readonly up: boolean;
  /** Changes with every boot; absent before the first one. */
  readonly bootId: string | undefined;
  readonly hanging: boolean;
  readonly refusing: SshRefusal | undefined;
  /** It has no power, whatever is asked of it. */
  readonly powerless: boolean;
  readonly seen: BootTally;
}

/**
 * A pretended machine: its power, its boots and its operating system, and what can go wrong with
 * them. Its calls run one after another, whoever makes them.
 */
export interface Host<System extends HostSystem> {
  readonly system: () => System;
  readonly state: () => HostState;
  /** After all that was asked before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Of a host that is not closed. */
  update(change: Partial<System>): Promise<void>;
  on(): Promise<void>;
  off(): Promise<void>;
  /** Off and on again, if it is on. */
  reboot(): Promise<void>;
  /** Ends off, with an empty disk; the next boot is a first one again. */
  install(change: Partial<System> & Pick<HostSystem, 'hostKey'>): Promise<void>;
  /** Ends off for good. */
  remove(): Promise<void>;
  /** All that runs on it ends; the host itself stays up. Answers how many ended. */
  loseAgent(): Promise<number>;
  /** Power is gone and comes with nothing that is asked, until `false`: then it boots if it was on. */
  losePower(on: boolean): Promise<void>;
  /** It freezes: connections are not answered, nothing runs on. Ends with `false`, and when off. */
  hang(on: boolean): Promise<void>;
  /** It lets nobody in, over reboots too, until undefined. */
  refuse(how: SshRefusal | undefined): Promise<void>;
  /** Answers nobody from now on, and is never on again; what runs is left to the caller. */
  close(): Promise<void>;
}

/** Starts off, whatever it was in an earlier process. */
export function createHost<System extends HostSystem>(
  initial: System,
  { disk, programs, door, service, ...parts }: HostParts<System>,
): Host<System> {
  let system = initial;
  let { bootId } = parts;
  let isOn = false;
  let isWanted = false;
  let isPowerless = false;
  let isHanging = false;
  let isClosed = false;
  /** What an earlier process left may still run. */
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

  /** Another one than before, even when the source of chance started over with its old seed. */
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
    if (refusing !== 'connection') await door.open();
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
    await door.close();
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
    door.freeze?.(on);
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
        if (how === 'connection') await door.close();
        else if (isOn) await door.open();
      }),
    close: () => {
      isClosed = true;
      isOn = false;
      disk.halt?.();
      return inTurn(async () => {
        await service?.close();
        await door.close();
      });
    },
  };
}
