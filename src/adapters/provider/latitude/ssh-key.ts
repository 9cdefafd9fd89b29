import { ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../http/call.ts';
import { mutate } from '../../http/mutation.ts';
import { createLocks } from '../../kit/locks.ts';
import { bareKey, fingerprintOfLine, isSameKey, unknownKeyAdvice } from '../../kit/public-key.ts';
import type { Routes } from './client/routes.ts';
import type { SshKey } from './client/schema.ts';
import type { LatitudeConfig } from './project-config.ts';

/** Our key in the project. */
export interface OurSshKey {
  /** Its id. It is looked at again after a day, or when it was forgotten or changed. */
  id(call: Call, signal: AbortSignal): Promise<string>;
  /** Looks whether it is there, and puts it in place if not. */
  ensure(call: Call, signal: AbortSignal): Promise<string>;
}

const BELIEVED_MS = 24 * 3_600_000;

export function createOurSshKey(
  config: Pick<LatitudeConfig, 'sshKeyName' | 'publicKeyLine' | 'previousKeyLines'>,
  { routes, clock }: { readonly routes: Routes; readonly clock: Pick<Clock, 'monotonic'> },
): OurSshKey {
  const locks = createLocks();
  let known: { readonly id: string; readonly key: string; readonly untilMs: number } | null = null;

  /** The one with our name and our key; else another one that is our key. */
  async function find(call: Call, wanted: string): Promise<SshKey | null> {
    const { sshKeyName: name, previousKeyLines } = config;
    const { items, complete } = await routes.listSshKeys(call);
    const isOneOf = (lines: readonly string[], { public_key: key = '' }: SshKey) =>
      lines.some((line) => isSameKey(key, line));
    const named = items.filter((key) => key.name === name);
    // An earlier key of ours stays beside the current one: this API replaces no key.
    const unknown = named.find((key) => !isOneOf([wanted, ...previousKeyLines], key));
    if (unknown) {
      const seen = fingerprintOfLine(unknown.public_key ?? '');
      throw new ProviderError(
        'conflict',
        `the key ${name} of the project (${unknown.id}, ${seen}) is not ours ` +
          `(${fingerprintOfLine(wanted)}): ${unknownKeyAdvice('sshKeyName')}`,
      );
    }
    const isOurs = (key: SshKey) => isOneOf([wanted], key);
    const found = named.find(isOurs) ?? items.find(isOurs) ?? null;
    if (found || complete) return found;
    throw call.error('PartialListing', 'our SSH key may have been left out');
  }

  async function store(call: Call): Promise<string> {
    const { sshKeyName: name, publicKeyLine: key } = config;
    const there = await find(call, key);
    const { id } =
      there ??
      (await mutate(call, {
        endpoint: 'CreateSshKey',
        // Without its comment, which is nobody's business.
        send: () => routes.postSshKey(call, name, bareKey(key)),
        look: async () => {
          const value = await find(call, key);
          return value && { value };
        },
        // Another daemon may have stored it a moment ago: the project takes a key once.
        looksAfter: ({ status }) => status === 422,
        repeatsMax: 2,
      }));
    known = { id, key, untilMs: clock.monotonic() + BELIEVED_MS };
    return id;
  }

  /** One at a time, or two first creations would store two keys. */
  async function alone(signal: AbortSignal, task: () => Promise<string>): Promise<string> {
    const unlock = await locks.take('ssh key', signal).catch((cause: unknown) => {
      throw new ProviderError('aborted', 'our SSH key was being put in place', { cause });
    });
    try {
      return await task();
    } finally {
      unlock();
    }
  }

  return {
    ensure: (call, signal) => alone(signal, () => store(call)),
    id: (call, signal) =>
      alone(signal, async () => {
        const isKnown = known?.key === config.publicKeyLine && clock.monotonic() < known.untilMs;
        return isKnown ? known!.id : store(call);
      }),
  };
}
