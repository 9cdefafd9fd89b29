import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ssh2 from 'ssh2';
import type { ParsedKey } from 'ssh2';
import type { HostSnapshot, HostsLog, HostsRandom, Refusal } from './options.ts';
import { playInitScript } from './init-script.ts';
import { homeDirectory } from './paths.ts';
import { bootIdVariable, killAll, processesByMachine, signalProcess } from './processes.ts';
import { generateHostKey, publicHostKey, saveRecord } from './record.ts';
import type { MachineRecord } from './record.ts';
import { listenSsh } from './ssh-server.ts';
import type { SshServer } from './ssh-server.ts';

export interface MachineDeps {
  /** The machine's own directory: its record, and its disk below. */
  readonly home: string;
  readonly log: HostsLog;
  readonly random: HostsRandom;
  readonly nodeExecutable: string;
  readonly env: Readonly<Record<string, string>>;
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
  hang(on: boolean): Promise<void>;
  refuse(how: Refusal | undefined): Promise<void>;
  snapshot(agentPids: readonly number[]): HostSnapshot;
  /** Closes the port for good and leaves the processes to the caller. */
  close(): Promise<void>;
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const portRetryMs = 250;

/** A machine that is switched off, whatever it was in an earlier run. */
export function createMachine(initial: MachineRecord, deps: MachineDeps): Machine {
  const { home, random } = deps;
  const { deviceId } = initial;
  const root = join(home, 'disk');
  const bootIdFile = join(root, 'proc/sys/kernel/random/boot_id');
  const fields = { device: deviceId };
  let record = initial;
  let powered = false;
  let hanging = false;
  let closed = false;
  let orphansPossible = true;
  let refusing: Refusal | undefined;
  let server: SshServer | undefined;
  let retry: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
  const pids = () => processesByMachine().get(bootIdFile) ?? [];
  const context = {
    root,
    powered: () => powered,
    env: {
      ...deps.env,
      PATH: `${dirname(deps.nodeExecutable)}:${systemPath}`,
      HOME: join(root, homeDirectory),
      TMPDIR: join(root, 'tmp'),
      USER: 'root',
      LOGNAME: 'root',
      [bootIdVariable]: bootIdFile,
    },
  };

  async function openPort(): Promise<void> {
    clearTimeout(retry);
    if (closed || server || !powered || refusing === 'connection') return;
    const { port, hostKey } = record;
    const authorized = () => (refusing === 'key' ? [] : parseKeys(record.authorizedKeys));
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
    if (powered || closed) return;
    if (orphansPossible) await killAll(pids);
    orphansPossible = false;
    // In memory on a real machine: gone with the power.
    await rm(join(root, 'run'), { recursive: true, force: true });
    for (const directory of [homeDirectory, 'tmp', 'etc', 'run']) {
      await mkdir(join(root, directory), { recursive: true });
    }
    await writeFile(join(root, 'etc/hostname'), `${record.hostname}\n`);
    await writeBootId();
    await initialize();
    powered = true;
    await openPort();
  }

  async function powerOff(): Promise<void> {
    powered = false;
    hanging = false;
    await closePort();
    await killAll(pids);
    orphansPossible = false;
  }

  return {
    bootIdFile,
    record: () => record,
    update: (change) => inTurn(() => save(change)),
    up: () => inTurn(powerOn),
    down: () => inTurn(powerOff),
    reinstall: (change) =>
      inTurn(async () => {
        await powerOff();
        await rm(root, { recursive: true, force: true });
        await save({ ...change, hostKey: generateHostKey(), initialized: false });
      }),
    remove: () =>
      inTurn(async () => {
        await powerOff();
        closed = true;
        await rm(home, { recursive: true, force: true });
      }),
    loseAgent: () => inTurn(() => killAll(pids)),
    hang: (on) =>
      inTurn(async () => {
        if (!powered || on === hanging) return;
        hanging = on;
        server?.freeze(on);
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
    }),
    close: () => {
      closed = true;
      powered = false;
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
