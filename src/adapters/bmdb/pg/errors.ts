import {
  Denied,
  FleetError,
  NotFound,
  RetryExhausted,
  SchemaMismatch,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';

type ErrorClass = new (message: string, options?: ErrorOptions) => FleetError;

/** First match wins: SQLSTATE of the server, else the code of Node's socket. */
const TABLE: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^08/, Unreachable],
  // Server shutting down, crashed or starting; too many connections.
  [/^57P0[1-5]$/, Unreachable],
  [/^53300$/, Unreachable],
  // Idle in a transaction for too long: the server closed the connection.
  [/^25P03$/, Unreachable],
  [/^E(CONN|PIPE|HOST|NET|NOTFOUND|AI_AGAIN|TIMEDOUT|ACCES|NOENT)/, Unreachable],
  // Statement timeout.
  [/^57014$/, TimedOut],
  [/^28/, Denied],
  [/^42501$/, Denied],
  [/^3D000$/, NotFound],
  [/^42(P01|703|704|883)$/, SchemaMismatch],
  [/^40(001|P01)$/, RetryExhausted],
];
/** What `pg` says without any code when a connection breaks or cannot be had. */
const BROKEN = /connection terminated|connection error|timeout exceeded when trying to connect/i;
const PROTOCOL =
  /timeout expired|query read timeout|client has encountered a connection error|not queryable/i;

/** SQLSTATE or socket code of an error, if it has one. */
export function sqlState(error: unknown): string | null {
  if (error instanceof AggregateError) return sqlState(error.errors[0]);
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** A conflict with another transaction: the whole transaction may be run again. */
export const isSerializationFailure = (error: unknown): boolean => {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
};
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505';

/** The connection is gone; whatever was under way has an unknown outcome if it was a COMMIT. */
export function isConnectionLoss(error: unknown): boolean {
  return translate(error, '') instanceof Unreachable;
}

/** Turns an error of `pg` into one of ours; what is not in the table is passed on unchanged. */
export function translate(error: unknown, doing: string): unknown {
  if (error instanceof FleetError) return error;
  const code = sqlState(error);
  const found = code === null ? undefined : TABLE.find(([pattern]) => pattern.test(code));
  const text = error instanceof Error ? error.message : String(error);
  const made = found?.[1] ?? (BROKEN.test(text) || PROTOCOL.test(text) ? Unreachable : undefined);
  return made ? new made(`could not ${doing}`, { cause: error }) : error;
}
