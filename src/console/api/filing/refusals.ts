import {
  AmbiguousCommit,
  BatchRefused,
  FleetError,
  KeyReused,
  NotFound,
  NothingToDo,
  UsageError,
} from '../../../domain/errors.ts';
import { explain } from '../../../domain/errors.ts';
import { Problem } from '../problem.ts';
import { byReason } from './answers.ts';

/** A database that is away is asked again after so long. */
const RETRY_SECONDS = 5;

/** Carries out a step of filing, or of looking at what was filed. @throws {Problem} what failed. */
export async function asProblems<T>(step: () => T | Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw error instanceof FleetError && !(error instanceof Problem) ? problemOf(error) : error;
  }
}

function problemOf(error: FleetError): Problem {
  if (error instanceof KeyReused) return new Problem('key-reused', error.message);
  if (error instanceof UsageError) return new Problem('malformed', error.message);
  if (error instanceof NotFound) return new Problem('not-found', error.message);
  if (error instanceof BatchRefused) return batchProblem(error);
  if (error instanceof NothingToDo) return new Problem('refused', error.message);
  if (!error.retryable && !(error instanceof AmbiguousCommit)) {
    return new Problem('internal', 'Internal error; the log of the daemon tells more', {
      cause: error,
    });
  }
  const detail = `${explain(error)}; asking again with the same key files nothing twice`;
  return new Problem('unavailable', detail, { retryAfterSeconds: RETRY_SECONDS, cause: error });
}

/** A request of a batch has the key `<key>/<slot>`. */
function batchProblem(error: BatchRefused): Problem {
  const found = error.refusals.map(({ key, cause }) => ({ slot: key, reason: cause.message }));
  return new Problem('refused', error.message, { members: { refusals: byReason(found) } });
}
