import type { z } from 'zod';
import type { Clock, Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Network } from '../network/port.ts';
import type { TurnWait } from '../provider/port.ts';
import type { HttpFailure, HttpReply, HttpRequest, Trust } from './exchange.ts';
import type { AnswerForm, RetryReason } from './outcome.ts';
import type { Redact } from './redaction.ts';
import type { TurnLimits, Turns } from './turns.ts';

/** What is particular to one API, of all that answer in JSON over HTTP. */
export interface ApiTerms {
  /** Name of the configured provider, for logs. */
  readonly name: string;
  readonly baseUrl: string;
  /** Asked before each attempt, so that a rotated token is picked up. Never logged. */
  readonly token: () => string;
  /** Of each request; the type of its body and the user agent are added. */
  readonly headersFor: (token: string) => Readonly<Record<string, string>>;
  /** Name of a route for metrics and logs, by its path below the base URL; null: it has none. */
  endpointName(method: string, path: string): string | null;
  readonly form: AnswerForm;
  /** How bodies are written; JSON if absent. */
  readonly encoding?: BodyEncoding;
  /** Of each class of calls that has none of its own. */
  readonly limits: TurnLimits;
  /**
   * Calls that are paced, counted and held up apart from others, by name: where an API has one limit for
   * reads and another for writes, or one for each path. An answer that asks to stay away holds up the
   * class that it was given to, and no other.
   */
  readonly classes?: Readonly<Record<string, CallClassTerms>>;
  /** Which class of `classes` a request belongs to; null: to the one of all others. */
  readonly classOf?: (exchange: Exchange) => string | null;
  readonly timings: ApiTimings;
  /** Of TLS; the system's authorities if absent. */
  readonly trust?: Trust;
  /** Each request has a connection of its own: for servers that do not get on with kept ones. */
  readonly closesConnections?: boolean;
  /** A longer reply is refused; 32 MiB if absent. */
  readonly replyBytesMax?: number;
  /** What in a body is secret, beside what the redaction knows by its name. */
  readonly secretsIn?: (body: unknown) => readonly string[];
  /** Of all replies of one listing together; 512 MiB if absent. */
  readonly listingBytesMax?: number;
  /** A request is sent so often at most; while the time of its operation lasts, if absent. */
  readonly attemptsMax?: number;
  /**
   * How long to stay away after an answer that says "too many requests", milliseconds.
   * @param askedMs what the answer asks for; 0: it says no time. This, or a usual wait, if absent.
   */
  readonly stayAwayMs?: (askedMs: number) => number;
}

/** At most so many starts in any stretch of time, of all daemons together. */
export interface BudgetTerms {
  readonly startsMax: number;
  /** Length of the stretch, milliseconds; it begins anywhere. */
  readonly withinMs: number;
  /** Of the starts so many are left to what is urgent; 0 if absent. */
  readonly keptForUrgent?: number;
}

/** What calls of one class are limited by, apart from all others. */
export interface CallClassTerms {
  /** Those of the API if absent. */
  readonly limits?: TurnLimits;
  /** Of all daemons together; without limit if absent. All of them have to have something left. */
  readonly budgets?: readonly BudgetTerms[];
}

/** Limits and waits, milliseconds. */
export interface ApiTimings {
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly listPageTimeoutMs: number;
  /** A whole operation with all its attempts and waits. */
  readonly operationTimeoutMs: number;
  readonly backoffInitialMs: number;
  readonly backoffMaximumMs: number;
  /**
   * The server, or an empty budget, may hold up the calls of a class for so long. A longer wait is the
   * caller's: the call is refused with `rateLimit`, and nothing is remembered of it here.
   */
  readonly pauseMaxMs: number;
  /** Operations fail fast this long after the token was refused. */
  readonly authPauseMs: number;
}

/** Hears what happens, for metrics. */
export interface ApiObserver {
  /** An attempt begins; `attempt` tells how it ended. */
  starts?(endpoint: string): void;
  /** @param status of HTTP, or what there was in its place. */
  attempt?(endpoint: string, status: string, seconds: number): void;
  slots?(waiting: number, inFlight: number): void;
  retry?(endpoint: string, reason: RetryReason): void;
  paused?(reason: 'rate_limit' | 'unauthorized', seconds: number): void;
  walk?(endpoint: string, consistent: boolean): void;
}

export interface ApiDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: ApiObserver;
  /** TCP and TLS if absent. */
  readonly network?: Network | undefined;
  /** Such as `shepherd/1.2.3`. */
  readonly userAgent?: string;
  /** Live daemons that share the budget of calls; 1 when absent. */
  readonly daemons?: () => number;
  /** See `DriverContext`; when absent nobody minds the wait. */
  readonly waitsForTurn?: () => TurnWait;
  /** A turn that each attempt needs besides its own, such as one of all APIs of a provider together. */
  readonly together?: Pick<Turns, 'take'>;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Beside those of the API, such as `If-Match`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiRequest<T> extends Exchange {
  readonly schema: z.ZodType<T>;
  /** One page of a listing: more time, fewer turns. */
  readonly bulk?: boolean;
  /** Its status is all of a success that counts: what the reply holds is not looked at. */
  readonly ignoresReply?: boolean;
  /** Awaited just before each HTTP attempt, in its slot; what it throws ends the operation. */
  readonly beforeAttempt?: (() => Promise<void>) | undefined;
  /** It goes before others, and may use what budgets keep for such: something is given back, or forced. */
  readonly urgent?: boolean;
  /** It is sent so often at most, whatever came of it; 1: never repeated. */
  readonly attemptsMax?: number;
}

