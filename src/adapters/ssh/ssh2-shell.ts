import ssh2 from 'ssh2';
import type { AnyAuthMethod, ConnectConfig, ParsedKey } from 'ssh2';
import { quote } from 'shell-quote';
import {
  Cancelled,
  HostKeyRejected,
  NotListening,
  Unreachable,
  UsageError,
  codeOf,
} from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import { algorithmsFor } from './algorithms.ts';
import type { SshKey } from './key-file.ts';
import { defaultShellLimits, signersMax } from './limits.ts';
import type { ShellLimits } from './limits.ts';
import type { RemoteShell, ShellSession, ShellTarget } from './port.ts';
import { createTurns } from './sftp-file.ts';
import { assertSuccess, exec } from './ssh2-exec.ts';
import { openLink, runStep } from './ssh2-link.ts';
import type { Link } from './ssh2-link.ts';
import { uploadFile } from './ssh2-upload.ts';

export interface Ssh2ShellOptions {
  /** Offered in this order, the current one first; at most five. */
  readonly signers: readonly SshKey[];
  /** When commands and files get root's rights by `sudo -n`; `auto` when absent. */
  readonly sudo?: SudoPolicy;
  readonly limits?: Partial<ShellLimits>;
  readonly keepalive?: { readonly intervalMs: number; readonly missesMax: number };
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
}

/** `auto`: for every user but `root`. */
export type SudoPolicy = 'auto' | 'never' | 'always';

/** SSH over the ssh2 library. */
interface Ssh2Shell extends RemoteShell {
  /**
   * Sets the keys of future connections; existing ones continue.
   * @throws {UsageError} no key, more than five, or one that ssh2 cannot read: nothing changes.
   */
  setSigners(keys: readonly SshKey[]): void;
}

/**
 * One connection per session, without reconnects. The handshake accepts and reports the host key,
 * because the caller checks it before running anything.
 * @throws {UsageError} no key, more than five, or one that ssh2 cannot read.
 */
export function createSsh2Shell(options: Ssh2ShellOptions): Ssh2Shell {
  const { clock, log, metrics } = options;
  const limits: ShellLimits = { ...defaultShellLimits, ...options.limits };
  const keepalive = options.keepalive ?? { intervalMs: 15_000, missesMax: 3 };
  const beginUpload = createTurns();
  let signers = readSigners(options.signers);
  const counted = async <T>(op: string, running: Promise<T>): Promise<T> => {
    try {
      const result = await running;
      metrics?.count('shepherd_adapter_calls_total', { adapter: 'ssh', op, code: 'ok' });
      return result;
    } catch (error) {
      metrics?.count('shepherd_adapter_calls_total', { adapter: 'ssh', op, code: codeOf(error) });
      throw error;
    }
  };

  const createSession = (
    link: Link,
    hostKey: string,
    elevation: readonly string[],
  ): ShellSession => ({
    hostKey,
    upload(path, file, signal) {
      const timeoutMs = limits.uploadStallMs(file.content.length);
      const what = `upload ${path} to ${link.name}`;
      const step = { what, timeoutMs, signal, isRenewable: true };
      const onResume = (fromBytes: number) =>
        log.info({ target: link.name, path, fromBytes }, 'an upload goes on where it broke off');
      const work = (onProgress: () => void) => {
        const means = { client: link.client, elevation, turn: beginUpload(), onProgress, onResume };
        return uploadFile(means, path, file);
      };
      return counted('upload', runStep(link, clock, step, work));
    },
    execute(argv, stdin, signal) {
      const command = quote([...elevation, ...argv]);
      const what = `execute "${command}" on ${link.name}`;
      const work = async () => {
        const finished = await exec(link.client, command, stdin);
        assertSuccess(finished, command);
        return { stdout: finished.stdout, stderr: finished.stderr };
      };
      const step = { what, timeoutMs: limits.executeMs, signal };
      return counted('execute', runStep(link, clock, step, work));
    },
    close: () => link.end(new Cancelled(`the session with ${link.name} was closed`)),
  });

  async function logIn(link: Link, target: LogIn, signal: AbortSignal): Promise<ShellSession> {
    const { connectMs, handshakeMs } = limits;
    const dial = { what: `connect to ${link.name}`, timeoutMs: connectMs, signal };
    await runStep(link, clock, dial, () => connected(link)).catch((error: unknown) => {
      if (!(error instanceof Unreachable)) throw error;
      throw new NotListening(error.message, { cause: error.cause });
    });
    const what = `log in to ${link.name}`;
    const greet = { what, timeoutMs: handshakeMs, signal, authenticating: true };
    const hostKey = await runStep(link, clock, greet, () =>
      handshake(link, target, signers, keepalive),
    );
    log.debug({ target: link.name }, 'connected');
    return createSession(link, hostKey, elevationOf(options.sudo ?? 'auto', target.username));
  }

  async function connect(target: ShellTarget, signal: AbortSignal): Promise<ShellSession> {
    if (signal.aborted) throw new Cancelled('not connected', { cause: signal.reason });
    const password = target.password?.read();
    const link = openLink(target);
    try {
      return await logIn(link, { ...target, password }, signal);
    } catch (error) {
      link.destroy(error as Error);
      throw error;
    }
  }

  return {
    connect: (target, signal) => counted('connect', connect(target, signal)),
    setSigners: (keys) => void (signers = readSigners(keys)),
  };
}

