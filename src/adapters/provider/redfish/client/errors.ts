import { z } from 'zod';
import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import type { HttpReply, HttpFailure } from '../../../driver-kit/exchange.ts';
import { retryAtOf } from '../../../driver-kit/outcome.ts';
import type { Redact } from '../../../driver-kit/redaction.ts';

/** The service root; needs no login. */
export const ROOT_PATH = '/redfish/v1/';

const OWN_PATH = /^\/redfish\/[\x21-\x7e]*$/;
/** What another parser of the path may read as leading out of it. */
const WAY_OUT = /\/\/|\/\.{1,2}(\/|$)|%2[ef]|[\\#]/i;

/** Whether the path may be requested: on this BMC, and below `/redfish/`. */
export const isOwnPath = (path: string): boolean => OWN_PATH.test(path) && !WAY_OUT.test(path);

/**
 * Path of a link `{ "@odata.id": … }`; null if there is none.
 * @throws {ProviderError} `permanent`: it leads elsewhere, and is not followed.
 */
export function linkOf(value: unknown): string | null {
  const path = isObject(value) ? value['@odata.id'] : undefined;
  if (typeof path !== 'string') return null;
  return requireOwnPath(path);
}

/** Paths of a collection or a list of links. */
export const linksOf = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : []).flatMap((one) => linkOf(one) ?? []);

export function requireOwnPath(path: string): string {
  if (isOwnPath(path)) return path;
  throw new ProviderError('permanent', 'the BMC links to an address that is not its own');
}

/**
 * Path of a `Location`, which may be a whole URL of the same BMC; null if there is none, or it
 * leads elsewhere.
 */
export function locationOf(location: string | undefined, baseUrl: string): string | null {
  if (location === undefined) return null;
  const path = location.startsWith('/') ? location : pathAt(location, new URL(baseUrl).origin);
  return path !== null && isOwnPath(path) ? path : null;
}

/**
 * Path of a created resource from the answer, only on the same BMC; null if not given. Some BMCs
 * return a whole URL with their own name for themselves.
 */
export function madePathOf(location: string | undefined, body: BmcJson | undefined): string | null {
  const told = [location, URL.parse(location ?? '')?.pathname, body?.['@odata.id']];
  const isPath = (path: unknown): path is string => typeof path === 'string' && isOwnPath(path);
  return told.find(isPath) ?? null;
}

function pathAt(location: string, origin: string): string | null {
  const url = URL.parse(location);
  return url?.origin === origin && url.username === '' ? url.pathname + url.search : null;
}

/** The path without a trailing slash. */
export const bareOf = (path: string): string => path.replace(/(?<=.)\/+$/, '');

export type BmcJson = Readonly<Record<string, unknown>>;

/** A message in a BMC's answer. */
export interface BmcMessage {
  /** Last part of its `MessageId`: registries and their versions differ. */
  readonly id: string;
  /** Shortened and without secrets. */
  readonly text: string;
  readonly severity: string;
}

export interface Reply extends Pick<HttpReply, 'status' | 'headers'> {
  /** Path of the answer after redirects. */
  readonly path: string;
  /** Undefined if there was no body, or it is no JSON object. */
  readonly json: BmcJson | undefined;
  /** Neither empty nor JSON. */
  readonly isGarbage: boolean;
  readonly messages: readonly BmcMessage[];
}

const TEXT_LENGTH_MAX = 300;
const MESSAGES_MAX = 8;

export function readReply(
  { status, headers, text }: HttpReply,
  path: string,
  redact: Redact,
): Reply {
  const json = parse(text);
  const isGarbage = json === undefined && text.trim() !== '';
  return { status, headers, path, json, isGarbage, messages: messagesOf(json, redact) };
}

export const isObject = (value: unknown): value is BmcJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parser's own error would quote the text, so it is dropped. */
function parse(text: string): BmcJson | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const Info = z.object({
  MessageId: z.string().catch(''),
  Message: z.string().catch(''),
  MessageSeverity: z.string().optional().catch(undefined),
  Severity: z.string().optional().catch(undefined),
});

