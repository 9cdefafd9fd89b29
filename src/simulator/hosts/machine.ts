import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuthContext, ParsedKey } from 'ssh2';
import { startLine } from './commands.ts';
import { BOOT_ID_PATH, createDirectoryDisk, readBootId } from './disk.ts';
import { runOnChannel } from './exec-channel.ts';
import { createHost, type Host, type HostDoor } from './host.ts';
import { isAuthorized, publicBlobOf, readKey } from './keys.ts';
import type { HostsLog, HostSnapshot, HostsRandom } from './options.ts';
import { createPrograms, type Programs } from './programs.ts';
import { type MachineRecord, saveRecord } from './record.ts';
import { serveSftp } from './sftp.ts';
import { createSpareDisk } from './spare-disk.ts';
import { listenSsh, type SshServer, type Visit } from './ssh-server.ts';

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

/** One simulated machine: a host with a directory, an SSH server and programs. */
export interface Machine extends Host<MachineRecord> {
  /** In the environment of everything that runs on it. */
  readonly bootIdFile: string;
  readonly programs: Pick<Programs, 'shorten' | 'shut'>;
  snapshot(agentPids: readonly number[]): HostSnapshot;
}

/** A machine that is switched off, whatever it was in an earlier run. */
export function createMachine(initial: MachineRecord, deps: MachineDeps): Machine {
  const { home, log, random, diskBytes: sizeBytes } = deps;
  const { deviceId } = initial;
  const root = join(home, 'disk');
  const bootIdFile = join(root, BOOT_ID_PATH);
  const onReboot = () => {
    machine.reboot().catch((err: unknown) => log.error({ device: deviceId, err }, 'not rebooted'));
  };
  const spare =
    sizeBytes === undefined
      ? undefined
      : createSpareDisk({ root, bootIdFile, sizeBytes, onReboot });
  const programs = createPrograms({
    ...deps,
    deviceId,
    root,
    bootIdFile,
    env: { ...deps.env, ...spare?.env },
    host: () => machine,
  });
  const machine: Host<MachineRecord> = createHost(initial, {
    bootId: readBootId(bootIdFile),
    newBootId: random.uuid,
    disk: createDirectoryDisk({
      root,
      bootIdFile,
      spare,
      log,
      hostname: () => machine.system().hostname,
    }),
    programs,
    door: createDoor(() => machine, programs, deps),
    save: (record) => saveRecord(home, record),
  });
  return {
    ...machine,
    bootIdFile,
    programs,
    async remove() {
      await machine.remove();
      await rm(home, { recursive: true, force: true });
    },
    snapshot(agentPids) {
      const { hostname, port, hostKey } = machine.system();
      const state = machine.state();
      return {
        ...state,
        deviceId,
        hostname,
        port,
        hostKey: publicBlobOf(hostKey).toString('base64'),
        root,
        agentPids,
        agents: agentPids.length + programs.lightAgents(),
        seen: { ...state.seen, ...programs.seen() },
      };
    },
    close() {
      programs.leave();
      return machine.close();
    },
  };
}

const portRetryMs = 250;

/** The SSH server of a machine, at its port as soon as that is free. */
function createDoor(
  host: () => Host<MachineRecord>,
  { context }: Programs,
  { log, admitted }: MachineDeps,
): HostDoor {
  let server: SshServer | undefined;
  let isFrozen = false;
  let isWanted = false;
  let retry: NodeJS.Timeout | undefined;

  function keysThatLetIn(): ParsedKey[] {
    if (host().state().refusing === 'key') return [];
    const listed = parseKeys(host().system().authorizedKeys);
    if (!admitted) return listed;
    const known = parseKeys(admitted).map((key) => key.getPublicSSH());
    return listed.filter((key) => known.some((one) => one.equals(key.getPublicSSH())));
  }

  function parseKeys(lines: readonly string[]): ParsedKey[] {
    return lines.flatMap((line) => {
      try {
        return [readKey(line)];
      } catch (err) {
        const { deviceId } = host().system();
        log.warn({ device: deviceId, line, err }, 'an authorized key cannot be read');
        return [];
      }
    });
  }

  const visit = (): Visit => ({
    hostKey: host().system().hostKey,
    authenticate(attempt: AuthContext) {
      if (attempt.username === 'root' && isAuthorized(attempt, keysThatLetIn())) attempt.accept();
      else attempt.reject(['publickey']);
    },
    exec: (line, channel) => runOnChannel(line, channel, (text) => startLine(text, context), log),
    sftp: (channel) => serveSftp(channel, context.root),
  });

  async function open(): Promise<void> {
    clearTimeout(retry);
    isWanted = true;
    if (server) return;
    const { deviceId, port } = host().system();
    try {
      server = await listenSsh({ port, log, visit });
      server.freeze(isFrozen);
    } catch (err) {
      log.error({ device: deviceId, port, err }, 'cannot listen for SSH; trying again');
      retry = setTimeout(() => void host().inTurn(tryAgain), portRetryMs);
    }
  }

  const tryAgain = async () => {
    if (isWanted) await open();
  };

  return {
    open,
    async close() {
      clearTimeout(retry);
      isWanted = false;
      const closing = server;
      server = undefined;
      await closing?.close();
    },
    freeze(on) {
      isFrozen = on;
      server?.freeze(on);
    },
  };
}
