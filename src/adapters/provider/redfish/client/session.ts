import { isProviderError, ProviderError, explain, UsageError } from '../../../../domain/errors.ts';
import type { Secret } from '../../../../settings/secret.ts';
import { sleep, type Clock } from '../../../clock/port.ts';
import { retryAfterMs } from '../../../driver-kit/outcome.ts';
import { createRefusal } from '../../../driver-kit/terms.ts';
import type { Bmc, TurnHow } from './bmc.ts';
import {
  isAbsent,
  locationOf,
  isSessionsFull,
  refusalIn,
  SESSIONS_FULL_MS,
  madePathOf,
  type Reply,
  type RedfishRefusal,
  type BmcJson,
} from './errors.ts';

const REST_FIRST_MS = 5_000;
const REST_MOST_MS = 5 * 60_000;
const TROUBLE_FAILURES = 3;
const HANG_FAILURES = 10;
const HANG_MS = 15 * 60_000;

/** How a BMC has answered recently. */
export function createBmcHealth(clock: Clock) {
  let failures = 0;
  let restUntilMs = -Infinity;
  let silence: { readonly sinceMs: number; count: number } | null = null;

  function note(silent: boolean) {
    const restMs = Math.min(REST_MOST_MS, REST_FIRST_MS * 2 ** Math.min(failures, 20));
    failures += 1;
    restUntilMs = Math.max(restUntilMs, clock.monotonic() + restMs);
    // A BMC that accepts no connections is off or disconnected; a reset would not help.
    if (!silent) silence = null;
    else if (silence) silence.count += 1;
    else silence = { sinceMs: clock.monotonic(), count: 1 };
  }

  return {
    replied(status: number): void {
      if (status >= 500 && status !== 501) return note(true);
      failures = 0;
      restUntilMs = -Infinity;
      silence = null;
      return undefined;
    },
    /** `silent`: it may have accepted the connection, but did not answer usefully. */
    failed: ({ silent }: { readonly silent: boolean }): void => note(silent),
    /** It asked to be left alone until this time, epoch milliseconds. */
    busyUntil(atMs: number): void {
      restUntilMs = Math.max(restUntilMs, clock.monotonic() + atMs - clock.now());
    },
    /** Milliseconds until a reading makes sense; 0: now. Changes are always tried. */
    restMs: (): number => Math.max(0, restUntilMs - clock.monotonic()),
    /** It is about to count as silent. */
    isTroubled: (): boolean => silence !== null && silence.count >= TROUBLE_FAILURES,
    /** It has answered no request for long, and is not known to refuse connections. */
    isSilent: (): boolean =>
      silence !== null &&
      silence.count >= HANG_FAILURES &&
      clock.monotonic() - silence.sinceMs >= HANG_MS,
  };
}
/** Path of an accepted change's task; null if the change is already complete. */
export const taskOf = ({ status, headers }: Reply, url: string): string | null =>
  status === 202 ? locationOf(headers.location, url) : null;

/** How a task ended; `unknown`: the BMC no longer knows it, or it exceeded its time limit. */
export type TaskEnd = 'done' | 'unknown';

const WAIT_LEAST_MS = 1_000;
const WAIT_MOST_MS = 30_000;
const RUNNING = /^(New|Starting|Running|Suspended|Pending|Stopping|Service|Cancelling)$/;
const FAILED = /^(Exception|Killed|Cancelled|Interrupted)$/;

/**
 * Waits until a task ends, or its time limit passes.
 * @param reply the answer that named the task.
 * @throws {ProviderError} with `outcome: 'unknown'`: the BMC reports that it failed.
 */
export async function followTask(
  bmc: Bmc,
  reply: Reply,
  how: TurnHow & { readonly deadline: Date },
  clock: Clock,
): Promise<TaskEnd> {
  let path = taskOf(reply, bmc.url);
  for (let last = reply; path !== null;) {
    const waitMs = waitOf(last, clock.now());
    if (clock.now() + waitMs >= how.deadline.getTime()) return 'unknown';
    await sleep(clock, waitMs, how.signal).catch((cause: unknown) => {
      throw new ProviderError('aborted', 'aborted during a task', { cause, outcome: 'unknown' });
    });
    const next = await look(bmc, path, how);
    if (next === 'gone') return 'unknown';
    if (next === 'unreachable') continue;
    const state = String(next.json?.['TaskState'] ?? '');
    if (FAILED.test(state)) {
      throw new ProviderError('permanent', `a task of ${bmc.url} ended as ${state}`, {
        outcome: 'unknown',
      });
    }
    if (next.status !== 202 && !RUNNING.test(state)) return 'done';
    path = locationOf(next.headers.location, bmc.url) ?? path;
    last = next;
  }
  return 'done';
}

