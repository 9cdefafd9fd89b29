import { hostname } from 'node:os';
import { sleep } from '../../adapters/clock/port.ts';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { Denied } from '../../domain/errors.ts';
import { printable } from '../../lib/texts.ts';
import {
  API,
  createHttpTransport,
  parsed,
  type HttpTransportOptions,
  type Reply,
} from './client.ts';
import { NoConsole } from './failures.ts';
import { remark } from './session.ts';

/** Dependencies of a login by a browser. */
export interface DeviceMeans {
  readonly host: string;
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly say: (text: string) => void;
}
export const systemMeans: DeviceMeans = {
  host: hostname(),
  monotonic: systemClock.monotonic,
  sleep: (ms) => sleep(systemClock, ms, new AbortController().signal),
  say: remark,
};

interface Begun {
  readonly device_code: string;
  readonly user_code: string;
  readonly expires_in: number;
  readonly interval: number;
}

const CLIENT = { client_id: 'shepherd' };
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SLOWER_S = 5;

/**
 * Login by a code that a person confirms in a browser (RFC 8628).
 * @returns the token; null: the version of the console has no login by a browser.
 * @throws {Denied} the person refused it, or did not confirm it in time.
 */
export async function loginByBrowser(
  options: Omit<HttpTransportOptions, 'token' | 'advice'>,
  { host, monotonic, sleep: wait, say }: DeviceMeans,
): Promise<string | null> {
  const transport = createHttpTransport({ ...options, token: null, advice: 'check its address' });
  const { signal } = new AbortController();
  // The request carries no browser credentials, so this header cannot enable a cross-site attack.
  const headers = { 'sec-fetch-site': 'same-origin' };
  const ask = async (path: string, body: object): Promise<Reply> =>
    transport.send({ method: 'POST', path: `${API}/device/${path}`, headers, body, signal });
  const first = await ask('authorization', { ...CLIENT, host: host.slice(0, 64) || 'unknown' });
  const bodyOf = ({ text }: Reply) =>
    (parsed(text, transport) ?? {}) as Readonly<Record<string, unknown>>;
  if (first.status === 429) throw new Denied(String(bodyOf(first)['detail']));
  const begun = bodyOf(first) as unknown as Begun;
  if (first.status !== 200 || typeof begun.device_code !== 'string') return null;
  const page = new URL('device', `${options.url.replace(/\/*$/, '')}/`).href;
  say(`open ${page} in a browser, log in there, and type the code ${printable(begun.user_code)}`);
  say(
    `the code is valid for ${Math.round(begun.expires_in / 60)} minutes; waiting for your confirmation`,
  );
  const endMs = monotonic() + begun.expires_in * 1_000;
  let intervalS = begun.interval;
  while (monotonic() < endMs) {
    await wait(intervalS * 1_000);
    const answer = await ask('token', {
      ...CLIENT,
      ...{ grant_type: GRANT, device_code: begun.device_code },
    }).catch(unanswered);
    // RFC 8628, 3.5: a client without a reply polls less often. A daemon or a proxy may just
    // restart.
    if (answer === null || answer.status >= 500) {
      intervalS += SLOWER_S;
      continue;
    }
    const { access_token: token, error, error_description: why } = bodyOf(answer);
    if (answer.status === 200 && typeof token === 'string') return token;
    if (error === 'slow_down') intervalS += SLOWER_S;
    else if (error !== 'authorization_pending') {
      throw new Denied(`the login failed: ${printable(String(why ?? error))}; repeat the command`);
    }
  }
  throw new Denied('the login failed: nobody confirmed the code in time; repeat the command');
}

function unanswered(error: unknown): null {
  if (error instanceof NoConsole) return null;
  throw error;
}
