import { inspect } from 'node:util';
import { isProviderError, explain, ProviderError } from '../../domain/errors.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import type { Secret } from '../../settings/secret.ts';

/** Removes secrets from a text. */
export type Redact = (text: string) => string;

export const HIDDEN = '[redacted]';
/** Shorter pieces are no secrets, and their removal would damage ordinary words. */
const SECRET_LENGTH_MIN = 4;
/** A match with a secret of this length counts as a piece of it, */
const PIECE_LENGTH = 8;
/** or of this length from word to word, if the piece may be ordinary text. */
const ORDINARY_PIECE_LENGTH = 12;
const ORDINARY = /^[A-Za-z]?[a-z\s.,:;'"/_-]*$/;
/** Maximum length of a checked text; nothing of a longer one is shown. */
const READ_LENGTH_MAX = 1_000;

const SECRET_FIELDS = ['userdata', 'customdata', 'root_password', 'private_key'] as const;
const NAMED_SECRET =
  /\b(user[ _-]?data|custom[ _-]?data|root[ _-]?password|private[ _-]?key)\b(?! \[redacted\]).+/is;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)/gs;

/**
 * For a server's texts about requests: hides tokens and sent secrets, whole, by line and by any
 * piece, also quoted as JSON or base64. Also hides whatever follows the name of a secret field.
 * @param tokens hidden by any piece, even one like an ordinary word.
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

/** A text in all its quoted forms; base64 depends on the offset within three bytes. */
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
  /** Length of the piece that begins here; 0 if none does. */
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

/** Secrets in a request's body, whole and by line. */
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

/** A short value from a server, for logs. */
export const shownValue = (redact: Redact, value: unknown): string | undefined =>
  value === undefined ? undefined : redact(String(value)).slice(0, SHOWN_LENGTH_MAX);

const SHOWN_VALUES = new Set(['page', 'per_page', 'include']);

/** Path and query for logs: values appear only for paging and `include`. */
export function shownUrl(path: string, query: Readonly<Record<string, string>> = {}): string {
  const shown = Object.entries(query).map(
    ([name, value]) => `${name}=${SHOWN_VALUES.has(name) ? value : '*'}`,
  );
  return shown.length === 0 ? path : `${path}?${shown.join('&')}`;
}

/** The outermost port error among an error and its causes. */
export function wrappedIn(error: unknown): ProviderError | null {
  let at = error;
  for (let depth = 0; depth < DEPTH_MAX && at instanceof Error; depth++) {
    if (isProviderError(at)) return at;
    at = at.cause;
  }
  return null;
}

/** Shorter ones would damage ordinary words. */
const SHORTEST = 6;
/** More than concurrent calls ever need. */
const KEPT_MAX = 512;
const DEPTH_MAX = 16;

/** @param configured read at the start, and again with each error, because they may be rotated. */
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
    // Longest first: a script contains other secrets.
    const forms = [...known].flatMap(spellingsOf).toSorted((a, b) => b.length - a.length);
    return forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  }

  return {
    /** Adds a secret; above the limit, the oldest are forgotten. */
    keep,
    /**
     * Returns the error with secrets removed from all texts of it, its causes and its facets; an
     * unchangeable error is replaced.
     */
    clean(error: unknown): unknown {
      refresh();
      if (!(error instanceof Error)) return cleanOther(error, scrub);
      if (cleanChain(error, scrub, 0)) return error;
      return replacement(error, scrub(explain(error)));
    },
  };
}
/** Secrets that must not leave the core in a text, and their removal. */
export type Scrubber = ReturnType<typeof createScrubber>;

/** Values of all secrets in settings, at any depth. */
export function secretsOfSettings(settings: unknown): Secret[] {
  if (typeof settings !== 'object' || settings === null) return [];
  if (isSecret(settings)) return [settings];
  return Object.values(settings).flatMap(secretsOfSettings);
}

const isSecret = (value: object): value is Secret =>
  'reference' in value && 'read' in value && typeof value.read === 'function';

/** The last known value is enough; the secret's user reports that it is missing. */
function readable(secret: Secret): string[] {
  try {
    return [secret.read()];
  } catch {
    return [];
  }
}

/** False if a part could not be changed. */
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

/** A value that is no error, but is shown as text. */
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
