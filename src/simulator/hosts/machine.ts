import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ssh2 from 'ssh2';
import type { ParsedKey } from 'ssh2';
import type { HostSnapshot, HostTally, HostsLog, HostsRandom, Refusal } from './options.ts';
import type { CommandContext } from './commands.ts';
import { playInitScript } from './init-script.ts';
import { agentInitVariable, createKeptAgent, launchAgent } from './kept-agent.ts';
import { createSpareDisk } from './disk.ts';
import { createLightMachine } from './light/machine.ts';
import { homeDirectory } from './paths.ts';
import { bootIdVariable, killAll, processesByMachine, signalProcess } from './processes.ts';
import { generateHostKey, publicHostKey, saveRecord } from './record.ts';
import type { MachineRecord } from './record.ts';
import { playShellStep } from './shell-steps.ts';
import { listenSsh } from './ssh-server.ts';
import type { SshServer } from './ssh-server.ts';

export interface MachineDeps {
  /** The machine's own directory: its record, and its disk below. */
  readonly home: string;
  readonly log: HostsLog;
  readonly random: HostsRandom;
  readonly nodeExecutable: string;
  readonly env: Readonly<Record<string, string>>;
  readonly light: boolean;
  /** Of a disk to install to; undefined: it has none. */
  readonly diskBytes?: number;
  /** Nobody else gets in. */
  readonly admitted?: readonly string[];
}

/** One simulated machine. Its calls run one after another, whoever makes them. */
export interface Machine {
  /** Value of {@link bootIdVariable} of everything that runs on it. */
  readonly bootIdFile: string;
  readonly record: () => MachineRecord;
  /** New name, keys or port; saved. The port counts from the next boot. */
  update(change: Partial<MachineRecord>): Promise<void>;
  up(): Promise<void>;
  down(): Promise<void>;
  /** Ends down, with an empty disk and a new host key; the next boot is a first one again. */
  reinstall(change: Partial<MachineRecord>): Promise<void>;
  /** Ends down; nothing is left of it. */
  remove(): Promise<void>;
  loseAgent(): Promise<number>;
  shortenAgents(lifeMs: number | undefined): void;
  losePower(on: boolean): Promise<void>;
  cut(on: boolean): void;
  hang(on: boolean): Promise<void>;
  refuse(how: Refusal | undefined): Promise<void>;
  snapshot(agentPids: readonly number[]): HostSnapshot;
  /** Closes the port for good and leaves the processes to the caller. */
  close(): Promise<void>;
}

type Tally = { -readonly [Key in keyof HostTally]: number };

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const portRetryMs = 250;

