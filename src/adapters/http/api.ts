import type { Clock, Random } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { type Redact, shownUrl, shownValue } from '../kit/redact.ts';
import type { Network } from '../network/port.ts';
import type { SpentStarts } from '../kit/budget.ts';
import type { TurnLimits, Turns } from '../kit/turns.ts';
import type { TurnWait } from '../provider/port.ts';
import { type Call, createCall } from './call.ts';
import { type CallClassTerms, createCallClasses } from './call-classes.ts';
import type { BodyEncoding } from './encoding.ts';
import { createHttp, HttpFailure, type HttpReply } from './exchange.ts';
import type { AnswerForm, RetryReason } from './outcome.ts';
import { createRefusal } from './refusal.ts';
import type { Trust } from './trust.ts';

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
   * caller's: the call is refused with `RateLimited` and `retryAt`, and nothing is remembered of it here.
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
  attempt(endpoint: string, status: string, seconds: number): void;
  slots(waiting: number, inFlight: number): void;
  retry(endpoint: string, reason: RetryReason): void;
  paused(reason: 'rate_limit' | 'unauthorized', seconds: number): void;
  walk(endpoint: string, consistent: boolean): void;
}

export interface ApiDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer: ApiObserver;
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

/** What came of an attempt, and when it began. */
export interface Attempted {
  readonly outcome: HttpReply | HttpFailure;
  readonly startedMs: number;
  /** For what of the reply is logged. */
  readonly redact: Redact;
}

/** One API: its connections, its queue, and what is known of its token. */
export interface Api {
  /**
   * Begins an operation; or, given one, goes on with it. A limit of time, back-off and the count of
   * attempts are the operation's. Every HTTP attempt waits for its turn.
   */
  call(op: string, within: AbortSignal | Call): Call;
  /**
   * What a class has used up of its budgets, to be kept where it survives a restart, such as in a driver's
   * records. In `beforeAttempt` the attempt that is about to be made is counted already.
   */
  spent(className: string): SpentStarts;
  /** How many requests of a class could begin at once now. */
  left(className: string, urgent: boolean): number;
  /**
   * Counts in what `spent` once said: of this daemon before it was restarted, or of one that is gone.
   * Replaces what was counted in before.
   */
  recall(className: string, spent: SpentStarts): void;
  /** Ends all operations with `Cancelled` and closes all connections; so do later ones. */
  stop(): void;
}

const UNKNOWN_ENDPOINT = 'Unknown';

export function createApi(terms: ApiTerms, deps: ApiDeps): Api {
  const { clock, log, observer } = deps;
  const http = createHttp(terms, deps);
  const refusal = createRefusal(terms.timings.authPauseMs, {
    clock,
    onPaused: (pausedMs) => observer.paused('unauthorized', pausedMs / 1000),
  });
  const classes = createCallClasses(terms, deps);
  const stopping = new AbortController();
  const told = new Set<string>();

  function warnOnce(key: string, fields: object, message: string) {
    if (told.has(key)) return;
    told.add(key);
    log.warn({ provider: terms.name, ...fields }, message);
  }

  function nameOf(method: string, path: string): string {
    const endpoint = terms.endpointName(method, path);
    if (endpoint === null) {
      warnOnce(`unknown ${method} ${path}`, { method, path }, 'route of the API has no name');
    }
    return endpoint ?? UNKNOWN_ENDPOINT;
  }

  function note({ method, path, query }: Exchange, { outcome, startedMs, redact }: Attempted) {
    const endpoint = nameOf(method, path);
    const seconds = (clock.monotonic() - startedMs) / 1000;
    const isReply = !(outcome instanceof HttpFailure);
    const status = isReply ? String(outcome.status) : STATUS_OF[outcome.reason];
    const requestId = isReply ? shownValue(redact, outcome.headers['x-request-id']) : undefined;
    observer.attempt(endpoint, status, seconds);
    const fields = { provider: terms.name, endpoint, method, url: shownUrl(path, query) };
    log.debug({ ...fields, status, seconds, requestId }, 'attempt at the API');
    if (!isReply) return;
    const { sunset, deprecation } = outcome.headers;
    const announced = shownValue(redact, sunset ?? deprecation);
    if (announced === undefined) return;
    const message = 'route of the API will be withdrawn';
    warnOnce(`sunset ${endpoint}`, { endpoint, announced }, message);
  }

  const context = { terms, deps, http, refusal, classes, nameOf, note };
  return {
    call(op, within) {
      if (!(within instanceof AbortSignal)) return within;
      const signal = AbortSignal.any([within, stopping.signal]);
      return createCall(context, op, signal);
    },
    spent: (className) => classes.named(className).budget.spent(),
    left: (className, urgent) => classes.named(className).budget.left(urgent),
    recall: (className, spent) => classes.named(className).budget.recall(spent),
    stop() {
      stopping.abort();
      classes.stop();
      http.close();
    },
  };
}

/** What `status_code` is where there was no status. */
const STATUS_OF: Readonly<Record<HttpFailure['reason'], string>> = {
  timeout: 'deadline exceeded',
  aborted: 'ctx canceled',
  transport: 'unknown',
  certificate: 'unknown',
  oversize: 'unknown',
  unsendable: 'unknown',
};
