import { inspect } from 'node:util';
import { isProviderError, explain, ProviderError } from '../../domain/errors.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import type { Secret } from '../../settings/secret.ts';

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

export const HIDDEN = '[redacted]';
/** Shorter pieces are no secrets, and would tear ordinary words out of a message. */
const SECRET_LENGTH_MIN = 4;
/** What agrees with a secret for so many characters is a piece of it, */
const PIECE_LENGTH = 8;
/** or, if that could be a word of any text, for so many from one word to another. */
const ORDINARY_PIECE_LENGTH = 12;
const ORDINARY = /^[A-Za-z]?[a-z\s.,:;'"/_-]*$/;
/** Of a text that has not been looked through nothing is shown. */
const READ_LENGTH_MAX = 1_000;

const SECRET_FIELDS = ['userdata', 'customdata', 'root_password', 'private_key'] as const;
const NAMED_SECRET =
  /\b(user[ _-]?data|custom[ _-]?data|root[ _-]?password|private[ _-]?key)\b(?! \[redacted\]).+/is;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs;

/**
 * For what a server says about requests: hides the tokens and the secrets that were sent, whole, by
 * line and by any piece of them, also when they are quoted as JSON or base64. Whatever follows the
 * name of a secret field goes too.
 * @param tokens hidden by any piece, even one that reads like an ordinary word.
 */
export function createRedact(secrets: Iterable<string>, tokens: Iterable<string> = []): Redact {
  const bare = [...tokens];
  const hidden = [...bare, ...secrets]
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
    .toSorted((one, other) => other.length - one.length);
  const isWithin = (secret: string, n: number) =>
    hidden.slice(0, n).some((longer) => longer.includes(secret));
  const wholes = hidden.filter((secret, n) => !isWithin(secret, n));
  const sources = () => ({ bare, spelled: wholes.flatMap(spellingsOf) });
  return (text) =>
    hidden
      .reduce(
        (rest, secret) => rest.replaceAll(secret, HIDDEN),
        withoutPieces(text.slice(0, READ_LENGTH_MAX).replace(PRIVATE_KEY, HIDDEN), sources()),
      )
      .replace(NAMED_SECRET, `$1 ${HIDDEN}`);
}

/** A text and how else it may be quoted; base64 depends on where in three bytes it begins. */
export function spellingsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const encoded = [0, 1, 2].map((from) => bytes.subarray(from).toString('base64'));
  const quoted = JSON.stringify(text).slice(1, -1);
  return [...new Set([text, quoted, encodeURIComponent(text.toWellFormed()), ...encoded])];
}

interface Sources {
  readonly bare: readonly string[];
  readonly spelled: readonly string[];
}

function withoutPieces(text: string, { bare, spelled }: Sources): string {
  const agrees = (sources: readonly string[], from: number, length: number): boolean => {
    const piece = text.slice(from, from + length);
    return piece.trim().length === length && sources.some((source) => source.includes(piece));
  };
  /** Length of the piece that begins here; 0 when none does. */
  function pieceAt(from: number): number {
    if (agrees(bare, from, PIECE_LENGTH)) return PIECE_LENGTH;
    if (!agrees(spelled, from, PIECE_LENGTH)) return 0;
    if (!ORDINARY.test(text.slice(from, from + PIECE_LENGTH))) return PIECE_LENGTH;
    return agrees(spelled, from, ORDINARY_PIECE_LENGTH) ? ORDINARY_PIECE_LENGTH : 0;
  }
  let shown = '';
  let hiddenTo = 0;
  for (let at = 0; at < text.length; at++) {
    const length = pieceAt(at);
    if (length > 0 && at >= hiddenTo) shown += HIDDEN;
    if (length > 0) hiddenTo = Math.max(hiddenTo, at + length);
    if (at >= hiddenTo) shown += text[at];
  }
  return shown;
}

/** The secrets in a request's body, whole and by line. */
export function secretsIn(body: unknown): string[] {
  if (typeof body !== 'object' || body === null) return [];
  const fields = body as Readonly<Record<string, unknown>>;
  return SECRET_FIELDS.flatMap((name) => linesIn(fields[name]));
}

function linesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value, ...value.split('\n').map((line) => line.trim())];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(linesIn);
}

const SHOWN_LENGTH_MAX = 64;

/** A short value that a server sent, for logs. */
export const shownValue = (redact: Redact, value: unknown): string | undefined =>
  value === undefined ? undefined : redact(String(value)).slice(0, SHOWN_LENGTH_MAX);

const SHOWN_VALUES = new Set(['page', 'per_page', 'include']);

