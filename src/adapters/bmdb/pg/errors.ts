import {
  Denied,
  FleetError,
  Locked,
  NotFound,
  NotWritable,
  RemoteFailure,
  RetryExhausted,
  SchemaMismatch,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';
import { hostUrlsOf } from './host-urls.ts';

type ErrorClass = new (message: string, options?: ErrorOptions) => FleetError;
/**
 * Matches the SQLSTATE of the server, else the code of Node's socket, or what `pg` says without any code;
 * which error that is; what is wrong and what to do, for people. The server's own words follow that.
 */
type Kind = readonly [matches: RegExp, error: ErrorClass, advice?: string];

const GRANT = 'run "shepherd db migrate --grant-to <role>" as the role that migrates';
const READ_ONLY =
  'the server is read-only; name the primary, or all hosts with target_session_attrs=read-write';
const MIGRATE = 'run "shepherd db migrate", or the version of the program that fits';
const NO_CONNECTION =
  'the server has no connection left; lower database.poolMax or raise max_connections';
const SILENT = 'the database does not answer; see that it runs, and check database.url';
const MISTRUST = 'the certificate of the server is not trusted; check sslmode and sslrootcert';
const FAULTY = 'the server reports a fault of its own; look at its log before anything else';

/** First match wins. `Unreachable` and its kin are retryable, the others are not. */
const KINDS: readonly Kind[] = [
  [/^57P03$/, Unreachable, 'the server is starting or stopping; wait for it'],
  // Shut down by somebody, crashed, its database dropped, or idle for too long.
  [/^57P0[1245]$/, Unreachable, 'the server ended the connection; see that it runs'],
  [/^53300$/, Unreachable, NO_CONNECTION],
  // Idle in a transaction for too long: the server closed the connection. 40003: the server itself
  // cannot say what became of a COMMIT.
  [/^(08|25P03|40003)/, Unreachable],
  [/^E(CONN|PIPE|HOST|NET|NOTFOUND|AI_AGAIN|TIMEDOUT|ACCES|NOENT)/, Unreachable, SILENT],
  [/^25006$/, NotWritable, READ_ONLY],
  [/^53100$/, NotWritable, 'the disk of the server is full; make room there'],
  [/^53/, NotWritable, 'the server is out of memory or at a limit; look at its log'],
  // Statement timeout.
  [/^57014$/, TimedOut],
  [/^55P03$/, Locked],
  [/^28/, Denied, 'the server refused the role or its password; check both in database.url'],
  [/^42501$/, Denied, `the role lacks a right; ${GRANT}`],
  [/^3D000$/, NotFound, 'there is no such database; make it, or check database.url'],
  [
    /^42(P01|703|704|883)$/,
    SchemaMismatch,
    `the schema is not the one that this program works with; ${MIGRATE}`,
  ],
  [/^40(001|P01)$/, RetryExhausted],
  [/^(58|XX00[12])/, RemoteFailure, FAULTY],
  [/^(ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|CERT_)/, Denied, MISTRUST],
];

const SLOW = 'the database does not answer in time; see that it runs, and check database.url';
const UNCODED: readonly Kind[] = [
  [/hot standby|during recovery/i, NotWritable, READ_ONLY],
  [/does not support SSL/i, Denied, 'the server speaks no TLS; check sslmode in database.url'],
  [/client password must be/i, Denied, 'the server asks for a password; give one in database.url'],
  [/timeout exceeded when trying to connect|timeout expired/i, Unreachable, SLOW],
  [/connection terminated|connection error|query read timeout|not queryable/i, Unreachable],
];

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
/**
 * The plan that the connection keeps is of no use since the schema changed, or is gone: nothing was
 * run. 0A000 has many causes; the server names the one by the routine that found it.
 */
export const isStalePlan = (error: unknown): boolean =>
  sqlState(error) === '26000' ||
  (sqlState(error) === '0A000' &&
    (error as { readonly routine?: unknown }).routine === 'RevalidateCachedQuery');
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505';
/** The machine that a row was to belong to was deleted meanwhile. */
export const isReferenceViolation = (error: unknown): boolean => sqlState(error) === '23503';

/** The connection is gone; whatever was under way has an unknown outcome if it was a COMMIT. */
export function isConnectionLoss(error: unknown): boolean {
  const kind = error instanceof FleetError ? error : translate(error, '');
  return kind instanceof Unreachable && !(kind instanceof NotWritable);
}

/** The connection leads to a server that takes no writes, as after a failover: get another. */
export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006';

/**
 * `role@host:port/database` of a URL, for messages, with all of its hosts: never its password. Empty
 * when it is none.
 */
export function whereOf(url: string): string {
  const { urls } = hostUrlsOf(url);
  const [first, ...others] = urls.map(partsOf);
  if (!first) return '';
  const hosts = [first, ...others].map((each) => each?.place).join(',');
  return `${first.role === '' ? '' : `${first.role}@`}${hosts}/${first.database}`;
}

function partsOf(url: string) {
  if (!URL.canParse(url)) return null;
  const { username, hostname, port, pathname, searchParams } = new URL(url);
  const role = decodeURIComponent(username) || searchParams.get('user') || '';
  const host = hostname || searchParams.get('host') || 'localhost';
  const place = `${host}:${port || searchParams.get('port') || '5432'}`;
  return { role, place, database: decodeURIComponent(pathname.slice(1)) || role };
}

/**
 * Turns an error of `pg` into one of ours; what is of no known kind is passed on unchanged.
 * @param doing what was being done to what; begins the message: `could not …`.
 * @param where result of `whereOf`.
 */
export function translate(error: unknown, doing: string, where = ''): unknown {
  if (error instanceof FleetError) return error;
  const kind = kindOf(error);
  if (!kind) return error;
  const [, Known, advice] = kind;
  const what = `could not ${doing}${where === '' ? '' : ` (${where})`}`;
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  return new Known(advice ? `${what}: ${advice}` : what, { cause });
}

function kindOf(error: unknown): Kind | undefined {
  const code = sqlState(error);
  const found = code === null ? undefined : KINDS.find(([matches]) => matches.test(code));
  const text = error instanceof Error ? error.message : String(error);
  return found ?? UNCODED.find(([matches]) => matches.test(text));
}