/** Messages of an error, or of a success. The list may be a single object, or missing. */
function messagesOf(json: BmcJson | undefined, redact: Redact): BmcMessage[] {
  if (!json) return [];
  const error = isObject(json['error']) ? json['error'] : json;
  const told = error['@Message.ExtendedInfo'];
  const infos = (Array.isArray(told) ? (told as unknown[]) : [told])
    .slice(0, MESSAGES_MAX)
    .flatMap((one) => {
      const info = Info.safeParse(one);
      return info.success ? [messageOf(info.data, redact)] : [];
    });
  if (infos.length > 0 || error === json) return infos;
  const { code, message } = error;
  return [messageOf({ MessageId: textOf(code), Message: textOf(message) }, redact)];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const messageOf = (
  { MessageId, Message: said, MessageSeverity, Severity }: z.output<typeof Info>,
  redact: Redact,
): BmcMessage => ({
  id: redact(MessageId.split('.').at(-1) ?? '').slice(0, 80),
  text: redact(said).slice(0, TEXT_LENGTH_MAX),
  severity: (MessageSeverity ?? Severity ?? '').slice(0, 20),
});

/** For people: ids and texts. */
export const saidIn = ({ messages }: Pick<Reply, 'messages'>): string =>
  messages
    .map(({ id, text }) => [id, text].filter(Boolean).join(': '))
    .join('; ')
    .slice(0, TEXT_LENGTH_MAX);

/** ETag of a resource, for `If-Match`; an empty one counts as none. */
export const etagOf = ({ headers, json }: Pick<Reply, 'headers' | 'json'>): string | null => {
  const told = headers.etag ?? textOf(json?.['@odata.etag']);
  return told.trim() === '' ? null : told.trim();
};

/** A BMC's error answer; the cause of a `ProviderError`. */
export class RedfishRefusal extends Error {
  readonly status: number;
  readonly ids: readonly string[];
  constructor(status: number, messages: readonly BmcMessage[]) {
    const said = saidIn({ messages });
    super(`status ${status}${said === '' ? '' : ` (${said})`}`);
    this.status = status;
    this.ids = messages.map(({ id }) => id);
  }
}

/** The BMC's own answer within an error; null if there was none. */
export function refusalIn(error: unknown): RedfishRefusal | null {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof RedfishRefusal) return at;
  return null;
}

/** If all sessions are in use, they are tried again after this time. */
export const SESSIONS_FULL_MS = 5 * 60_000;

/** The BMC is not ready now; a later attempt may succeed. */
const NOT_NOW = /^(SYS518|InvalidOperationForSystemState|UnableToModifyDuringSystemPOST)$/;
/** Not implemented on this BMC, whatever the state. */
const NEVER = /(NotSupported|PropertyNotWritable|NotInList)$/;
const UNLICENSED = /Licen[sc]e/i;

export const isSessionsFull = ({ status, ids, message }: RedfishRefusal): boolean =>
  [400, 503].includes(status) &&
  (ids.some((id) => /^(RAC0218|SessionLimitExceeded)$/.test(id)) ||
    /maximum number of user sessions/i.test(message));

/** The requested resource is missing; proving that a machine is gone takes more (`readSystem`). */
const isAbsence = ({ status }: Pick<RedfishRefusal, 'status'>): boolean =>
  [404, 410].includes(status);
export function isAbsent(error: unknown): boolean {
  const refusal = refusalIn(error);
  return refusal !== null && isAbsence(refusal);
}

/** The result; null if the BMC does not have it. */
export const unlessAbsent = <T>(read: Promise<T>): Promise<T | null> =>
  read.catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });

export const isNotNow = ({ ids }: RedfishRefusal): boolean => ids.some((id) => NOT_NOW.test(id));

/** Requested once and not again until the BMC restarts. */
export const isNever = ({ status, ids }: RedfishRefusal): boolean =>
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

function kindOf(refusal: RedfishRefusal, changing: boolean): ProviderErrorKind {
  const { status, ids, message } = refusal;
  if (isSessionsFull(refusal) || isNotNow(refusal)) return 'transient';
  if (isNever(refusal)) return 'not-implemented';
  // A resource that existed just before a change may be missing while the BMC restarts.
  if (isAbsence(refusal)) return changing ? 'transient' : 'not-implemented';
  if (status === 403 && (ids.some((id) => UNLICENSED.test(id)) || /not licensed/i.test(message))) {
    return 'not-implemented';
  }
  return KINDS[status] ?? (status >= 500 ? 'transient' : 'permanent');
}

export interface BmcRequest {
  /** For example `POST /redfish/v1/…`. */
  readonly doing: string;
  readonly changing: boolean;
  readonly nowMs: number;
}

/** The port's error for an answer that is no success. */
export function errorOf(reply: Reply, { doing, changing, nowMs }: BmcRequest): ProviderError {
  const { status, headers, messages } = reply;
  const refusal = new RedfishRefusal(status, messages);
  const isFull = isSessionsFull(refusal);
  // A redirect or a server error may come after the change took effect.
  const isVague = !isFull && ((status >= 500 && status !== 501) || status < 400 || status === 408);
  const retryAt = isFull
    ? new Date(nowMs + SESSIONS_FULL_MS)
    : [429, 503].includes(status)
      ? retryAtOf({ get: (name) => headerText(headers[name]) }, nowMs)
      : null;
  return new ProviderError(kindOf(refusal, changing), doing, {
    cause: refusal,
    ...(changing && isVague && { outcome: 'unknown' as const }),
    ...(retryAt !== null && { rateLimit: { retryAt } }),
  });
}

const headerText = (header: string | string[] | undefined) =>
  Array.isArray(header) ? header[0] : header;

/** The port's error for an exchange without a reply. */
export function failureOf(cause: HttpFailure, { doing, changing }: BmcRequest): ProviderError {
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

/** Whether nobody accepted the connection, as far as the system tells. */
export function isAway({ reason, sent, cause }: HttpFailure): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return reason === 'transport' && !sent && AWAY.test(code);
}
