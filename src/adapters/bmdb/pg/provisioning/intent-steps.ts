import { AmbiguousCommit, WorkConflict } from '../../../../domain/errors.ts';
import type { Witness } from '../../../../domain/ids.ts';
import { isUniqueViolation } from '../errors.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';

/**
 * A step in the life of an intent, which may safely be taken twice: it is repeated when the answer
 * to its COMMIT was lost.
 *
 * At READ COMMITTED: a step first locks its intent, or claims the slot by its unique key, and what
 * is read after that is what is true then. In a snapshot from before that, as at SERIALIZABLE, the
 * machine of an intent that was adopted meanwhile would not be seen, and unique keys are not among
 * the conflicts that abort such a transaction.
 * @throws {SessionExpired}
 */
export async function takeStep<T>(
  session: LiveSession,
  doing: string,
  body: (q: Queries) => Promise<T>,
): Promise<T> {
  const options = {
    doing,
    processor: 'shepherd-provisioner',
    isolation: 'READ COMMITTED',
  } as const;
  const run = () => transactLive(session, options, body);
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof AmbiguousCommit)) throw error;
  }
  try {
    return await run();
  } catch (error) {
    // The lost commit was still under way, and has ended now.
    if (!isUniqueViolation(error)) throw error;
    return run();
  }
}

/** The intent cannot be changed by the caller. */
export const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} is settled or worked on by another session`);
