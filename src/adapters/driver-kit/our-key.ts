import { createHash } from 'node:crypto';
import { ProviderError } from '../../domain/errors.ts';
import type { Clock } from '../clock/port.ts';
import { createLocks } from './time-limit.ts';

/** Kind and base64 blob of an OpenSSH line; comment and white space are not part of a key. */
export const bareKey = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

/** Whether two OpenSSH lines hold the same key. */
export const isSameKey = (one: string, other: string): boolean => bareKey(one) === bareKey(other);

/** Fingerprint of the key in an OpenSSH line, as `ssh-keygen -l` prints it. */
export function fingerprintOfLine(line: string): string {
  const blob = Buffer.from(bareKey(line).split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** The key that a name at a vendor has to hold. */
export interface WantedKey {
  readonly name: string;
  /** The setting that the name stands in. */
  readonly nameSetting: string;
  /** OpenSSH line. */
  readonly key: string;
  /** OpenSSH lines of the earlier keys of ours: only these may have the name, too. */
  readonly previousKeys: readonly string[];
}

/**
 * Of the keys with our name: our key, or else an earlier one of ours.
 * @throws {ProviderError} `conflict`: one that is not known as ours has the name.
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
        'may belong to somebody else and is left alone; if it is an earlier key of ours, list its file ' +
        `in ssh.previousKeyPaths and send SIGHUP; otherwise choose another ${nameSetting}`,
    );
  }
  return named.find((key) => isOneOf([wanted], key)) ?? named[0];
}

const BELIEVED_MS = 24 * 3_600_000;

/**
 * The id of our key at a vendor.
 * @param deps `key` is its OpenSSH line now; `store` looks whether it is there, puts it in place if not, and
 *   answers with its id.
 */
export function createKeptKey<Call>(deps: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly key: () => string;
  readonly store: (call: Call, key: string) => Promise<string>;
}) {
  const { clock, store } = deps;
  const locks = createLocks();
  let known: { readonly id: string; readonly key: string; readonly untilMs: number } | null = null;

  /** One at a time, or two first creations would store two keys. */
  const take = (call: Call, signal: AbortSignal, isBelieved: boolean): Promise<string> =>
    locks.alone('ssh key', signal, {
      what: 'our SSH key was being put in place',
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
    /** Looks whether it is there and stores it if not. */
    ensure: (call: Call, signal: AbortSignal): Promise<string> => take(call, signal, false),
    /** It is looked at again after a day, or when it was forgotten or changed. */
    id: (call: Call, signal: AbortSignal): Promise<string> => take(call, signal, true),
    /** Something speaks against it: the next `id` looks for itself. */
    forget: (): void => void (known = null),
  };
}
