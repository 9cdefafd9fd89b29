import { asked, type AccessResponse } from './stand.ts';

export interface Visit extends AccessResponse {
  readonly url: string;
}

/** What a browser does with redirects and cookies, and nothing else of it. */
export interface Browser {
  /** Goes on from page to page, but not to one of which the test says so: there it stops. */
  visit(url: string, isEnd?: (url: string) => boolean): Promise<Visit>;
  readonly cookies: Map<string, Map<string, string>>;
}

/**
 * @param places where a host really is, where its name leads nowhere.
 * @param ca the authority that it believes.
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
