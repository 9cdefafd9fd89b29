import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuthContext, ParsedKey } from 'ssh2';
import { startLine } from './commands.ts';
import { BOOT_ID_PATH, createDirectoryDisk, readBootId } from './disk.ts';
import { runOnChannel } from './exec-channel.ts';
import { createHostListener } from './listener.ts';
import { createHost, type Host, type HostListener } from './host.ts';
import { isAuthorized, publicBlobOf, readKey } from './keys.ts';
import type { HostSnapshot, SimulatedHostsOptions } from './options.ts';
import { createPrograms, type Programs } from './programs.ts';
import type { ProcessScan } from './processes.ts';
import { type MachineRecord, saveRecord } from './record.ts';
import { serveSftp } from './sftp.ts';
import { createService, type Service } from './serving/service.ts';
import { createSpareDisk } from './spare-disk.ts';
import { listenSsh, LOOPBACK, type Visit } from './ssh-server.ts';

/** A machine's share of the simulator's options, and its own directory. */
export interface MachineDeps extends Pick<
  SimulatedHostsOptions,
  'log' | 'random' | 'light' | 'diskBytes' | 'play' | 'admitted'
> {
  /** Directory of the machine's record and disk. */
  readonly home: string;
  /** Shared by all machines. */
  readonly scan: ProcessScan;
  /** The service of machines with their own address; default: none. */
  readonly serving?: MachineServing | undefined;
}

export interface MachineServing {
  readonly port: number;
  onRequest(deviceId: string): void;
}

/** One simulated machine: a host with a directory, an SSH server and programs. */
export interface HostMachine extends Host<MachineRecord> {
  /** In the environment of all its programs. */
  readonly bootIdFile: string;
  readonly programs: Pick<Programs, 'shorten' | 'shut'>;
  snapshot(agentPids: readonly number[]): HostSnapshot;
}

/** A machine that is off, whatever its state in an earlier run. */
export function createMachine(initial: MachineRecord, deps: MachineDeps): HostMachine {
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
    env: spare?.env ?? {},
    host: () => machine,
  });
  const service = createServiceOf(deviceId, () => machine, deps);
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
    listener: createSshListener(() => machine, programs, deps),
    service: service?.listener,
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
      const { hostname, address, port, hostKey } = machine.system();
      const state = machine.state();
      return {
        ...state,
        deviceId,
        hostname,
        address: address ?? LOOPBACK,
        port,
        hostKey: publicBlobOf(hostKey).toString('base64'),
        root,
        agentPids,
        agents: agentPids.length + programs.lightAgents(),
        seen: { ...state.seen, ...programs.seen() },
        service: service?.tally() ?? null,
      };
    },
    close() {
      programs.leave();
      return machine.close();
    },
  };
}

/** The SSH server of a machine. */
function createSshListener(
  host: () => Host<MachineRecord>,
  { context }: Programs,
  { log, admitted }: MachineDeps,
): HostListener {
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
      const { user = 'root' } = host().system();
      if (attempt.username === user && isAuthorized(attempt, keysThatLetIn())) attempt.accept();
      else attempt.reject(['publickey']);
    },
    exec: (line, channel) => runOnChannel(line, channel, (text) => startLine(text, context), log),
    sftp: (channel) => serveSftp(channel, context.root),
  });
  const where = () => {
    const { address, port } = host().system();
    return { address, port };
  };

  return createHostListener({
    what: 'SSH',
    log,
    where: () => ({ device: host().system().deviceId, ...where() }),
    inTurn: (work) => host().inTurn(work),
    listen: () => listenSsh({ ...where(), log, visit }),
  });
}

/** The machine's service for clients; undefined: none. */
function createServiceOf(
  deviceId: string,
  host: () => Host<MachineRecord>,
  { log, serving }: MachineDeps,
): (Pick<Service, 'tally'> & { readonly listener: HostListener }) | undefined {
  if (!serving) return undefined;
  const where = () => ({ address: host().system().address ?? LOOPBACK, port: serving.port });
  const service = createService({
    where,
    log,
    onRequest: () => serving.onRequest(deviceId),
    answer: () => ({ machine: host().system().hostname, bootId: host().state().bootId }),
  });
  const listener = createHostListener({
    what: 'clients',
    log,
    where: () => ({ device: deviceId, ...where() }),
    inTurn: (work) => host().inTurn(work),
    listen: async () => {
      await service.open();
      return service;
    },
  });
  return { tally: service.tally, listener };
}
