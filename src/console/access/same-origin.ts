import type { IncomingHttpHeaders } from 'node:http';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether a method, by its definition, changes nothing. */
export const isSafeMethod = (method: string): boolean => SAFE.has(method);

export interface Approach {
  readonly headers: IncomingHttpHeaders;
  /** The origin under which the console was asked, such as `http://127.0.0.1:4243`. */
  readonly origin: string;
  /** Whether something was shown that no browser adds by itself to what a page of another site sends. */
  readonly isProgram: boolean;
}

/**
 * Says why a request that changes something may not be believed to come from our own page or from a
 * program; null: it may. A browser tells where a request comes from by `Sec-Fetch-Site`, over plain
 * HTTP by `Origin` only. A program tells neither, but shows what no browser adds by itself.
 */
export function crossSiteReason({ headers, origin, isProgram }: Approach): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) {
    return site === 'same-origin' ? null : 'it was sent by a page of another site';
  }
  if (headers.origin !== undefined) {
    return headers.origin === origin ? null : 'it was sent by a page of another origin';
  }
  if (isProgram) return null;
  return 'it does not say which page sent it: Sec-Fetch-Site and Origin are both missing';
}

/** Whether a body is announced as something other than JSON; a form of any site can send those. */
export function isForeignBody(headers: IncomingHttpHeaders): boolean {
  const type = headers['content-type'];
  if (type === undefined) return hasBody(headers);
  return !/^application\/json\s*(;|$)/i.test(type);
}

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
