import type { Bmdb, RecordBook } from '../../adapters/bmdb/port.ts';
import type { RecordOptions, Records } from '../../adapters/provider/port.ts';
import {
  AmbiguousCommit,
  isProviderError,
  isRetryable,
  ProviderError,
  SessionExpired,
} from '../../domain/errors.ts';
import type { ProviderName } from '../../domain/ids.ts';

/** To read only: for commands, which have no session. */
export const createReadRecords = (provider: ProviderName, bmdb: RecordsDeps['bmdb']): Records =>
  createRecords(provider, { bmdb, book: () => refuseToWrite(provider) });

function refuseToWrite(provider: ProviderName): never {
  const what = `this command does not write the records of provider ${provider}`;
  throw new ProviderError('permanent', `${what}: a running daemon does`);
}

interface RecordsDeps {
  readonly bmdb: Pick<Bmdb, 'records'>;
  /** Of the session that is alive. @throws {FleetError} there is none. */
  readonly book: () => RecordBook;
}

/** The records of a configured provider, as its driver has them: rows of the BMDB. */
export function createRecords(provider: ProviderName, { bmdb, book }: RecordsDeps): Records {
  const of = (key: string) => ({ provider, key });
  return {
    all: (options) => asked(options, READ, () => bmdb.records.all(provider, options.signal)),
    make: (key, value, options) => asked(options, FIRST, () => book().make(of(key), value)),
    replace: (key, value, version, options) =>
      asked(options, LATER, () => book().replace(of(key), value, version)),
    drop: (key, version, options) => asked(options, LATER, () => book().drop(of(key), version)),
  };
}

/** What may have been done where it failed: before it was begun, and once it was. */
interface Outcomes {
  readonly before: 'not-done' | 'unknown';
  readonly begun: 'not-done' | 'unknown';
}
const READ: Outcomes = { before: 'not-done', begun: 'not-done' };
/** Nothing was asked of the vendor yet; at most there is a record of that. */
const FIRST: Outcomes = { before: 'not-done', begun: 'unknown' };
/** Something was, as a rule: who lets the error through must not say that nothing was done. */
const LATER: Outcomes = { before: 'unknown', begun: 'unknown' };

/** A write that has been begun ends by itself; whoever called it off does not wait for it. */
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
  new ProviderError('aborted', 'a record was asked for, and called off', {
    cause: signal.reason,
    outcome,
  });

/** What the BMDB rejects with, as a driver knows it; a mistake of ours stays one. */
function translated(error: unknown, { before, begun }: Outcomes): unknown {
  if (isProviderError(error)) return error;
  const options = { cause: error, outcome: before };
  if (error instanceof SessionExpired) {
    return new ProviderError('aborted', 'the session of this daemon has ended', options);
  }
  if (error instanceof AmbiguousCommit) {
    const text = 'it is not known whether a record was written: read it again';
    return new ProviderError('transient', text, { ...options, outcome: begun });
  }
  return isRetryable(error)
    ? new ProviderError('transient', 'the database of records does not answer', options)
    : error;
}
