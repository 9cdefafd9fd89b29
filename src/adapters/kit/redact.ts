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