/** Never prompts for a password, because nobody could enter it. */
const SUDO = ['sudo', '-n'];

const elevationOf = (policy: SudoPolicy, username: string): readonly string[] =>
  policy === 'always' || (policy === 'auto' && username !== 'root') ? SUDO : [];

function readSigners(keys: readonly SshKey[]): ParsedKey[] {
  if (keys.length === 0) throw new UsageError('there is no SSH key to log in with');
  if (keys.length > signersMax) throw new UsageError(`more than ${signersMax} SSH keys`);
  return keys.map(({ privateKey, fingerprint }) => {
    const key = ssh2.utils.parseKey(privateKey);
    if (key instanceof Error) {
      throw new UsageError(`SSH key ${fingerprint} cannot be used`, { cause: key });
    }
    return key;
  });
}

/** A target with its password read. */
type LogIn = Omit<ShellTarget, 'password'> & { readonly password: string | undefined };

const connected = ({ socket }: Link) =>
  new Promise<void>((resolve) => socket.once('connect', resolve));

/** Resolves with the host key, base64. Failures appear as the loss of the link. */
function handshake(
  { client, socket, destroy }: Link,
  target: LogIn,
  signers: readonly ParsedKey[],
  keepalive: { readonly intervalMs: number; readonly missesMax: number },
): Promise<string> {
  const { username, password } = target;
  let hostKey: Buffer | undefined;
  const ways: AnyAuthMethod[] = signers.map((key) => ({ type: 'publickey', username, key }));
  if (password !== undefined) ways.push({ type: 'password', username, password });
  const config: ConnectConfig = {
    sock: socket,
    username,
    // `runStep` applies the limit on our own clock.
    readyTimeout: 0,
    keepaliveInterval: keepalive.intervalMs,
    keepaliveCountMax: keepalive.missesMax,
    algorithms: algorithmsFor(target.hostKey ?? null),
    authHandler: (_left, _partial, next) => {
      const way = ways.shift();
      // Only the right host receives the password. False, which the types do not know, ends the
      // login.
      const isTold = way?.type !== 'password' || hostKey?.toString('base64') === target.hostKey;
      next(way && isTold ? way : (false as unknown as AnyAuthMethod));
    },
    // Called again at a rekey: the machine must still have the verified key.
    hostVerifier: (key: Buffer) => {
      hostKey ??= Buffer.from(key);
      if (hostKey.equals(key)) return true;
      destroy(new HostKeyRejected('the host key changed during the connection'));
      return false;
    },
  };
  return new Promise((resolve) => {
    client.once('ready', () => resolve(hostKey!.toString('base64')));
    client.connect(config);
  });
}