/** Path and query for logs: values are shown only for paging and `include`. */
export function shownUrl(path: string, query: Readonly<Record<string, string>> = {}): string {
  const shown = Object.entries(query).map(
    ([name, value]) => `${name}=${SHOWN_VALUES.has(name) ? value : '*'}`,
  );
  return shown.length === 0 ? path : `${path}?${shown.join('&')}`;
}

/** The outermost error of the port among an error and its causes. */
export function wrappedIn(error: unknown): ProviderError | null {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (isProviderError(at)) return at;
    at = at.cause;
  }
  return null;
}

/** Shorter ones would make holes in ordinary words. */
const SHORTEST = 6;
/** More than calls at once ever need. */
const KEPT_MAX = 512;
const DEPTH_MAX = 16;

/** @param configured read at the start, and again with each error, since they may be rotated. */
export function createScrubber(configured: readonly Secret[] = []) {
  const known = new Set<string>();

  function keep(...texts: readonly string[]): void {
    for (const text of texts.filter(({ length }) => length >= SHORTEST)) {
      known.delete(text);
      known.add(text);
    }
    for (const oldest of [...known].slice(0, -KEPT_MAX)) known.delete(oldest);
  }
  const refresh = () => keep(...configured.flatMap(readable));
  refresh();

  function scrub(text: string): string {
    // Longest first: a script holds secrets of its own.
    const forms = [...known].flatMap(spellingsOf).toSorted((a, b) => b.length - a.length);
    return forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  }

  return {
    /** From now on this is secret too; of very many the oldest are forgotten. */
    keep,
    /**
     * The same error, its causes and its facets, with what is secret taken out of all their texts; one
     * that cannot be changed is replaced.
     */
    clean(error: unknown): unknown {
      refresh();
      if (!(error instanceof Error)) return cleanOther(error, scrub);
      if (cleanChain(error, scrub, 0)) return error;
      return replacement(error, scrub(explain(error)));
    },
  };
}
/** What must not leave the core in a text, and how it is taken out. */
export type Scrubber = ReturnType<typeof createScrubber>;

/** The values of all secrets that stand in settings, however deep. */
export function secretsOfSettings(settings: unknown): Secret[] {
  if (typeof settings !== 'object' || settings === null) return [];
  if (isSecret(settings)) return [settings];
  return Object.values(settings).flatMap(secretsOfSettings);
}

const isSecret = (value: object): value is Secret =>
  'reference' in value && 'read' in value && typeof value.read === 'function';

/** What it was last is known; that it has gone is for its user to tell. */
function readable(secret: Secret): string[] {
  try {
    return [secret.read()];
  } catch {
    return [];
  }
}

/** False: a part of it could not be changed. */
function cleanChain(error: Error, scrub: (text: string) => string, depth: number): boolean {
  if (depth > DEPTH_MAX) return Reflect.defineProperty(error, 'cause', { value: undefined });
  const own = (['message', 'stack', 'code', 'name'] as const).every((key) => {
    const text = (error as unknown as Record<string, unknown>)[key];
    return typeof text !== 'string' || put(error, key, text, scrub(text));
  });
  return own && cleanCause(error, scrub, depth) && cleanParts(error, scrub, depth);
}

function cleanCause(error: Error, scrub: (text: string) => string, depth: number): boolean {
  const { cause } = error;
  if (cause instanceof Error) return cleanChain(cause, scrub, depth + 1);
  return put(error, 'cause', cause, cleanOther(cause, scrub));
}

/** No error, and shown as a text all the same. */
function cleanOther(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value !== 'object' && typeof value !== 'string') return value;
  const text = typeof value === 'string' ? value : inspect(value);
  const clean = scrub(text);
  return clean === text ? value : clean;
}

function cleanParts(error: Error, scrub: (text: string) => string, depth: number): boolean {
  if (!(error instanceof AggregateError)) return true;
  const parts: readonly unknown[] = error.errors;
  return parts.every((part) => !(part instanceof Error) || cleanChain(part, scrub, depth + 1));
}

const put = (error: Error, key: string, before: unknown, value: unknown): boolean =>
  before === value ||
  Reflect.defineProperty(error, key, {
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  });

function replacement(error: Error, message: string): Error {
  const wrapped = wrappedIn(error);
  if (!wrapped) return new Error(message);
  const { outcome, quota, capacity, retryAtMs } = facetsOf(error);
  return new ProviderError(wrapped.kind, message, {
    outcome,
    ...(quota && { quota }),
    ...(capacity && { capacity: { scope: capacity } }),
    ...(retryAtMs !== null && { rateLimit: { retryAt: new Date(retryAtMs) } }),
  });
}
