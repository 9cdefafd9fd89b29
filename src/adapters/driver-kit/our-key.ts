import { createHash } from 'node:crypto';
import { ProviderError } from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import { createLocks } from './time-limit.ts';

/** Type and base64 blob of an OpenSSH line; comment and white space are not part of a key. */
export const bareKey = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

/** Whether two OpenSSH lines hold the same key. */
export const isSameKey = (one: string, other: string): boolean => bareKey(one) === bareKey(other);

/** Fingerprint of the key in an OpenSSH line, as `ssh-keygen -l` prints it. */
export function fingerprintOfLine(line: string): string {
  const blob = Buffer.from(bareKey(line).split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** The key for a name at a vendor. */
export interface WantedKey {
  readonly name: string;
  /** Setting that contains the name. */
  readonly nameSetting: string;
  /** OpenSSH line. */
  readonly key: string;
  /** OpenSSH lines of our earlier keys: only these may also have the name. */
  readonly previousKeys: readonly string[];
}

/**
 * Among the keys with our name: our current key, otherwise an earlier one.
 * @throws {ProviderError} `conflict`: the name belongs to a key that is not ours.
 */
export function ourKeyAmong<Key>(
  keys: readonly Key[],
  { name, nameSetting, key: wanted, previousKeys }: WantedKey,
  toldOf: (key: Key) => { readonly id: string; readonly name: string; readonly key: string },
): Key | undefined {
  const named = keys.filter((key) => toldOf(key).name === name);
  const isOneOf = (lines: readonly string[], key: Key) =>
    lines.some((line) => isSameKey(toldOf(key).key, line));
  const unknown = named.find((key) => !isOneOf([wanted, ...previousKeys], key));
  if (unknown !== undefined) {
    const { id, key } = toldOf(unknown);
    throw new ProviderError(
      'conflict',
      `the key ${name} (${id}, ${fingerprintOfLine(key)}) is not ours (${fingerprintOfLine(wanted)}): it ` +
        'may belong to somebody else and is left alone; if it is an earlier key of ours, add its file ' +
        `to ssh.previousKeyPaths and send SIGHUP; otherwise choose another ${nameSetting}`,
    );
  }
  return named.find((key) => isOneOf([wanted], key)) ?? named[0];
}

const BELIEVED_MS = 24 * 3_600_000;

/**
 * Id of our key at a vendor.
 * @param deps `key` is its current OpenSSH line; `store` stores the key if it is missing, and
 *   returns its id.
 */
export function createKeptKey<Call>(deps: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly key: () => string;
  readonly store: (call: Call, key: string) => Promise<string>;
}) {
  const { clock, store } = deps;
  const locks = createLocks();
  let known: { readonly id: string; readonly key: string; readonly untilMs: number } | null = null;

  /** Serialized: two first creations would otherwise store two keys. */
  const take = (call: Call, signal: AbortSignal, isBelieved: boolean): Promise<string> =>
    locks.alone('ssh key', signal, {
      what: 'another call was storing our SSH key',
      task: async () => {
        const key = deps.key();
        const isFresh = known?.key === key && clock.monotonic() < known.untilMs;
        if (isBelieved && isFresh) return known!.id;
        const id = await store(call, key);
        known = { id, key, untilMs: clock.monotonic() + BELIEVED_MS };
        return id;
      },
    });

  return {
    /** Checks whether the key is stored, and stores it if not. */
    ensure: (call: Call, signal: AbortSignal): Promise<string> => take(call, signal, false),
    /** Checks again after a day, or if the key was forgotten or changed. */
    id: (call: Call, signal: AbortSignal): Promise<string> => take(call, signal, true),
    /** Something contradicts the cached id: the next `id` checks again. */
    forget: (): void => void (known = null),
  };
}
