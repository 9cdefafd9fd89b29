import { mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import ssh2 from 'ssh2';
import { ProviderError } from '../../../domain/errors.ts';
import type { Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import { createPrivatePaths } from './private-paths.ts';
import { createProcesses } from './processes.ts';
import { listenSsh, type SshServer } from './ssh-server.ts';
import type { HostState, StateFile } from './state.ts';

/** What an installation leaves on the machine. */
export interface Installation {
  readonly publicKey: string;
  readonly initCommand: string;
}

/** The machine's life. Calls come one after the other. */
export interface Host {
  /** Lets it answer, if it is on and nobody else does that for it already. */
  ensureUp(): Promise<HostState | null>;
  /** A new system: new host key, boot id and secret. The script has run when it resolves. */
  install(
    state: Pick<HostState, 'id' | 'hostname' | 'tags'>,
    installation: Installation,
    signal: AbortSignal,
  ): Promise<HostState>;
  /** As after the button was pressed. @throws {ProviderError} `conflict`: it is another's. */
  power(state: HostState, want: 'on' | 'off' | 'cycle'): Promise<void>;
  /** Nothing is left of it. @throws {ProviderError} `conflict`: another process runs it. */
  remove(state: HostState): Promise<void>;
  /** It answers no more, and what it ran has ended; its state stays. */
  leave(): Promise<void>;
}

export interface HostDeps {
  readonly dir: string;
  readonly file: StateFile;
  readonly random: Random;
  readonly log: Log;
}

export function createHost({ dir, file, random, log }: HostDeps): Host {
  const paths = createPrivatePaths(dir);
  const processes = createProcesses(dir);
  let server: SshServer | null = null;

  async function down(): Promise<void> {
    const closing = server;
    server = null;
    await closing?.close();
    await processes.killAll();
  }

  /** The same port as before, if it can be had. */
  async function up(state: HostState): Promise<HostState> {
    const { hostKey, authorized } = state;
    const start = (command: string) => processes.start(paths.translate(command));
    const listen = (port: number) => listenSsh({ hostKey, authorized, port, log, start });
    server = await listen(state.port).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return listen(0);
    });
    const now = { ...state, port: server.port };
    await file.write(now);
    return now;
  }

  async function boot(state: HostState): Promise<HostState> {
    const now: HostState = { ...state, power: 'on', bootId: random.uuid() };
    await paths.setBootId(now.bootId);
    return up(now);
  }

  /** Another process may run the machine of this directory; only that one may change its life. */
  async function requireOwn(state: HostState): Promise<void> {
    if (server || state.power === 'off' || !(await answers(state.port))) return;
    throw new ProviderError('conflict', 'another process runs the machine of this directory');
  }

  return {
    async ensureUp() {
      const state = await file.read();
      if (!state || state.power === 'off' || server || (await answers(state.port))) return state;
      await paths.setBootId(state.bootId);
      return up(state);
    },
    async install(state, { publicKey, initCommand }, signal) {
      await down();
      await paths.clear();
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const code = await processes.runScript(paths.translate(initCommand), signal);
      if (signal.aborted) throw signal.reason;
      if (code !== 0) log.warn({ code }, 'the script of the first boot failed');
      const hostKey = generateHostKey();
      return boot({ ...state, power: 'on', bootId: '', hostKey, authorized: publicKey, port: 0 });
    },
    async power(state, want) {
      await requireOwn(state);
      if (want === state.power) return;
      await down();
      if (want === 'off') await file.write({ ...state, power: 'off' });
      else await boot(state);
    },
    async remove(state) {
      await requireOwn(state);
      await down();
      await paths.clear();
      await file.write(null);
    },
    leave: down,
  };
}

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

/**
 * OpenSSH PEM. One in 256 keys that ssh2 1.17 makes has a public half that begins with a zero byte,
 * which its generator strips, so that nothing can read the key: those are thrown away.
 */
function generateHostKey(): string {
  for (;;) {
    const pem = ssh2.utils.generateKeyPairSync('ed25519').private;
    if (!(ssh2.utils.parseKey(pem) instanceof Error)) return pem;
  }
}

/** Public half of a host key, wire form. */
export function publicBlobOf({ hostKey }: HostState): Buffer {
  const key = ssh2.utils.parseKey(hostKey);
  if (key instanceof Error) throw key;
  return key.getPublicSSH();
}