/** What came of an attempt, and when it began. */
export interface Attempted {
  readonly outcome: HttpReply | HttpFailure;
  readonly startedMs: number;
  /** For what of the reply is logged. */
  readonly redact: Redact;
}

/** How the bodies of requests are written. */
export interface BodyEncoding {
  readonly contentType: string;
  write(body: unknown): string;
}

export const JSON_BODY: BodyEncoding = {
  contentType: 'application/json',
  write: (body) => JSON.stringify(body),
};

/** A field that has several values is sent several times. */
export type FormFields = Readonly<Record<string, FormValue | readonly FormValue[]>>;
export type FormValue = string | number | boolean;

/**
 * `application/x-www-form-urlencoded`; bodies are `FormFields`.
 * @param lists how a field with a list is named. `brackets`, as PHP reads it: one value as `key[]`,
 *   several as `key[0]`, `key[1]`. `repeated`: `key` each time. An empty list sends nothing.
 */
export const formBody = (lists: 'brackets' | 'repeated'): BodyEncoding => ({
  contentType: 'application/x-www-form-urlencoded',
  write(body) {
    const fields = Object.entries(body as FormFields).flatMap(([name, value]) =>
      typeof value === 'object' ? listFields(name, value, lists) : [pair(name, value)],
    );
    return new URLSearchParams(fields).toString();
  },
});

function listFields(
  name: string,
  values: readonly FormValue[],
  lists: 'brackets' | 'repeated',
): [string, string][] {
  const nameOf = (n: number) => {
    if (lists === 'repeated') return name;
    return values.length === 1 ? `${name}[]` : `${name}[${n}]`;
  };
  return values.map((value, n) => pair(nameOf(n), value));
}

const pair = (name: string, value: FormValue): [string, string] => [name, String(value)];

interface Sender {
  readonly token: string;
  readonly timeoutMs: number;
  readonly userAgent: string | undefined;
}

/** A request of an API as it goes out. */
export function toSend(
  { method, path, query = {}, body, headers }: Exchange,
  { encoding = JSON_BODY, headersFor, timings }: ApiTerms,
  { token, timeoutMs, userAgent = 'shepherd' }: Sender,
): HttpRequest {
  return {
    method,
    path,
    query,
    payload: body === undefined ? null : encoding.write(body),
    headers: {
      'Content-Type': encoding.contentType,
      Accept: 'application/json',
      'User-Agent': userAgent,
      ...headersFor(token),
      ...headers,
    },
    connectTimeoutMs: timings.connectTimeoutMs,
    timeoutMs,
    freshConnection: method !== 'GET',
  };
}

/**
 * A refused token stays refused for `pauseMs`, or until the source gives another one.
 * @param deps `onPaused` hears how long calls were kept from the server, once that is over.
 */
export function createRefusal(
  pauseMs: number,
  deps: { readonly clock: Clock; readonly onPaused: (pausedMs: number) => void },
) {
  const { clock, onPaused } = deps;
  let refused: { readonly token: string; readonly sinceMs: number } | null = null;
  return {
    note(token: string): void {
      refused ??= { token, sinceMs: clock.monotonic() };
      if (refused.token !== token) refused = { token, sinceMs: clock.monotonic() };
    },
    /** Whether this token is known to be refused. */
    holds(token: string): boolean {
      if (!refused) return false;
      const sinceMs = clock.monotonic() - refused.sinceMs;
      if (refused.token === token && sinceMs < pauseMs) return true;
      onPaused(Math.min(sinceMs, pauseMs));
      refused = null;
      return false;
    },
  };
}
/** The token that the server refused, for as long as nobody needs to try it again. */
export type TokenRefusal = ReturnType<typeof createRefusal>;

export interface RetryIntervals {
  readonly initialMs: number;
  readonly maximumMs: number;
}

const GROWTH = 1.5;

/**
 * Waits of one logical operation: uniform in [0.5, 1.5] × interval, the interval growing by half to
 * its maximum. Nominal from 500 ms: 0.5, 0.75, 1.125, 1.69, 2.53 s …
 */
export function createRetryWaits({ initialMs, maximumMs }: RetryIntervals, random: Random) {
  let intervalMs = initialMs;
  return function nextMs(): number {
    const waitMs = intervalMs * (0.5 + random.next());
    intervalMs = Math.min(GROWTH * intervalMs, maximumMs);
    return waitMs;
  };
}
