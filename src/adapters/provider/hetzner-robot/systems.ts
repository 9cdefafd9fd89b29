import { createHash } from 'node:crypto';
import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { isLost } from '../../driver-kit/errors.ts';
import { bareKey } from '../../driver-kit/our-key.ts';
import type { DriverContext, DriverShell, DriverShellSession, HostKeyRule } from '../port.ts';
import type { RobotClient, Sending } from './client.ts';
import { shortWitness } from './mapping.ts';
import { lookScript, readLook, whole, type Seen } from './scripts.ts';

/**
 * Fingerprint of a public key as Robot shows it: MD5 of the blob, lower-case pairs with colons.
 * Compared with Robot's report over TLS; proves nothing by itself.
 * @param blob the wire form, or base64 of it.
 */
export function md5Of(blob: Buffer | string): string {
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob;
  const digest = createHash('md5').update(bytes).digest('hex');
  return digest.match(/../g)!.join(':');
}

/** Fingerprint of the key in an OpenSSH line. */
export const md5OfLine = (line: string): string => md5Of(bareKey(line).split(' ')[1] ?? '');

/** Who answered. */
export type Answer =
  | { readonly kind: 'silent'; readonly cause: unknown }
  /** The system refused all our keys. */
  | { readonly kind: 'closed' }
  /** The host key is not permitted; nothing was run. */
  | { readonly kind: 'stranger' }
  | SystemAnswer<'rescue'>
  | SystemAnswer<'system'>;
export interface SystemAnswer<Kind extends 'rescue' | 'system'> {
  readonly kind: Kind;
  readonly seen: Seen;
  /** Base64 of the wire form. */
  readonly hostKey: string;
  /** `SHA256:…` */
  readonly fingerprint: string;
}

/** For a check that reveals nothing: its result is proved otherwise, or does not matter. */
export const ANY_NEW_KEY: HostKeyRule = { unlike: [], note: async () => undefined };

const RESCUE_HOSTNAME = 'rescue';

/**
 * Host keys permitted for the rescue system: those that Robot reported, otherwise any but the
 * installed system's.
 */
export const rescueKeyRule = (claim: {
  readonly rescueKeys: readonly string[];
  readonly systemKey: string | null;
}): HostKeyRule =>
  claim.rescueKeys.length > 0
    ? { told: claim.rescueKeys }
    : { ...ANY_NEW_KEY, unlike: claim.systemKey === null ? [] : [claim.systemKey] };

/** Whether the rescue system's rule permits a key. */
export const isRescueKey = (
  claim: Parameters<typeof rescueKeyRule>[0],
  { hostKey, fingerprint }: SystemAnswer<'rescue'>,
): boolean =>
  claim.rescueKeys.length > 0
    ? claim.rescueKeys.includes(md5Of(hostKey))
    : fingerprint !== claim.systemKey;

/** A script failed. The message contains nothing of the script's output. */
export class ScriptFailed extends Error {
  /** Null if a signal ended the script. */
  readonly exitCode: number | null;
  readonly stderr: string;
  constructor(exitCode: number | null, stderr: string) {
    super(`a script ended with status ${exitCode}`);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** @param port SSH port of every machine. */
export function createSystems(shell: DriverShell, port: number) {
  async function within<T>(
    address: string,
    hostKey: HostKeyRule,
    signal: AbortSignal,
    work: (session: DriverShellSession) => Promise<T>,
  ): Promise<T> {
    const host = address.replace(/^\[(.*)\]$/, '$1');
    const session = await shell.connect({ host, port, username: 'root', hostKey }, { signal });
    try {
      return await work(session);
    } finally {
      session.close();
    }
  }

  async function runScript(
    session: DriverShellSession,
    script: string,
    signal: AbortSignal,
  ): Promise<string> {
    const command = { argv: ['sh', '-s'], stdin: whole(script) };
    const { exitCode, stdout, stderr } = await session.execute(command, { signal });
    if (exitCode === 0) return stdout;
    throw new ScriptFailed(exitCode, stderr);
  }

  return {
    /** Identifies the system at an address; changes nothing. Rejects only if aborted. */
    async look(
      address: string | null,
      witness: string,
      rule: HostKeyRule,
      signal: AbortSignal,
    ): Promise<Answer> {
      if (address === null) return { kind: 'silent', cause: new Error('it has no address') };
      try {
        return await within(address, rule, signal, async (session) => {
          const seen = readLook(
            await runScript(session, lookScript(shortWitness(witness)), signal),
          );
          const { hostKey, fingerprint } = session;
          const kind = seen.hostname === RESCUE_HOSTNAME ? 'rescue' : 'system';
          return { kind, seen, hostKey, fingerprint };
        });
      } catch (cause) {
        if (signal.aborted) throw calledOff(cause);
        if (isProviderError(cause, 'conflict')) return { kind: 'stranger' };
        if (isProviderError(cause, 'auth')) return { kind: 'closed' };
        if (isProviderError(cause, 'invalid')) throw cause;
        if (isProviderError(cause) || cause instanceof ScriptFailed)
          return { kind: 'silent', cause };
        throw cause;
      }
    },
    /**
     * Runs a script by `sh -s` on the system just identified, if the same host key answers.
     * @throws {ScriptFailed} @throws {ProviderError} `transient`, `outcome: 'unknown'`: it may have
     *   run.
     */
    async run(
      address: string,
      { fingerprint }: Pick<SystemAnswer<'rescue'>, 'fingerprint'>,
      script: string,
      signal: AbortSignal,
    ): Promise<string> {
      try {
        return await within(address, { told: [fingerprint] }, signal, (session) =>
          runScript(session, script, signal),
        );
      } catch (cause) {
        if (signal.aborted) throw calledOff(cause);
        if (!isProviderError(cause)) throw cause;
        throw new ProviderError('transient', 'a script may have run', {
          cause,
          outcome: 'unknown',
        });
      }
    },
  };
}
export type Systems = ReturnType<typeof createSystems>;

const calledOff = (cause: unknown): ProviderError =>
  new ProviderError('aborted', 'cancelled before it ended', { cause, outcome: 'unknown' });

/** The only key permitted in rescue systems and new machines. @param name its name at Robot. */
export function createOurKey(
  client: Pick<RobotClient, 'findKey' | 'storeKey'>,
  name: string,
  context: Pick<DriverContext, 'publicKey' | 'previousKeys'>,
) {
  /** Fingerprint of the key known to be stored. */
  let stored: string | null = null;
  return {
    /** Whether this is an earlier key's fingerprint. */
    isPrevious: (md5: string): boolean =>
      (context.previousKeys ?? []).some((line) => md5OfLine(line) === md5),
    /** Stores the key at Robot if necessary; returns its fingerprint. Once per process and key. */
    async ensure(how: Sending): Promise<string> {
      const key = context.publicKey;
      if (bareKey(key).split(' ').length !== 2) {
        throw new ProviderError('invalid', 'our public key is not an OpenSSH line');
      }
      const md5 = md5OfLine(key);
      if (stored === md5) return md5;
      // Keys are unique by value: one stored under another name is fine.
      if (!(await client.findKey(md5, how))) await store(key, how);
      stored = md5;
      return md5;
    },
  };

  async function store(key: string, how: Sending): Promise<void> {
    try {
      await client.storeKey(name, key, how);
    } catch (error) {
      const mayBeThere = isProviderError(error, 'conflict') || isLost(error);
      if (!mayBeThere || !(await client.findKey(md5OfLine(key), how))) throw error;
    }
  }
}
export type OurKey = ReturnType<typeof createOurKey>;
