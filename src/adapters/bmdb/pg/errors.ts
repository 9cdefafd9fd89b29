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
 * A pattern, the error class it maps to, and advice for people. The pattern matches the server's
 * SQLSTATE, Node's socket code, or the text of an error of `pg` without a code. The server's own
 * message follows the advice.
 */
type ErrorRule = readonly [matches: RegExp, error: ErrorClass, advice?: string];

const GRANT = 'run "shepherd db migrate --grant-to <role>" as the migrating role';
const READ_ONLY =
  'the server is read-only; give the primary, or all hosts with target_session_attrs=read-write';
const MIGRATE = 'run "shepherd db migrate", or a matching version of the program';
const NO_CONNECTION =
  'the server has no connection left; lower database.poolMax or raise max_connections';
const SILENT = 'the database does not answer; check that it runs, and database.url';
const MISTRUST = 'the certificate of the server is not trusted; check sslmode and sslrootcert';
const FAULTY = 'the server reports an internal error; read its log first';

/** First match wins. Only `Unreachable` and its subclasses are retryable. */
const KINDS: readonly ErrorRule[] = [
  [/^57P03$/, Unreachable, 'the server is starting or stopping; wait'],
  // Shut down by an administrator, crashed, database dropped, or idle for too long.
  [/^57P0[1245]$/, Unreachable, 'the server ended the connection; check that it runs'],
  [/^53300$/, Unreachable, NO_CONNECTION],
  // 25P03: idle in a transaction for too long, so the server closed the connection. 40003: the
  // server itself cannot tell the result of a COMMIT.
  [/^(08|25P03|40003)/, Unreachable],
  [/^E(CONN|PIPE|HOST|NET|NOTFOUND|AI_AGAIN|TIMEDOUT|ACCES|NOENT)/, Unreachable, SILENT],
  [/^25006$/, NotWritable, READ_ONLY],
  [/^53100$/, NotWritable, 'the disk of the server is full; free space there'],
  [/^53/, NotWritable, 'the server is out of memory or at a limit; read its log'],
  // Statement timeout.
  [/^57014$/, TimedOut],
  [/^55P03$/, Locked],
  [/^28/, Denied, 'the server refused the role or its password; check both in database.url'],
  [/^42501$/, Denied, `the role lacks a right; ${GRANT}`],
  [/^3D000$/, NotFound, 'there is no such database; create it, or check database.url'],
  [/^42(P01|703|704|883)$/, SchemaMismatch, `the schema does not match this program; ${MIGRATE}`],
  [/^40(001|P01)$/, RetryExhausted],
  [/^(58|XX00[12])/, RemoteFailure, FAULTY],
  [/^(ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|CERT_)/, Denied, MISTRUST],
];

const SLOW = 'the database does not answer in time; check that it runs, and database.url';
const UNCODED: readonly ErrorRule[] = [
  [/hot standby|during recovery/i, NotWritable, READ_ONLY],
  [
    /does not support SSL/i,
    Denied,
    'the server does not support TLS; check sslmode in database.url',
  ],
  [/client password must be/i, Denied, 'the server requires a password; give one in database.url'],
  [/timeout exceeded when trying to connect|timeout expired/i, Unreachable, SLOW],
  [/connection terminated|connection error|query read timeout|not queryable/i, Unreachable],
];

/** SQLSTATE or socket code of an error; null if it has none. */
export function sqlState(error: unknown): string | null {
  if (error instanceof AggregateError) return sqlState(error.errors[0]);
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** A conflict with another transaction: repeat the whole transaction. */
export const isSerializationFailure = (error: unknown): boolean => {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
};
/**
 * The connection's prepared plan is gone, or useless since the schema changed; nothing was
 * executed. 0A000 has many causes; the server's routine name identifies this one.
 */
export const isStalePlan = (error: unknown): boolean =>
  sqlState(error) === '26000' ||
  (sqlState(error) === '0A000' &&
    (error as { readonly routine?: unknown }).routine === 'RevalidateCachedQuery');
export const isUniqueViolation = (error: unknown): boolean => sqlState(error) === '23505';
/** The machine that the row refers to was deleted meanwhile. */
export const isReferenceViolation = (error: unknown): boolean => sqlState(error) === '23503';

/** The connection is gone. If a COMMIT was under way, its outcome is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  const kind = error instanceof FleetError ? error : translate(error, '');
  return kind instanceof Unreachable && !(kind instanceof NotWritable);
}

/** The server accepts no writes, as after a failover: use another connection. */
export const isReadOnly = (error: unknown): boolean => sqlState(error) === '25006';

/**
 * `role@host:port/database` of a URL with all its hosts, for messages; never the password. Empty if
 * the text is no database URL.
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
 * Translates an error of `pg` into a `FleetError`; unknown errors pass unchanged.
 * @param doing the operation and its subject; begins the message: `could not …`.
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

function kindOf(error: unknown): ErrorRule | undefined {
  const code = sqlState(error);
  const found = code === null ? undefined : KINDS.find(([matches]) => matches.test(code));
  const text = error instanceof Error ? error.message : String(error);
  return found ?? UNCODED.find(([matches]) => matches.test(text));
}
