import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { RobotClient, Sending } from './client/client.ts';
import { bareKey, md5OfLine } from './fingerprint.ts';

/** The one key that rescue systems and new machines let in. */
export interface OurKey {
  /** Its fingerprint at Robot, once it is stored there. Asked for once in a process for each key. */
  ensure(how: Sending): Promise<string>;
  /** OpenSSH line, as it is now. */
  line(): string;
}

/** @param line may answer with another key later. */
export function createOurKey(
  client: Pick<RobotClient, 'findKey' | 'storeKey'>,
  { name, line }: { readonly name: string; readonly line: () => string },
): OurKey {
  /** Fingerprint of the one that is known to be there. */
  let stored: string | null = null;
  return {
    line,
    async ensure(how) {
      const key = line();
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
      await client.storeKey({ name, line: key }, how);
    } catch (error) {
      const mayBeThere =
        isProviderError(error, 'conflict') ||
        (isProviderError(error) && error.outcome === 'unknown');
      if (!mayBeThere || !(await client.findKey(md5OfLine(key), how))) throw error;
    }
  }
}