/** A machine that is switched off, whatever it was in an earlier run. */
export function createMachine(initial: MachineRecord, deps: MachineDeps): Machine {
  const { home, random } = deps;
  const { deviceId } = initial;
  const root = join(home, 'disk');
  const bootIdFile = join(root, 'proc/sys/kernel/random/boot_id');
  const fields = { device: deviceId };
  const kept = createKeptAgent(home);
  let record = initial;
  let powered = false;
  let hanging = false;
  let closed = false;
  let orphansPossible = true;
  let refusing: Refusal | undefined;
  let server: SshServer | undefined;
  let retry: NodeJS.Timeout | undefined;
  let powerless = false;
  let switchedOn = false;
  let lifeMs: number | undefined;
  let death: NodeJS.Timeout | undefined;
  const seen: Tally = { boots: 0, installs: 0, programs: 0, stops: 0 };
  let last: Promise<unknown> = Promise.resolve();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
  const pids = () => processesByMachine().get(bootIdFile) ?? [];
  const onProgram = (program: string) => {
    seen.programs += 1;
    doom();
    inTurn(() => recordProgram(program)).catch((err: unknown) =>
      deps.log.error({ ...fields, err }, 'what runs on the machine is not recorded'),
    );
  };
  const light = deps.light
    ? createLightMachine({
        deviceId,
        root,
        random,
        onProgram,
        kept,
        log: deps.log,
        powered: () => powered,
        bootId: () => readBootId(bootIdFile),
      })
    : undefined;
  const disk =
    deps.diskBytes === undefined
      ? undefined
      : createSpareDisk({ root, bootIdFile, sizeBytes: deps.diskBytes, onReboot: reboot });
  const context: CommandContext = {
    root,
    onProgram,
    powered: () => powered,
    play: (argv) => playShellStep(argv, { root, stopAgent }) ?? light?.play(argv),
    env: {
      ...deps.env,
      ...disk?.env,
      PATH: `${dirname(deps.nodeExecutable)}:${systemPath}`,
      HOME: join(root, homeDirectory),
      TMPDIR: join(root, 'tmp'),
      USER: 'root',
      LOGNAME: 'root',
      [bootIdVariable]: bootIdFile,
      [agentInitVariable]: kept.path,
    },
  };

  /** Ends all that runs on it. @returns how many there were. */
  async function endAgents(): Promise<number> {
    clearTimeout(death);
    const ended = light ? light.stopAgent() : await killAll(pids);
    await kept.forget();
    return ended;
  }

  /** It ran when an earlier simulator ended: as on machines that went on without one, it runs again. */
  async function startAgentAgain(): Promise<void> {
    const init = await kept.read();
    const { program } = record;
    if (!init || program === undefined) return;
    try {
      if (light) await light.startAgain(init);
      else await launchAgent({ root, env: context.env, program, init });
    } catch (err) {
      deps.log.error({ ...fields, err }, 'the agent of an earlier run cannot be started again');
    }
  }

  async function stopAgent(): Promise<void> {
    seen.stops += 1;
    await endAgents();
  }

  /** The program that starts now will not live long, if its machine is such. */
  function doom(): void {
    clearTimeout(death);
    if (lifeMs === undefined) return;
    death = setTimeout(() => {
      inTurn(endAgents).catch((err: unknown) => deps.log.error({ ...fields, err }, 'not killed'));
    }, lifeMs);
    death.unref();
  }

  async function openPort(): Promise<void> {
    clearTimeout(retry);
    if (closed || server || !powered || refusing === 'connection') return;
    const { port, hostKey } = record;
    const authorized = () => (refusing === 'key' ? [] : keysThatLetIn());
    try {
      server = await listenSsh({ port, hostKey, context, authorized, log: deps.log });
      server.freeze(hanging);
    } catch (err) {
      deps.log.error({ ...fields, port, err }, 'cannot listen for SSH; trying again');
      retry = setTimeout(() => void inTurn(openPort), portRetryMs);
    }
  }

  async function closePort(): Promise<void> {
    clearTimeout(retry);
    const closing = server;
    server = undefined;
    await closing?.close();
  }

  function keysThatLetIn(): ParsedKey[] {
    const listed = parseKeys(record.authorizedKeys);
    const admitted = deps.admitted && parseKeys(deps.admitted).map((key) => key.getPublicSSH());
    if (!admitted) return listed;
    return listed.filter((key) => admitted.some((one) => one.equals(key.getPublicSSH())));
  }

  function parseKeys(lines: readonly string[]): ParsedKey[] {
    return lines.flatMap((line) => {
      const key = ssh2.utils.parseKey(line);
      if (!(key instanceof Error)) return [key];
      deps.log.warn({ ...fields, line, err: key }, 'an authorized key cannot be read');
      return [];
    });
  }

  async function save(change: Partial<MachineRecord>): Promise<void> {
    record = { ...record, ...change };
    await saveRecord(home, record);
  }

  async function recordProgram(program: string): Promise<void> {
    if (!closed && record.program !== program) await save({ program });
  }

  /** A new id at each boot, even when the source of chance started over with its old seed. */
  async function writeBootId(): Promise<void> {
    const before = readBootId(bootIdFile);
    let bootId = random.uuid();
    while (bootId === before) bootId = random.uuid();
    await mkdir(dirname(bootIdFile), { recursive: true });
    await writeFile(bootIdFile, `${bootId}\n`);
  }

  /** At the first boot of each installation. */
  async function initialize(): Promise<void> {
    if (record.initialized) return;
    await playInitScript(record.userdata ?? '', root, deps.log);
    await save({ initialized: true });
  }

  async function powerOn(): Promise<void> {
    switchedOn = true;
    if (powered || closed || powerless) return;
    const isFirst = orphansPossible;
    if (isFirst) await killAll(pids);
    orphansPossible = false;
    // In memory on a real machine: gone with the power.
    await rm(join(root, 'run'), { recursive: true, force: true });
    for (const directory of [homeDirectory, 'tmp', 'etc', 'run']) {
      await mkdir(join(root, directory), { recursive: true });
    }
    await writeFile(join(root, 'etc/hostname'), `${record.hostname}\n`);
    await writeBootId();
    await initialize();
    await disk?.attach();
    powered = true;
    seen.boots += 1;
    await openPort();
    if (isFirst) await startAgentAgain();
  }

  async function powerOff(): Promise<void> {
    const was = powered;
    disk?.detach();
    powered = false;
    hanging = false;
    light?.shut('hanging', false);
    await closePort();
    if (was || orphansPossible) await endAgents();
    if (light && orphansPossible) await killAll(pids);
    orphansPossible = false;
  }

  /** Asked for by what runs on it; its operating system is still the one that it had. */
  function reboot(): void {
    inTurn(async () => {
      if (!powered) return;
      await powerOff();
      await powerOn();
    }).catch((err: unknown) => deps.log.error({ ...fields, err }, 'not rebooted'));
  }

  async function switchOff(): Promise<void> {
    switchedOn = false;
    await powerOff();
  }

  return {
    bootIdFile,
    record: () => record,
    update: (change) => inTurn(() => save(change)),
    up: () => inTurn(powerOn),
    down: () => inTurn(switchOff),
    reinstall: (change) =>
      inTurn(async () => {
        await switchOff();
        seen.installs += 1;
        await rm(root, { recursive: true, force: true });
        await save({ ...change, hostKey: generateHostKey(), initialized: false });
      }),
    remove: () =>
      inTurn(async () => {
        await switchOff();
        closed = true;
        await rm(home, { recursive: true, force: true });
      }),
    loseAgent: () => inTurn(endAgents),
    shortenAgents(ms) {
      lifeMs = ms;
      doom();
    },
    losePower: (on) =>
      inTurn(async () => {
        powerless = on;
        if (on) await powerOff();
        else if (switchedOn) await powerOn();
      }),
    cut(on) {
      if (!light) throw new Error(`the agent of ${deviceId} is a process: it cannot be cut off`);
      light.shut('cut', on);
    },
    hang: (on) =>
      inTurn(async () => {
        if (!powered || on === hanging) return;
        hanging = on;
        server?.freeze(on);
        light?.shut('hanging', on);
        for (const pid of pids()) signalProcess(pid, on ? 'SIGSTOP' : 'SIGCONT');
      }),
    refuse: (how) =>
      inTurn(async () => {
        refusing = how;
        if (how === 'connection') await closePort();
        else await openPort();
      }),
    snapshot: (agentPids) => ({
      deviceId,
      hostname: record.hostname,
      port: record.port,
      bootId: readBootId(bootIdFile),
      up: powered,
      hanging,
      refusing,
      hostKey: publicHostKey(record.hostKey),
      root,
      agentPids,
      agents: agentPids.length + (light?.agents() ?? 0),
      powerless,
      seen: { ...seen },
    }),
    close: () => {
      closed = true;
      powered = false;
      disk?.detach();
      clearTimeout(death);
      light?.stopAgent();
      return inTurn(closePort);
    },
  };
}

function readBootId(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
