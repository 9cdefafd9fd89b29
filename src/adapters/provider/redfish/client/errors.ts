import { z } from 'zod';
import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import type { HttpReply, HttpFailure } from '../../../driver-kit/exchange.ts';
import { retryAtOf } from '../../../driver-kit/outcome.ts';
import type { Redact } from '../../../driver-kit/redaction.ts';

/** Where the service begins; needs no login. */
export const ROOT_PATH = '/redfish/v1/';

const OWN_PATH = /^\/redfish\/[\x21-\x7e]*$/;
/** What another reader of the path might take for a way out of it. */
const WAY_OUT = /\/\/|\/\.{1,2}(\/|$)|%2[ef]|[\\#]/i;

/** Whether it is a path that may be asked for: on this BMC, and below `/redfish/`. */
export const isOwnPath = (path: string): boolean => OWN_PATH.test(path) && !WAY_OUT.test(path);

/**
 * The path of a link `{ "@odata.id": … }`; null: there is none.
 * @throws {ProviderError} `permanent`: it leads elsewhere, and is not followed.
 */
export function linkOf(value: unknown): string | null {
  const path = isObject(value) ? value['@odata.id'] : undefined;
  if (typeof path !== 'string') return null;
  return requireOwnPath(path);
}

/** The paths of a collection or of a list of links. */
export const linksOf = (value: unknown): string[] =>
  (Array.isArray(value) ? (value as unknown[]) : []).flatMap((one) => linkOf(one) ?? []);

export function requireOwnPath(path: string): string {
  if (isOwnPath(path)) return path;
  throw new ProviderError('permanent', 'the BMC links to a place that is not its own');
}

/**
 * The path of a `Location`, which may be a whole URL of the same BMC; null: there is none, or it leads
 * elsewhere.
 */
export function locationOf(location: string | undefined, baseUrl: string): string | null {
  if (location === undefined) return null;
  const path = location.startsWith('/') ? location : pathAt(location, new URL(baseUrl).origin);
  return path !== null && isOwnPath(path) ? path : null;
}

/**
 * The path of what was made, by the answer to it, to be asked for at the same BMC alone; null: it does
 * not tell. Some give its whole URL with a name of their own for themselves.
 */
export function madePathOf(location: string | undefined, body: Json | undefined): string | null {
  const told = [location, URL.parse(location ?? '')?.pathname, body?.['@odata.id']];
  const isPath = (path: unknown): path is string => typeof path === 'string' && isOwnPath(path);
  return told.find(isPath) ?? null;
}

function pathAt(location: string, origin: string): string | null {
  const url = URL.parse(location);
  return url?.origin === origin && url.username === '' ? url.pathname + url.search : null;
}

/** One path, with or without a slash at its end. */
export const bareOf = (path: string): string => path.replace(/(?<=.)\/+$/, '');

export type Json = Readonly<Record<string, unknown>>;

/** What a BMC says in an answer. */
export interface Message {
  /** The last part of its `MessageId`: registries and their versions differ. */
  readonly id: string;
  /** Without secrets, shortened. */
  readonly text: string;
  readonly severity: string;
}

export interface Reply extends Pick<HttpReply, 'status' | 'headers'> {
  /** Where it came from, after redirects. */
  readonly path: string;
  /** Undefined: there was no body, or none that is a JSON object. */
  readonly json: Json | undefined;
  /** Neither empty nor JSON. */
  readonly isGarbage: boolean;
  readonly messages: readonly Message[];
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

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parser's own error quotes the text, so it is not kept. */
function parse(text: string): Json | undefined {
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

/** Of an error, or of a success that has something to say. The list may be one object, or absent. */
function messagesOf(json: Json | undefined, redact: Redact): Message[] {
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
): Message => ({
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

/** Of a resource, for `If-Match`; an empty one is none. */
export const etagOf = ({ headers, json }: Pick<Reply, 'headers' | 'json'>): string | null => {
  const told = headers.etag ?? textOf(json?.['@odata.etag']);
  return told.trim() === '' ? null : told.trim();
};

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
