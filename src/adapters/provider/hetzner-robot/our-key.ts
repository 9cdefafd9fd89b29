import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { bareKey } from '../../kit/public-key.ts';
import type { RobotClient, Sending } from './client/client.ts';
import { md5OfLine } from './fingerprint.ts';

/** The one key that rescue systems and new machines let in. */
export interface OurKey {
  /** Its fingerprint at Robot, once it is stored there. Asked for once in a process for each key. */
  ensure(how: Sending): Promise<string>;
  /** OpenSSH line, as it is now. */
  line(): string;
  /** Whether this is the fingerprint of an earlier key of ours. */
  isPrevious(md5: string): boolean;
}

interface OurKeyOptions {
  readonly name: string;
  /** May answer with another key later, as may the next. */
  readonly line: () => string;
  readonly previousLines: () => readonly string[];
}

export function createOurKey(
  client: Pick<RobotClient, 'findKey' | 'storeKey'>,
  { name, line, previousLines }: OurKeyOptions,
): OurKey {
  /** Fingerprint of the one that is known to be there. */
  let stored: string | null = null;
  return {
    line,
    isPrevious: (md5) => previousLines().some((previous) => md5OfLine(previous) === md5),
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
