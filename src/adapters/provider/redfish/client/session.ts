import { explain, isProviderError, ProviderError, UsageError } from '../../../../domain/errors.ts';
import type { Clock } from '../../../clock/port.ts';
import { createRefusal } from '../../../http/refusal.ts';
import { isSessionsFull, type Refusal, refusalIn, SESSIONS_FULL_MS } from './errors.ts';
import { madePathOf } from './paths.ts';
import type { Json, Reply } from './replies.ts';

export type AuthMode = 'auto' | 'basic' | 'session';

export interface Credentials {
  readonly username: string;
  /** Looked up at each login. @throws {UsageError} it has gone. */
  password(): string;
}

/** How one request shows who it is. */
export interface Shown {
  readonly scheme: 'basic' | 'session';
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests that are sent as they are: no login, no repetition. */
export interface Plain {
  /** Path of the collection of sessions; null: the BMC has none. */
  sessionsPath(): Promise<string | null>;
  send(
    method: 'POST' | 'DELETE',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: Json,
  ): Promise<Reply>;
}

/** The login at one BMC: at most one session at any time. */
export interface Login {
  /** @throws {ProviderError} `auth`: it was refused, now or not long ago. */
  show(plain: Plain): Promise<Shown>;
  /** The BMC did not take what was shown. Answers whether it is worth showing something new. */
  refused(shown: Shown, plain: Plain): Promise<boolean>;
  /** What no message may show. */
  secrets(): readonly string[];
  hasSession(): boolean;
  /** Ends the session, best effort. */
  end(plain: Plain): Promise<void>;
  /** The BMC restarted: what it could not before, it may be able to now. */
  forget(): void;
}

interface Session {
  readonly token: string;
  readonly path: string | null;
}

export interface LoginOptions {
  readonly auth: AuthMode;
  readonly credentials: Credentials;
  readonly authPauseMs: number;
}

export function createLogin(options: LoginOptions, clock: Clock): Login {
  const { auth, credentials, authPauseMs } = options;
  const refusal = createRefusal(authPauseMs, { clock, onPaused: () => undefined });
  let session: Session | null = null;
  let lacksSessions = false;
  let basicUntilMs = -Infinity;
  let shownSecrets: readonly string[] = [];

  /** @throws {ProviderError} `auth`: there is none, or it was refused not long ago. */
  function known() {
    const { username } = credentials;
    const password = passwordOf(credentials);
    if (refusal.holds(`${username}\n${password}`)) {
      throw new ProviderError(
        'auth',
        'the BMC refused this login; it is not asked again for a while',
      );
    }
    const basic = Buffer.from(`${username}:${password}`).toString('base64');
    shownSecrets = [password, basic];
    return { username, password, basic };
  }
  function note() {
    refusal.note(`${credentials.username}\n${passwordOf(credentials)}`);
  }
  const basicOf = ({ basic }: { basic: string }): Shown => ({
    scheme: 'basic',
    headers: { Authorization: `Basic ${basic}` },
  });

  /** Null: this BMC gives none, now or ever; then `auto` goes without. */
  async function open(plain: Plain, own: ReturnType<typeof known>): Promise<Session | null> {
    const path = await plain.sessionsPath();
    if (path === null) return without('the BMC has no sessions');
    const body = { UserName: own.username, Password: own.password };
    const reply = await plain.send('POST', path, {}, body).catch((error: unknown) => {
      const cause = refusalIn(error);
      if (cause && isDenied(cause)) note();
      if (auth === 'auto' && cause && isSessionsFull(cause)) {
        basicUntilMs = clock.monotonic() + SESSIONS_FULL_MS;
        return null;
      }
      if (cause && [404, 405, 501].includes(cause.status)) {
        return without('the BMC has no sessions');
      }
      throw error;
    });
    if (reply === null) return null;
    const token = reply.headers['x-auth-token'];
    const made = madePathOf(reply.headers.location, reply.json);
    if (typeof token === 'string' && token !== '') return { token, path: made };
    // It is there and nobody can use it.
    if (made !== null) {
      await plain.send('DELETE', made, basicOf(own).headers).catch(pass);
    }
    return without('the BMC answered a login without a token');
  }

  function without(why: string): null {
    if (auth === 'session') throw new ProviderError('permanent', why);
    lacksSessions = true;
    return null;
  }

  async function drop(plain: Plain): Promise<void> {
    const dropped = session;
    session = null;
    if (!dropped?.path) return;
    await plain.send('DELETE', dropped.path, headersOf(dropped)).catch(pass);
  }

  return {
    async show(plain) {
      if (session) return { scheme: 'session', headers: headersOf(session) };
      const own = known();
      const goesWithout = auth === 'basic' || lacksSessions || clock.monotonic() < basicUntilMs;
      if (goesWithout) return basicOf(own);
      session = await open(plain, own);
      return session ? { scheme: 'session', headers: headersOf(session) } : basicOf(own);
    },
    async refused({ scheme }, plain) {
      if (scheme === 'basic') {
        note();
        return false;
      }
      await drop(plain);
      return true;
    },
    secrets: () => [...shownSecrets, ...(session ? [session.token] : [])],
    hasSession: () => session !== null,
    end: drop,
    forget() {
      lacksSessions = false;
      basicUntilMs = -Infinity;
    },
  };
}

/** Some answer 400 to a wrong password, and count it. */
const isDenied = ({ status, ids }: Refusal): boolean =>
  [401, 403].includes(status) ||
  (status === 400 && ids.some((id) => /Unauthori[sz]ed|Credential|Account/i.test(id)));

const headersOf = ({ token }: Session) => ({ 'X-Auth-Token': token });

function passwordOf(credentials: Credentials): string {
  try {
    return credentials.password();
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    throw new ProviderError('auth', `the password of the BMC is not there: ${explain(cause)}`, {
      cause,
    });
  }
}

/** A session that cannot be ended now ends by itself, after the time that the BMC gives it. */
const pass = (error: unknown): null => {
  if (isProviderError(error)) return null;
  throw error;
};
