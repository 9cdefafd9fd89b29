import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import type { HttpFailure } from '../../../http/exchange.ts';
import { retryAtOf } from '../../../http/retry-time.ts';
import { type Message, type Reply, saidIn } from './replies.ts';

/** What a BMC answered instead of what it was asked for; the cause of a `ProviderError`. */
export class Refusal extends Error {
  readonly status: number;
  readonly ids: readonly string[];
  constructor(status: number, messages: readonly Message[]) {
    const said = saidIn({ messages });
    super(`status ${status}${said === '' ? '' : ` (${said})`}`);
    this.status = status;
    this.ids = messages.map(({ id }) => id);
  }
}

/** What of an error came from the BMC's own answer; null: there was none. */
export function refusalIn(error: unknown): Refusal | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof Refusal) return at;
  return null;
}

/** Sessions are all taken: they are tried again after this. */
export const SESSIONS_FULL_MS = 5 * 60_000;

/** The BMC is not ready for it now; asked again, it may be. */
const NOT_NOW = /^(SYS518|InvalidOperationForSystemState|UnableToModifyDuringSystemPOST)$/;
/** What is not implemented on this BMC, whatever the state. */
const NEVER = /(NotSupported|PropertyNotWritable|NotInList)$/;
const UNLICENSED = /Licen[sc]e/i;

export const isSessionsFull = ({ status, ids, message }: Refusal): boolean =>
  [400, 503].includes(status) &&
  (ids.some((id) => /^(RAC0218|SessionLimitExceeded)$/.test(id)) ||
    /maximum number of user sessions/i.test(message));

/** What was asked for is not there; that a machine is gone takes more than that (`readSystem`). */
const isAbsence = ({ status }: Pick<Refusal, 'status'>): boolean => [404, 410].includes(status);
export function isAbsent(error: unknown): boolean {
  const refusal = refusalIn(error);
  return refusal !== null && isAbsence(refusal);
}

/** What was read; null: the BMC does not have it. */
export const unlessAbsent = <T>(read: Promise<T>): Promise<T | null> =>
  read.catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });

export const isNotNow = ({ ids }: Refusal): boolean => ids.some((id) => NOT_NOW.test(id));

/** Asked for once and never again, until the BMC restarts. */
export const isNever = ({ status, ids }: Refusal): boolean =>
  [405, 501].includes(status) || (status === 400 && ids.some((id) => NEVER.test(id)));

const KINDS: Readonly<Record<number, ProviderErrorKind>> = {
  400: 'invalid',
  401: 'auth',
  403: 'auth',
  405: 'not-implemented',
  408: 'transient',
  409: 'conflict',
  412: 'conflict',
  422: 'invalid',
  425: 'transient',
  429: 'transient',
  501: 'not-implemented',
};

function kindOf(refusal: Refusal, changing: boolean): ProviderErrorKind {
  const { status, ids, message } = refusal;
  if (isSessionsFull(refusal) || isNotNow(refusal)) return 'transient';
  if (isNever(refusal)) return 'not-implemented';
  // One that was there to be changed just now may be of a BMC that restarts.
  if (isAbsence(refusal)) return changing ? 'transient' : 'not-implemented';
  if (status === 403 && (ids.some((id) => UNLICENSED.test(id)) || /not licensed/i.test(message))) {
    return 'not-implemented';
  }
  return KINDS[status] ?? (status >= 500 ? 'transient' : 'permanent');
}

export interface Asked {
  /** Such as `POST /redfish/v1/…`. */
  readonly doing: string;
  readonly changing: boolean;
  readonly nowMs: number;
}

/** The port's error for an answer that is no success. */
export function errorOf(reply: Reply, { doing, changing, nowMs }: Asked): ProviderError {
  const { status, headers, messages } = reply;
  const refusal = new Refusal(status, messages);
  const isFull = isSessionsFull(refusal);
  // A redirect may come after the change was made, as may whatever a server says of itself.
  const isVague = !isFull && ((status >= 500 && status !== 501) || status < 400 || status === 408);
  const retryAt = isFull
    ? new Date(nowMs + SESSIONS_FULL_MS)
    : [429, 503].includes(status)
      ? retryAtOf({ get: (name) => textOf(headers[name]) }, nowMs)
      : null;
  return new ProviderError(kindOf(refusal, changing), doing, {
    cause: refusal,
    ...(changing && isVague && { outcome: 'unknown' as const }),
    ...(retryAt !== null && { rateLimit: { retryAt } }),
  });
}

const textOf = (header: string | string[] | undefined) =>
  Array.isArray(header) ? header[0] : header;

/** The port's error for an exchange without a reply. */
export function failureOf(cause: HttpFailure, { doing, changing }: Asked): ProviderError {
  const kind = FAILURES[cause.reason];
  const outcome = changing && cause.sent ? 'unknown' : 'not-done';
  return new ProviderError(kind, doing, { cause, outcome });
}

const FAILURES: Readonly<Record<HttpFailure['reason'], ProviderErrorKind>> = {
  transport: 'transient',
  timeout: 'transient',
  certificate: 'auth',
  oversize: 'permanent',
  aborted: 'aborted',
  unsendable: 'invalid',
};

const AWAY = /^(ECONNREFUSED|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN)$/;

/** Whether nobody took the connection, as far as the system tells. */
export function isAway({ reason, sent, cause }: HttpFailure): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return reason === 'transport' && !sent && AWAY.test(code);
}
