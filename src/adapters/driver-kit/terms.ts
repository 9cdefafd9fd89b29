import type { z } from 'zod';
import type { Clock, Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import type { Network } from '../network/port.ts';
import type { TurnWait } from '../provider/port.ts';
import type { HttpFailure, HttpReply, HttpRequest, Trust } from './exchange.ts';
import type { AnswerForm, RetryReason } from './outcome.ts';
import type { Redact } from './redaction.ts';
import type { TurnLimits, Turns } from './turns.ts';

/** Settings of one JSON API over HTTP. */
export interface ApiTerms {
  /** Name of the configured provider, for logs. */
  readonly name: string;
  readonly baseUrl: string;
  /** Called before each attempt, so that a rotated token is used. Never logged. */
  readonly token: () => string;
  /** Headers of each request; content type and user agent are added. */
  readonly headersFor: (token: string) => Readonly<Record<string, string>>;
  /** Route name for metrics and logs, by the path below the base URL; null if it has none. */
  endpointName(method: string, path: string): string | null;
  readonly form: AnswerForm;
  /** Encoding of bodies; default JSON. */
  readonly encoding?: BodyEncoding;
  /** Limits for call classes without their own. */
  readonly limits: TurnLimits;
  /**
   * Calls with separate pacing, counts and pauses, by name: for an API with separate limits for
   * reads and writes, or for each path. An answer that asks to stay away pauses only its class.
   */
  readonly classes?: Readonly<Record<string, CallClassTerms>>;
  /** Class of a request in `classes`; null: the class of all others. */
  readonly classOf?: (exchange: Exchange) => string | null;
  readonly timings: ApiTimings;
  /** TLS trust; absent: the system's authorities. */
  readonly trust?: Trust;
  /** One connection per request: for servers that do not support kept ones. */
  readonly closesConnections?: boolean;
  /** Maximum reply length; default 32 MiB. */
  readonly replyBytesMax?: number;
  /** Secrets in a body that the redaction does not know by field name. */
  readonly secretsIn?: (body: unknown) => readonly string[];
  /** Limit for all replies of one listing together; default 512 MiB. */
  readonly listingBytesMax?: number;
  /** Maximum attempts of a request; default: as many as fit into the operation's time limit. */
  readonly attemptsMax?: number;
  /**
   * Wait after "too many requests", milliseconds.
   * @param askedMs the answer's wait; 0: none given. Default: this, or a usual wait.
   */
  readonly stayAwayMs?: (askedMs: number) => number;
}

/** Maximum starts in any such period, for all daemons together. */
export interface BudgetTerms {
  readonly startsMax: number;
  /** Length of the rolling period, milliseconds. */
  readonly withinMs: number;
  /** Starts reserved for urgent calls; default 0. */
  readonly keptForUrgent?: number;
}

/** Separate limits of one call class. */
export interface CallClassTerms {
  /** Default: those of the API. */
  readonly limits?: TurnLimits;
  /** Budgets of all daemons together; a start must fit into all of them. Default: no limit. */
  readonly budgets?: readonly BudgetTerms[];
}

/** Limits and waits, milliseconds. */
export interface ApiTimings {
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
  readonly listPageTimeoutMs: number;
  /** Limit for a whole operation with all attempts and waits. */
  readonly operationTimeoutMs: number;
  readonly backoffInitialMs: number;
  readonly backoffMaximumMs: number;
  /**
   * Maximum pause of a call class by the server or an empty budget. A longer wait is passed to the
   * caller: the call is refused with `rateLimit`, and nothing is remembered here.
   */
  readonly pauseMaxMs: number;
  /** How long operations fail fast after the token was refused. */
  readonly authPauseMs: number;
}

/** Receives events for metrics. */
export interface ApiObserver {
  /** An attempt begins; `attempt` reports its end. */
  starts?(endpoint: string): void;
  /** @param status HTTP status, or its replacement. */
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
  /** For example `shepherd/1.2.3`. */
  readonly userAgent?: string;
  /** Live daemons that share the budget of calls; default 1. */
  readonly daemons?: () => number;
  /** See `DriverContext`; absent: waits are not reported. */
  readonly waitsForTurn?: () => TurnWait;
  /** A second turn for each attempt, for example one shared by all APIs of a provider. */
  readonly together?: Pick<Turns, 'take'>;
}

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below the base URL. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Additional headers, for example `If-Match`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiRequest<T> extends Exchange {
  readonly schema: z.ZodType<T>;
  /** One page of a listing: more time, fewer turns. */
  readonly bulk?: boolean;
  /** A success counts by its status only; the body is not read. */
  readonly ignoresReply?: boolean;
  /** Awaited just before each HTTP attempt, in its turn; if it throws, the operation ends. */
  readonly beforeAttempt?: (() => Promise<void>) | undefined;
  /** For a give-back or a forced change: goes before others, and may use reserved budget. */
  readonly urgent?: boolean;
  /** Maximum attempts, whatever the results; 1: no repetition. */
  readonly attemptsMax?: number;
}

/** Result of an attempt, and its start time. */
export interface Attempted {
  readonly outcome: HttpReply | HttpFailure;
  readonly startedMs: number;
  /** For logged parts of the reply. */
  readonly redact: Redact;
}

/** Encoding of request bodies. */
export interface BodyEncoding {
  readonly contentType: string;
  write(body: unknown): string;
}

export const JSON_BODY: BodyEncoding = {
  contentType: 'application/json',
  write: (body) => JSON.stringify(body),
};

/** A field with several values is sent several times. */
export type FormFields = Readonly<Record<string, FormValue | readonly FormValue[]>>;
export type FormValue = string | number | boolean;

/**
 * `application/x-www-form-urlencoded`; bodies are `FormFields`.
 * @param lists name of a field with a list. `brackets`, as PHP reads it: `key[]` for one value,
 *   `key[0]`, `key[1]` for several. `repeated`: `key` each time. An empty list sends nothing.
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

/** An API request in its HTTP form. */
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
 * A refused token stays refused for `pauseMs`, or until its source gives another one.
 * @param deps `onPaused` gets the length of the pause when it is over.
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
/** The token that the server refused, until another attempt is due. */
export type TokenRefusal = ReturnType<typeof createRefusal>;

export interface RetryIntervals {
  readonly initialMs: number;
  readonly maximumMs: number;
}

const GROWTH = 1.5;

/**
 * Waits of one logical operation: uniform in [0.5, 1.5] × interval, which grows by half up to its
 * maximum. Nominal from 500 ms: 0.5, 0.75, 1.125, 1.69, 2.53 s …
 */
export function createRetryWaits({ initialMs, maximumMs }: RetryIntervals, random: Random) {
  let intervalMs = initialMs;
  return function nextMs(): number {
    const waitMs = intervalMs * (0.5 + random.next());
    intervalMs = Math.min(GROWTH * intervalMs, maximumMs);
    return waitMs;
  };
}
