import { asked, type AccessResponse } from './stand.ts';

export interface Visit extends AccessResponse {
  readonly url: string;
}

/** A browser's handling of redirects and cookies, and nothing else. */
export interface Browser {
  /** Follows redirects, but stops at a page that the test names. */
  visit(url: string, isEnd?: (url: string) => boolean): Promise<Visit>;
  readonly cookies: Map<string, Map<string, string>>;
}

/**
 * @param places addresses of hosts whose names cannot be resolved.
 * @param ca the trusted authority.
 */
export function createBrowser(places: Readonly<Record<string, string>>, ca?: string): Browser {
  const cookies: Browser['cookies'] = new Map();
  const jarOf = (host: string) => {
    const jar = cookies.get(host) ?? new Map<string, string>();
    cookies.set(host, jar);
    return jar;
  };
  const visit: Browser['visit'] = async (url, isEnd = () => false) => {
    const { origin, host, pathname, search } = new URL(url);
    const jar = jarOf(host);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const where = `${places[origin] ?? origin}${pathname}${search}`;
    const headers = { host, accept: 'text/html', ...(cookie !== '' && { cookie }) };
    const answer = await asked(where, 'GET', { headers, body: null, ...(ca && { ca }) });
    for (const each of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(each)!;
      if (value === '') jar.delete(name!);
      else jar.set(name!, value!);
    }
    const location = answer.headers['location'];
    if (answer.status < 300 || answer.status > 399 || location === undefined) {
      return { ...answer, url };
    }
    const next = new URL(String(location), url).href;
    return isEnd(next) ? { ...answer, url: next } : visit(next, isEnd);
  };
  return { visit, cookies };
}
