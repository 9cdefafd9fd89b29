import {
  Cancelled,
  Denied,
  type FleetError,
  Malformed,
  RemoteFailure,
  Throttled,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import { ApiError, type ApiErrorKind } from '../../http/errors.ts';

type Plain = new (message: string, options?: ErrorOptions) => FleetError;

const ERRORS: Readonly<Partial<Record<ApiErrorKind, Plain>>> = {
  Unauthorized: Denied,
  Forbidden: Denied,
  Network: Unreachable,
  Deadline: TimedOut,
  Cancelled,
  Protocol: Malformed,
  InvalidArgument: Malformed,
};

/** The port's error for one of the client's, saying what was being done; passes everything else. */
function toFleetError(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const cause = { cause: error };
  if (error.retryAt !== undefined) {
    const until = new Date(error.retryAt).toISOString();
    return new Throttled(
      `${doing}: the account is not to be asked before ${until}`,
      error.retryAt,
      cause,
    );
  }
  // A change that nobody answered, and nobody refused.
  const isUnanswered = error.kind === 'OutcomeUnknown' && error.status === undefined;
  const Kind = isUnanswered ? Unreachable : (ERRORS[error.kind] ?? RemoteFailure);
  return new Kind(doing, cause);
}

/** Runs something, and makes whatever the client throws one of the port's errors. */
export async function toFleetErrors<T>(doing: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof RemoteFailure) throw new RemoteFailure(`${doing}: ${error.message}`);
    throw toFleetError(error, doing);
  }
}
