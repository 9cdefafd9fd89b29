const ABSENT_MS = 60_000;
const UNREADABLE_MS = 20_000;
const LONGEST_MS = 3_600_000;

/** An HTTP date begins with the day's name; `Date.parse` alone takes almost anything for a date. */
const HTTP_DATE = /^[A-Z][a-z]+,? .*\d{2}:\d{2}:\d{2}/;

/**
 * When to ask again, by our clock, after an answer that says "too many requests". `Retry-After` in
 * seconds counts from now; a date is measured against the answer's own `Date`, since the API's clock
 * may not be ours. Absent: in 60 s; unreadable: in 20 s; never later than in an hour. May lie in the
 * past, and then means nothing.
 * @param headers `Headers`, or whatever finds a header by its lower-case name.
 */
export function retryAtOf(
  headers: { get(name: string): string | null | undefined },
  nowMs: number,
): Date {
  const retryAfter = headers.get('retry-after') ?? null;
  const date = headers.get('date') ?? null;
  const waitMs = retryAfter === null ? ABSENT_MS : retryAfterMs(retryAfter, date, nowMs);
  return new Date(nowMs + Math.min(LONGEST_MS, waitMs));
}

/**
 * Milliseconds that `Retry-After` asks for. It holds a count of seconds (no sign, no fraction) or an
 * HTTP date, by RFC 9110; anything else cannot be read, and means 20 s.
 */
export function retryAfterMs(retryAfter: string, date: string | null, nowMs: number): number {
  const text = retryAfter.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const untilMs = dateOf(text);
  return untilMs === null ? UNREADABLE_MS : untilMs - (dateOf(date ?? '') ?? nowMs);
}

/** Null: it is no HTTP date. */
export function dateOf(text: string): number | null {
  const atMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(atMs) ? atMs : null;
}