/** A BMC that does not answer may continue its task. */
async function look(bmc: Bmc, path: string, how: TurnHow): Promise<Reply | 'gone' | 'unreachable'> {
  try {
    return await bmc.inTurn({ ...how, urgent: true }, (wire) => wire.poll(path));
  } catch (error) {
    if (isAbsent(error)) return 'gone';
    if (isProviderError(error, 'transient')) return 'unreachable';
    throw error;
  }
}

function waitOf({ headers }: Reply, nowMs: number): number {
  const told = headers['retry-after'];
  const askedMs =
    told === undefined ? WAIT_LEAST_MS : retryAfterMs(told, headers.date ?? null, nowMs);
  return Math.min(WAIT_MOST_MS, Math.max(WAIT_LEAST_MS, askedMs));
}

export type AuthMode = 'auto' | 'basic' | 'session';

export interface Credentials {
  readonly username: string;
  /** Read at each login. */
  readonly password: Pick<Secret, 'read'>;
}

/** How one request authenticates. */
export interface Shown {
  readonly scheme: 'basic' | 'session';
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests that are sent unchanged: no login, no repetition. */
export interface Plain {
  /** Path of the session collection; null if the BMC has none. */
  sessionsPath(): Promise<string | null>;
  send(
    method: 'POST' | 'DELETE',
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: BmcJson,
  ): Promise<Reply>;
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

/** Login at one BMC: at most one session at any time. */
export function createLogin(options: LoginOptions, clock: Clock) {
  const { auth, credentials, authPauseMs } = options;
  const refusal = createRefusal(authPauseMs, { clock, onPaused: () => undefined });
  let session: Session | null = null;
  let lacksSessions = false;
  let basicUntilMs = -Infinity;
  let shownSecrets: readonly string[] = [];

  /** @throws {ProviderError} `auth`: there is no password, or it was refused recently. */
  function known() {
    const { username } = credentials;
    const password = passwordOf(credentials);
    if (refusal.holds(`${username}\n${password}`)) {
      throw new ProviderError('auth', 'the BMC refused this login; no further attempt for a while');
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

  /** Null if the BMC gives no session, now or ever; then `auto` uses basic authentication. */
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
    // The session exists, but nobody can use it.
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
    /** @throws {ProviderError} `auth`: the login was refused, now or recently. */
    async show(plain: Plain): Promise<Shown> {
      if (session) return { scheme: 'session', headers: headersOf(session) };
      const own = known();
      const goesWithout = auth === 'basic' || lacksSessions || clock.monotonic() < basicUntilMs;
      if (goesWithout) return basicOf(own);
      session = await open(plain, own);
      return session ? { scheme: 'session', headers: headersOf(session) } : basicOf(own);
    },
    /** Handles a refused authentication. Returns whether a new attempt makes sense. */
    async refused({ scheme }: Shown, plain: Plain): Promise<boolean> {
      if (scheme === 'basic') {
        note();
        return false;
      }
      await drop(plain);
      return true;
    },
    /** Texts that no message may show. */
    secrets: (): readonly string[] => [...shownSecrets, ...(session ? [session.token] : [])],
    hasSession: (): boolean => session !== null,
    /** Ends the session, best effort. */
    end: drop,
    /** The BMC restarted, so missing capabilities may have appeared. */
    forget(): void {
      lacksSessions = false;
      basicUntilMs = -Infinity;
    },
  };
}
/** Some BMCs answer a wrong password with 400, and count it. */
const isDenied = ({ status, ids }: RedfishRefusal): boolean =>
  [401, 403].includes(status) ||
  (status === 400 && ids.some((id) => /Unauthori[sz]ed|Credential|Account/i.test(id)));

const headersOf = ({ token }: Session) => ({ 'X-Auth-Token': token });

function passwordOf(credentials: Credentials): string {
  try {
    return credentials.password.read();
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    throw new ProviderError('auth', `the password of the BMC is missing: ${explain(cause)}`, {
      cause,
    });
  }
}

/** A session that cannot be ended now expires by itself. */
const pass = (error: unknown): null => {
  if (isProviderError(error)) return null;
  throw error;
};
