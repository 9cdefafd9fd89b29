import { createHash } from 'node:crypto';
import {
  Cancelled,
  CommandFailed,
  Denied,
  NotListening,
  RemoteFailure,
  TimedOut,
  Unreachable,
} from '../../src/domain/errors.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { defaultShellLimits, outputBytesMax } from '../../src/adapters/ssh/limits.ts';
import type { ShellLimits } from '../../src/adapters/ssh/limits.ts';
import type {
  RemoteShell,
  ShellSession,
  ShellTarget,
  UploadFile,
} from '../../src/adapters/ssh/port.ts';

/** A command's answer; the default is exit code 0 and empty output. */
export interface FakeAnswer {
  readonly stdout?: Uint8Array;
  readonly stderr?: Uint8Array;
  readonly exitCode?: number;
}

/** An in-memory machine. Tests change its fields; nothing fails by chance. */
export interface FakeHost {
  /** Base64 of the wire blob. A different value means another machine, or a reinstallation. */
  hostKey: string;
  /** No route, or a closed port. Open sessions break. */
  unreachable: boolean;
  refusesKey: boolean;
  /** The step that never ends by itself. */
  hangs: 'connect' | 'handshake' | 'upload' | 'execute' | undefined;
  bootId: string;
  /** The secret that its first boot left for the host-key proof; null: none. */
  secret: string | null;
  readonly files: Map<string, UploadFile>;
  /**
   * Answers all commands except `cat` alone and `cat` of the boot id or secret. A pending promise
   * plays a hang.
   */
  run(argv: readonly string[], stdin: Buffer): FakeAnswer | Promise<FakeAnswer>;
}

export const bootIdPath = '/proc/sys/kernel/random/boot_id';

/** A healthy machine that knows only `cat`. */
export const createFakeHost = (host: Partial<FakeHost> = {}): FakeHost => ({
  hostKey: 'ZmFrZSBob3N0IGtleQ==',
  unreachable: false,
  refusesKey: false,
  hangs: undefined,
  bootId: '00000000-0000-4000-8000-000000000001',
  secret: null,
  files: new Map(),
  run: ([command]) => ({ stderr: Buffer.from(`${command}: not found`), exitCode: 127 }),
  ...host,
});

export interface FakeShellOptions {
  /** By `host:port`. */
  readonly hosts: Pick<ReadonlyMap<string, FakeHost>, 'get'>;
  readonly clock: Clock;
  readonly limits?: Partial<ShellLimits>;
}

/** SSH to machines in a map, for tests and for simulation in virtual time. */
export function createFakeShell({ hosts, clock, ...options }: FakeShellOptions): RemoteShell {
  const limits: ShellLimits = { ...defaultShellLimits, ...options.limits };

  async function connect(target: ShellTarget, signal: AbortSignal): Promise<ShellSession> {
    const name = `${target.username}@${target.host}:${target.port}`;
    if (signal.aborted) throw new Cancelled('not connected', { cause: signal.reason });
    const host = hosts.get(`${target.host}:${target.port}`);
    if (!host || host.unreachable) throw new NotListening(`connect to ${name}: refused`);
    const step = createStep(clock, signal);
    if (host.hangs === 'connect') await step(`connect to ${name}`, limits.connectMs, never);
    if (host.hangs === 'handshake') await step(`log in to ${name}`, limits.handshakeMs, never);
    if (host.refusesKey) throw new Denied(`log in to ${name}: every key was refused`);
    return createSession(host, name);
  }

  function createSession(host: FakeHost, name: string): ShellSession {
    const { bootId } = host;
    let lost: Error | undefined;
    const inSession = async <T>(
      what: string,
      timeoutMs: number,
      signal: AbortSignal,
      work: () => Promise<T>,
    ): Promise<T> => {
      if (lost) throw lost;
      if (host.unreachable || host.bootId !== bootId) {
        throw new Unreachable(`${what}: the connection was closed`);
      }
      try {
        return await createStep(clock, signal)(what, timeoutMs, work);
      } catch (error) {
        if (error instanceof TimedOut) lost = new Unreachable(`${what}: the connection is lost`);
        if (error instanceof Cancelled) lost = error;
        throw error;
      }
    };
    return {
      hostKey: host.hostKey,
      async upload(path, file, signal) {
        const timeoutMs = limits.uploadStallMs(file.content.length);
        const skipped = await inSession(`upload ${path} to ${name}`, timeoutMs, signal, () =>
          host.hangs === 'upload' ? never() : isThere(host, path, file),
        );
        const present = skipped ? host.files.get(path) : undefined;
        host.files.set(path, present ? { ...present, mode: file.mode } : file);
        return { skipped };
      },
      execute(argv, stdin, signal) {
        const what = `execute "${argv.join(' ')}" on ${name}`;
        return inSession(what, limits.executeMs, signal, () =>
          host.hangs === 'execute' ? never() : run(host, argv, Buffer.from(stdin), what),
        );
      },
      close() {
        lost ??= new Cancelled(`the session with ${name} was closed`);
      },
    };
  }

  return { connect };
}

const never = () => new Promise<never>(() => undefined);

const createStep =
  (clock: Clock, signal: AbortSignal) =>
  <T>(what: string, timeoutMs: number, work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const cancelled = () => new Cancelled(`${what}: cancelled`, { cause: signal.reason });
      if (signal.aborted) return reject(cancelled());
      const onAbort = () => end(() => reject(cancelled()));
      const end = (settle: () => void) => {
        clock.clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        settle();
      };
      const timer = clock.setTimeout(
        () => end(() => reject(new TimedOut(`${what}: no result after ${timeoutMs} ms`))),
        timeoutMs,
      );
      signal.addEventListener('abort', onAbort, { once: true });
      // Some time passes, in which the signal may fire, even where nothing is done.
      const working = Promise.resolve().then(work);
      working.then(
        (result) => end(() => resolve(result)),
        (error: Error) => end(() => reject(error)),
      );
    });

async function isThere(host: FakeHost, path: string, file: UploadFile): Promise<boolean> {
  const present = host.files.get(path);
  return present !== undefined && sha256(present.content) === file.sha256;
}

/** Programs are large, and one program is put on many machines. */
const digests = new WeakMap<Buffer, string>();
function sha256(content: Buffer): string {
  const known = digests.get(content);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(content).digest('hex');
  digests.set(content, digest);
  return digest;
}

async function run(host: FakeHost, argv: readonly string[], stdin: Buffer, what: string) {
  const answer = await answerOf(host, argv, stdin);
  const stdout = Buffer.from(answer.stdout ?? []);
  const stderr = Buffer.from(answer.stderr ?? []);
  if (stdout.length > outputBytesMax || stderr.length > outputBytesMax) {
    throw new RemoteFailure(`${what}: more than ${outputBytesMax} bytes of output`);
  }
  if (answer.exitCode) {
    const { exitCode } = answer;
    const end = { exitCode, stdout, stderr };
    throw new CommandFailed(`${what}: exited with ${exitCode}: ${stderr.toString()}`, end);
  }
  return { stdout, stderr };
}

function answerOf(
  host: FakeHost,
  argv: readonly string[],
  stdin: Buffer,
): FakeAnswer | Promise<FakeAnswer> {
  if (argv[0] !== 'cat') return host.run(argv, stdin);
  if (argv.length === 1) return { stdout: stdin };
  if (argv[1] === bootIdPath) return { stdout: Buffer.from(`${host.bootId}\n`) };
  if (argv[1] === INSTANCE_SECRET_PATH && host.secret !== null) {
    return { stdout: Buffer.from(host.secret) };
  }
  return host.run(argv, stdin);
}
