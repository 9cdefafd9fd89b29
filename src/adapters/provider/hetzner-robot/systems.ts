import { createHash } from 'node:crypto';
import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { isLost } from '../../driver-kit/errors.ts';
import { bareKey } from '../../driver-kit/our-key.ts';
import type { DriverContext, DriverShell, DriverShellSession, HostKeyRule } from '../port.ts';
import type { RobotClient, Sending } from './client.ts';
import { shortWitness } from './mapping.ts';
import { lookScript, readLook, whole, type Seen } from './scripts.ts';

/**
 * Of a public key as Robot names keys: MD5 of the blob, in lower-case pairs with colons. It is compared
 * with what Robot tells over TLS, and proves nothing by itself.
 * @param blob the wire form, or base64 of it.
 */
export function md5Of(blob: Buffer | string): string {
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64') : blob;
  const digest = createHash('md5').update(bytes).digest('hex');
  return digest.match(/../g)!.join(':');
}

/** Of the key in an OpenSSH line. */
export const md5OfLine = (line: string): string => md5Of(bareKey(line).split(' ')[1] ?? '');

/** Who answered. */
export type Answer =
  | { readonly kind: 'silent'; readonly cause: unknown }
  /** It let none of our keys in. */
  | { readonly kind: 'closed' }
  /** Its host key is not one that may be; nothing was run. */
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

/** For a look that gives nothing away: what it sees is proven otherwise, or is of no account. */
export const ANY_NEW_KEY: HostKeyRule = { unlike: [], note: async () => undefined };

const RESCUE_HOSTNAME = 'rescue';

/** What the rescue system may show: what Robot told, or anything but the key of the installed system. */
export const rescueKeyRule = (claim: {
  readonly rescueKeys: readonly string[];
  readonly systemKey: string | null;
}): HostKeyRule =>
  claim.rescueKeys.length > 0
    ? { told: claim.rescueKeys }
    : { ...ANY_NEW_KEY, unlike: claim.systemKey === null ? [] : [claim.systemKey] };

/** Whether the rule for its rescue system allows a key that was seen without it. */
export const isRescueKey = (
  claim: Parameters<typeof rescueKeyRule>[0],
  { hostKey, fingerprint }: SystemAnswer<'rescue'>,
): boolean =>
  claim.rescueKeys.length > 0
    ? claim.rescueKeys.includes(md5Of(hostKey))
    : fingerprint !== claim.systemKey;

/** A script ended with another status than 0. Its message holds nothing of what the script wrote. */
export class ScriptFailed extends Error {
  /** Null: a signal ended it. */
  readonly exitCode: number | null;
  readonly stderr: string;
  constructor(exitCode: number | null, stderr: string) {
    super(`a script ended with status ${exitCode}`);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

/** @param port where SSH is on every machine. */
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
    /** Looks who answers at an address; changes nothing. Rejects only when called off. */
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
     * Runs a script by `sh -s` where a look just was, if the same host key answers.
     * @throws {ScriptFailed} @throws {ProviderError} `transient`, `outcome: 'unknown'`: it may have run.
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
  new ProviderError('aborted', 'called off on its way', { cause, outcome: 'unknown' });

/** The one key that rescue systems and new machines let in. @param name of it at Robot. */
export function createOurKey(
  client: Pick<RobotClient, 'findKey' | 'storeKey'>,
  name: string,
  context: Pick<DriverContext, 'publicKey' | 'previousKeys'>,
) {
  /** Fingerprint of the one that is known to be there. */
  let stored: string | null = null;
  return {
    /** Whether this is the fingerprint of an earlier key of ours. */
    isPrevious: (md5: string): boolean =>
      (context.previousKeys ?? []).some((line) => md5OfLine(line) === md5),
    /** Its fingerprint at Robot, once it is stored there. Asked for once in a process for each key. */
    async ensure(how: Sending): Promise<string> {
      const key = context.publicKey;
      if (bareKey(key).split(' ').length !== 2) {
        throw new ProviderError('invalid', 'our public key is no line of OpenSSH');
      }
      const md5 = md5OfLine(key);
      if (stored === md5) return md5;
      // Keys are unique by their value: one that is there by another name will do.
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
