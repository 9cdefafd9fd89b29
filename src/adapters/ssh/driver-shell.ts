import { createHash } from 'node:crypto';
import {
  Cancelled,
  CommandFailed,
  Denied,
  FleetError,
  HostKeyRejected,
  Malformed,
  ProviderError,
  type ProviderErrorKind,
  RemoteFailure,
  UploadFailed,
  UsageError,
} from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import type {
  CommandResult,
  DriverShell,
  DriverShellSession,
  DriverShellTarget,
  ShellCommand,
} from '../provider/port.ts';
import { assertAllowed, seenHostKey } from './ssh2-link.ts';
import { loadSshKey, type SshKey } from './key-file.ts';
import type { ShellLimits } from './limits.ts';
import type { RemoteShell, ShellSession } from './port.ts';
import { createSsh2Shell, type SudoPolicy } from './ssh2-shell.ts';

interface DriverShellDeps {
  /** SSH with the keys and limits that a target needs. */
  readonly shellFor: (
    target: Pick<DriverShellTarget, 'keyFile' | 'limits'>,
  ) => RemoteShell | Promise<RemoteShell>;
  readonly log: Log;
}

interface FleetSsh {
  /** Our keys, the current one first; called at each connect. */
  readonly signers: () => readonly SshKey[];
  readonly sudo?: SudoPolicy;
  readonly limits?: Partial<ShellLimits>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: Metrics;
}

/** SSH for drivers, with the fleet's keys or the driver's own key. */
export function createFleetDriverShell({ signers, limits, log, ...rest }: FleetSsh): DriverShell {
  return createDriverShell({
    shellFor: async ({ keyFile, limits: wanted }) =>
      createSsh2Shell({
        ...rest,
        log,
        signers: keyFile === undefined ? signers() : [await loadSshKey(keyFile)],
        limits: { ...limits, ...wanted },
      }),
    log,
  });
}

/** SSH as drivers see it: with a verified host key, and errors of the port. */
export function createDriverShell({ shellFor, log }: DriverShellDeps): DriverShell {
  return {
    async connect(target, { signal }) {
      const name = `${target.username}@${target.host}:${target.port}`;
      const session = await told(`connecting to ${name}`, 'not-done', async () => {
        const shell = await shellFor(target);
        const { host, port, username } = target;
        return shell.connect({ host, port, username }, signal);
      });
      try {
        await judge(session, target, log);
      } catch (error) {
        session.close();
        throw error;
      }
      return sessionOf(session, name);
    },
  };
}

async function judge(
  session: ShellSession,
  { host, port, hostKey: rule }: DriverShellTarget,
  log: Log,
) {
  const seen = seenHostKey(session.hostKey);
  await told(`checking the host key of ${host}:${port}`, 'not-done', async () =>
    assertAllowed(seen, rule),
  );
  if ('told' in rule) return;
  await rule.note(seen);
  const { fingerprint } = seen;
  log.info({ host, port, fingerprint }, 'a host key is accepted without verification');
}

function sessionOf(session: ShellSession, name: string): DriverShellSession {
  return {
    ...seenHostKey(session.hostKey),
    execute: (command, { signal }) =>
      told(`running a command on ${name}`, 'unknown', () => {
        const { argv, stdin } = toSend(command);
        return session.execute(argv, stdin, signal).then(
          ({ stdout, stderr }) => shown({ exitCode: 0, stdout, stderr }),
          (error: unknown) => {
            if (error instanceof CommandFailed) return shown(error);
            throw error;
          },
        );
      }),
    upload: (path, { content, mode }, { signal }) =>
      told(`putting ${path} on ${name}`, 'unknown', async () => {
        const bytes = Buffer.from(content);
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        await session.upload(path, { content: bytes, sha256, mode }, signal);
      }),
    close: session.close,
  };
}

type Ended = Pick<CommandFailed, 'exitCode' | 'stdout' | 'stderr'>;

const shown = ({ exitCode, stdout, stderr }: Ended): CommandResult => ({
  exitCode,
  stdout: Buffer.from(stdout).toString('utf8'),
  stderr: Buffer.from(stderr).toString('utf8'),
});

/** Reads exactly that many bytes: the rest of the input is the command's. */
const WITH_ENVIRONMENT = 'eval "$(dd bs=1 count="$0" 2>/dev/null)" && exec "$@"';
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function toSend({ argv, env = {}, stdin = '' }: ShellCommand) {
  const input = Buffer.from(stdin);
  const variables = Object.entries(env);
  if (variables.length === 0) return { argv, stdin: input };
  const wrong = variables.find(([name, value]) => !VARIABLE.test(name) || value.includes('\0'));
  if (wrong) throw new UsageError(`the environment cannot have the variable "${wrong[0]}"`);
  const lines = variables.map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  const exports = Buffer.from(lines.join(''));
  return {
    argv: ['sh', '-c', WITH_ENVIRONMENT, String(exports.length), ...argv],
    stdin: Buffer.concat([exports, input]),
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const KINDS: readonly (readonly [new (...given: never[]) => FleetError, ProviderErrorKind])[] = [
  [HostKeyRejected, 'conflict'],
  [Denied, 'auth'],
  [Cancelled, 'aborted'],
  [UsageError, 'invalid'],
  [Malformed, 'invalid'],
  [UploadFailed, 'permanent'],
  [RemoteFailure, 'permanent'],
];

/** Translates a task's error into the port's. */
async function told<T>(
  doing: string,
  outcome: ProviderError['outcome'],
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await task();
  } catch (cause) {
    if (!(cause instanceof FleetError)) throw cause;
    const kind = KINDS.find(([type]) => cause instanceof type)?.[1] ?? 'transient';
    const isOurs = kind === 'invalid' || kind === 'conflict';
    throw new ProviderError(kind, `${doing}: ${cause.message}`, {
      cause,
      outcome: isOurs ? 'not-done' : outcome,
    });
  }
}
