import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import type { ConsoleDeps } from '../../../src/console/console.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import type { Role } from '../../../src/domain/access.ts';
import { createMemBmdb } from '../../doubles/mem-bmdb/mem-bmdb.ts';
import { openConsole } from '../api/console-stand.ts';

export interface AccessResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** A console with a database in memory, and with logins. */
export type AccessStand = Awaited<ReturnType<typeof openStand>>;
export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly cookie?: string;
  /** A page on another port: its requests carry the cookie, but not the page's secret. */
  readonly isNeighbour?: boolean;
  readonly body?: unknown;
}

/** The cookie that a browser returns for a Set-Cookie header. */
export const bare = (cookie: string) => cookie.split(';', 1)[0]!;
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin' };

export async function openStand(deps: Partial<ConsoleDeps> = {}) {
  let aheadMs = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    monotonic: () => systemClock.monotonic() + aheadMs,
  };
  const around = { clock, random: systemRandom };
  const bmdb = createMemBmdb({ ...around, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const accounts = { repository: bmdb.access, random: systemRandom, events: bmdb.events };
  const { url } = await openConsole({ accounts, clock, ...deps });
  /** By cookie: the secret that the page keeps beside it. */
  const secrets = new Map<string, string>();
  const ask = (path: string, options: AskOptions = {}): Promise<AccessResponse> => {
    const { method = 'GET', headers, token, cookie, isNeighbour = false, body } = options;
    const secret = isNeighbour || method === 'GET' ? undefined : secrets.get(cookie ?? '');
    return asked(`${url}${path}`, method, {
      headers: {
        ...(secret !== undefined && { 'shepherd-secret': secret }),
        ...headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(cookie !== undefined && { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json', ...headers }),
      },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    });
  };
  let made = 0;
  return {
    url,
    bmdb,
    ask,
    /** Advances the clock for everything that reads it. */
    pass: (ms: number) => void (aheadMs += ms),
    /** Makes a token with this role. */
    token: async (
      role: Role,
      {
        name,
        providers = null,
        forMs = 86_400_000,
      }: { name?: string; providers?: readonly string[] | null; forMs?: number } = {},
    ) => {
      const { id, token } = makeToken(systemRandom);
      made += 1;
      const owner = 'db:ann@host';
      const called = name ?? `t${made}`;
      await bmdb.access.tokens.add({
        ...{ id, digest: digestOf(token), name: called, owner, role, providers, forMs },
      });
      return { id, token };
    },
    /** Logs in as the page does; returns the cookie that was set. */
    logIn: async (body: object, headers: Readonly<Record<string, string>> = {}) => {
      const answer = await ask('api/v1/login', {
        ...{ method: 'POST', headers: { ...OWN_PAGE, ...headers }, body },
      });
      const [cookie] = [answer.headers['set-cookie'] ?? []].flat();
      if (cookie === undefined) throw new Error(`no cookie: ${answer.status} ${answer.body}`);
      const { secret } = JSON.parse(answer.body) as { secret?: string };
      if (secret !== undefined) secrets.set(bare(cookie), secret);
      return cookie;
    },
  };
}

/** Unlike fetch, lets a test choose any header. `ca`: the authority of the server. */
export const asked = (
  url: string,
  method: string,
  { headers, body, ca }: { headers: Record<string, string>; body: string | null; ca?: string },
) =>
  new Promise<AccessResponse>((resolve, reject) => {
    const request = url.startsWith('https:') ? requestTls : requestPlain;
    const tls = ca === undefined ? {} : { ca, servername: headers['host']! };
    const outgoing = request(url, { headers, method, agent: false, ...tls }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
