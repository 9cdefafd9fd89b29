import type { Bmdb, RecordRepository } from '../../adapters/bmdb/port.ts';
import type { RecordOptions, Records } from '../../adapters/provider/port.ts';
import {
  AmbiguousCommit,
  isProviderError,
  isRetryable,
  ProviderError,
  SessionExpired,
} from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';

/** Read-only records, for commands without a session. */
export const createReadRecords = (provider: ProviderName, bmdb: RecordsDeps['bmdb']): Records =>
  createRecords(provider, { bmdb, repository: () => refuseToWrite(provider) });

function refuseToWrite(provider: ProviderName): never {
  const what = `this command does not write the records of provider ${provider}`;
  throw new ProviderError('permanent', `${what}: a running daemon does`);
}

interface RecordsDeps {
  readonly bmdb: Pick<Bmdb, 'records'>;
  /** The live session's records. @throws {FleetError} there is no session. */
  readonly repository: () => RecordRepository;
}

/** A driver's records for a configured provider: rows of the BMDB. */
export function createRecords(provider: ProviderName, { bmdb, repository }: RecordsDeps): Records {
  const of = (key: string) => ({ provider, key });
  return {
    all: (options) => asked(options, READ, () => bmdb.records.all(provider, options.signal)),
    make: (key, value, options) => asked(options, FIRST, () => repository().make(of(key), value)),
    replace: (key, value, version, options) =>
      asked(options, LATER, () => repository().replace(of(key), value, version)),
    drop: (key, version, options) =>
      asked(options, LATER, () => repository().drop(of(key), version)),
  };
}

/** Possible effects of a failure: before a write began, and after. */
interface Outcomes {
  readonly before: 'not-done' | 'unknown';
  readonly begun: 'not-done' | 'unknown';
}
const READ: Outcomes = { before: 'not-done', begun: 'not-done' };
/** Nothing was requested from the vendor yet; at most a record announces it. */
const FIRST: Outcomes = { before: 'not-done', begun: 'unknown' };
/** Usually something was requested: the error must not claim that nothing was done. */
const LATER: Outcomes = { before: 'unknown', begun: 'unknown' };

/** A write that has begun completes; an aborted caller does not wait for it. */
async function asked<T>(
  { signal }: RecordOptions,
  outcomes: Outcomes,
  act: () => Promise<T>,
): Promise<T> {
  if (signal.aborted) throw calledOff(signal, outcomes.before);
  const called = new AbortController();
  const off = new Promise<never>((_, reject) => {
    const onAbort = () => reject(calledOff(signal, outcomes.begun));
    signal.addEventListener('abort', onAbort, { once: true, signal: called.signal });
  });
  try {
    return await Promise.race([act(), off]);
  } catch (error) {
    throw translated(error, outcomes);
  } finally {
    called.abort();
  }
}

const calledOff = (signal: AbortSignal, outcome: 'not-done' | 'unknown') =>
  new ProviderError('aborted', 'a request for a record was aborted', {
    cause: signal.reason,
    outcome,
  });

/** Translates a BMDB error for a driver; our own bugs pass unchanged. */
function translated(error: unknown, { before, begun }: Outcomes): unknown {
  if (isProviderError(error)) return error;
  const options = { cause: error, outcome: before };
  if (error instanceof SessionExpired) {
    return new ProviderError('aborted', 'the session of this daemon has ended', options);
  }
  if (error instanceof AmbiguousCommit) {
    const text = 'whether a record was written is unknown: read it again';
    return new ProviderError('transient', text, { ...options, outcome: begun });
  }
  return isRetryable(error)
    ? new ProviderError('transient', 'the database of records does not answer', options)
    : error;
}
