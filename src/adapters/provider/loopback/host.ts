import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { ProviderError } from '../../../domain/errors.ts';
import { runOnChannel } from '../../../../emulators/hosts/exec-channel.ts';
import {
  createHost,
  type Host,
  type HostDoor,
  type HostSystem,
} from '../../../../emulators/hosts/host.ts';
import { generateHostKey, isAuthorized, readKey } from '../../../../emulators/hosts/keys.ts';
import { listenSsh, type SshServer, type Visit } from '../../../../emulators/hosts/ssh-server.ts';
import type { Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { ReinstallRequest } from '../port.ts';
import { createPrivateDisk } from './disk.ts';
import { createProcesses } from './processes.ts';
import type { HostState, StateFile } from './state.ts';

/** The machine's life. Calls come one after the other. */
export interface LoopbackHost {
  /** Lets it answer, if it is on and nobody else does that for it already. */
  ensureUp(): Promise<HostState | null>;
  /** A new system: new host key, boot id and secret. The script has run when it resolves. */
  install(
    named: Pick<HostState, 'id' | 'hostname' | 'tags'>,
    installation: Pick<ReinstallRequest, 'publicKey' | 'initCommand'>,
    signal: AbortSignal,
  ): Promise<HostState>;
  /** As after the button was pressed. @throws {ProviderError} `conflict`: it is another's. */
  power(state: HostState, want: 'on' | 'off' | 'cycle'): Promise<void>;
  /** Nothing is left of it. @throws {ProviderError} `conflict`: another process runs it. */
  remove(state: HostState): Promise<void>;
  /** It answers no more, and the commands that it ran have ended; its state stays. */
  leave(): Promise<void>;
}

export interface LoopbackHostDeps {
  readonly dir: string;
  readonly file: StateFile;
  readonly random: Random;
  readonly log: Log;
}

type Installed = Pick<HostState, 'hostKey' | 'authorizedKeys' | 'bootId' | 'port'>;
type Kept = Omit<HostState, 'power' | 'bootId' | 'port'>;

/** A pretended machine whose disk and programs are, but for a few paths, those of this host. */
export function createLoopbackHost({ dir, file, random, log }: LoopbackHostDeps): LoopbackHost {
  const disk = createPrivateDisk(dir);
  const processes = createProcesses(dir, disk.bootIdFile);
  let door = createDoor(0);
  let host: Host<HostSystem> | null = null;
  /** Of the call that installs now. */
  let installing: AbortSignal = new AbortController().signal;

  /** Where it listened last is tried first. */
  function createDoor(wanted: number): HostDoor & { port(): number } {
    let server: SshServer | null = null;
    let port = wanted;
    const visit = () => visitOf(host!.system());
    return {
      port: () => port,
      async open() {
        server = await listenSsh({ port, log, visit }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EADDRINUSE') throw error;
          return listenSsh({ port: 0, log, visit });
        });
        ({ port } = server);
      },
      async close() {
        const closing = server;
        server = null;
        await closing?.close();
      },
    };
  }

  const visitOf = ({ hostKey, authorizedKeys }: HostSystem): Visit => ({
    hostKey,
    authenticate(attempt) {
      if (isAuthorized(attempt, authorizedKeys.map(readKey))) attempt.accept();
      else attempt.reject(['publickey']);
    },
    exec: (line, channel) =>
      runOnChannel(line, channel, async (text) => processes.start(disk.translate(text)), log),
    subsystem(name) {
      const program = SFTP_SERVERS.find((path) => existsSync(path));
      return name === 'sftp' && program !== undefined ? `exec ${program}` : undefined;
    },
  });

  async function runScript(script: string): Promise<void> {
    const code = await processes.runScript(disk.translate(script), installing);
    if (installing.aborted) throw installing.reason;
    if (code !== 0) log.warn({ code }, 'the script of the first boot failed');
  }

  function hostOf({ hostKey, authorizedKeys, bootId, port }: Installed): Host<HostSystem> {
    door = createDoor(port);
    return createHost<HostSystem>(
      { hostKey, authorizedKeys, initialized: true },
      { bootId, newBootId: random.uuid, disk: { ...disk, runScript }, programs: processes, door },
    );
  }

  /** What is told of it from now on. */
  async function keep(state: Kept, machine: Host<HostSystem>): Promise<HostState> {
    const { up, bootId = '' } = machine.state();
    const now: HostState = { ...state, power: up ? 'on' : 'off', bootId, port: door.port() };
    await file.write(now);
    return now;
  }

  const isUp = (): boolean => host?.state().up === true;

  /** Another process may run the machine of this directory; only that one may change its life. */
  async function take(state: HostState): Promise<Host<HostSystem>> {
    if (!isUp() && state.power === 'on' && (await answers(state.port))) {
      throw new ProviderError('conflict', 'another process runs the machine of this directory');
    }
    return (host ??= hostOf(state));
  }

  async function leave(): Promise<void> {
    await host?.close();
    host = null;
    await processes.leave();
  }

  return {
    async ensureUp() {
      const state = await file.read();
      if (!state || state.power === 'off' || isUp() || (await answers(state.port))) return state;
      host ??= hostOf(state);
      await host.wake();
      return keep(state, host);
    },
    async install({ id, hostname, tags }, { publicKey, initCommand }, signal) {
      await leave();
      const system = { hostKey: generateHostKey(), authorizedKeys: [publicKey] };
      host = hostOf({ ...system, bootId: '', port: 0 });
      installing = signal;
      try {
        await host.install({ ...system, userdata: initCommand });
        await host.on();
      } catch (error) {
        await leave();
        throw error;
      }
      return keep({ id, hostname, tags, ...system }, host);
    },
    async power(state, want) {
      const machine = await take(state);
      if (want === state.power) return;
      await machine.off();
      if (want !== 'off') await machine.on();
      await keep(state, machine);
    },
    async remove(state) {
      const machine = await take(state);
      await machine.remove();
      await disk.wipe();
      host = null;
      await file.write(null);
    },
    leave,
  };
}

/** Where systems keep the file transfer part of their own SSH server. */
const SFTP_SERVERS = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/lib/ssh/sftp-server',
  '/usr/libexec/sftp-server',
];

function answers(port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
