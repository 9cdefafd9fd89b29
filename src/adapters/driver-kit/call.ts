import { ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';
import { sleep } from '../clock/port.ts';
import type { TurnWait } from '../provider/port.ts';
import {
  createRetryWaits,
  toSend,
  type ApiDeps,
  type ApiRequest,
  type ApiObserver,
  type ApiTerms,
  type Attempted,
  type Exchange,
  type TokenRefusal,
} from './terms.ts';
import type { CallClass, CallClasses } from './call-classes.ts';
import { HttpFailure, type Http, type HttpReply } from './exchange.ts';
import {
  judgeFailure,
  judgeReply,
  waitAskedBy,
  type Failure,
  type RetryReason,
  type Verdict,
} from './outcome.ts';
import { createRedact, secretsIn, type Redact } from './redaction.ts';
import { startTimeLimit, type TimeLimit } from './time-limit.ts';
import type { EndTurn, PauseReason } from './turns.ts';

/** One logical operation: its attempts share a time limit and a count. */
export interface Call {
  readonly observer: ApiObserver;
  /**
   * Sends a request, and repeats it while that is safe and within the limits. A mutation that may
   * have succeeded is never repeated; use `mutate` if a check can show the result.
   * @throws {ProviderError} `outcome: 'unknown'` if a mutation may have succeeded. With
   *   `rateLimit`: the server, or our used-up budget, requires a longer wait than `pauseMaxMs`.
   *   `permanent`: an unexpected answer.
   */
  send<T>(request: ApiRequest<T>): Promise<T>;
  /** Waits within the time limit. @throws {ProviderError} `aborted`, `transient`: its end. */
  wait(delayMs: number): Promise<void>;
  /** Waits before a repetition, longer each time. @throws {ProviderError} like `wait`. */
  backOff(): Promise<void>;
  /** Counts the repetition of an attempt with an unknown outcome. */
  repeats(endpoint: string): void;
  /** An error of this operation without a reply. */
  error(kind: ProviderErrorKind, message: string, more?: ErrorDetails): ProviderError;
  /** Monotonic milliseconds. */
  now(): number;
}
export interface ErrorDetails {
  readonly outcome?: ProviderError['outcome'];
  readonly cause?: unknown;
  /** Epoch milliseconds: no such request before this time. */
  readonly retryAtMs?: number;
}

/** The API of a call. */
export interface CallContext {
  readonly terms: ApiTerms;
  readonly deps: ApiDeps;
  readonly http: Http;
  readonly refusal: TokenRefusal;
  readonly classes: CallClasses;
  readonly nameOf: (method: string, path: string) => string;
  readonly note: (request: Exchange, attempted: Attempted) => void;
}

const MALFORMED_RETRIES = 3;
/**
 * A page that fails for this long ends its listing: the next listing comes soon, and the error is
 * reported now. A page that is only slow has the operation's whole time limit.
 */
const PAGE_FAILS_MS = 2 * 60_000;
const MEBIBYTE = 1024 * 1024;
/** More than ten thousand machines, read three times. */
const LISTING_BYTES_MAX = 512 * MEBIBYTE;

/** Repetitions of one request. */
interface Spent {
  attempts: number;
  malformed: number;
  rotations: number;
  readonly attemptsMax: number;
  /** First failure, monotonic. */
  failingSinceMs: number | null;
}
interface Attempt {
  readonly token: string;
  readonly redact: Redact;
  readonly startedMs: number;
  readonly timeoutMs: number;
}

/** @param doing for example `cannot get device 7`: beginning of all its errors. */
export function createCall(context: CallContext, doing: string, signal: AbortSignal): Call {
  const { terms, http, refusal, classes, nameOf, note } = context;
  const { clock, random, observer = {}, userAgent, waitsForTurn, together } = context.deps;
  const { timings, form, listingBytesMax = LISTING_BYTES_MAX } = terms;
  const { attemptsMax = Infinity, stayAwayMs } = terms;
  const { backoffInitialMs: initialMs, backoffMaximumMs: maximumMs } = timings;
  const nextWaitMs = createRetryWaits({ initialMs, maximumMs }, random);
  /** Secrets of all its requests: a later reply may quote an earlier request. */
  const secrets = new Set<string>();
  const tokens = new Set<string>();
  /** Begins with the first turn; the wait for that turn does not count. */
  let limit: TimeLimit | null = null;
  let startedMs: number | null = null;
  let attempts = 0;
  /** By path: an operation may read several listings. */
  const listedBytes = new Map<string, number>();
  /** Total time of waits that the server requested. */
  let stayedAwayMs = 0;
  let last: Failure | undefined;
  /** The last answer, if it asked to stay away. */
  let askedAway: Failure | null = null;

  const elapsedMs = () => (startedMs === null ? 0 : clock.monotonic() - startedMs);
  const remainingMs = () => limit?.leftMs() ?? timings.operationTimeoutMs;

  /**
   * Whether a wait requested by the server is too long for this operation; then the caller gets it.
   * These waits count against no other limit, so their sum has its own.
   */
  const isTooLong = (waitMs: number) =>
    waitMs > Math.min(remainingMs() - stayedAwayMs, timings.pauseMaxMs);

  function toError(failure: Failure, more: ErrorDetails = {}): ProviderError {
    const { kind, status, messages, hint, waitMs, quota, capacity, cause } = failure;
    const { outcome = 'not-done', retryAtMs = waitMs && clock.now() + waitMs } = more;
    const said = messages.join('; ') || 'no reason given';
    const shown = `${said}${status === undefined ? '' : ` (status ${status})`}`;
    const known = status === undefined ? {} : { status };
    return new ProviderError(kind, [doing, shown, hint].filter(Boolean).join(': '), {
      outcome,
      answer: { ...known, messages, attempts, elapsedMs: elapsedMs() },
      ...(cause !== undefined && { cause }),
      ...(retryAtMs !== undefined && { rateLimit: { retryAt: new Date(retryAtMs) } }),
      ...(quota && { quota }),
      ...(capacity && { capacity }),
    });
  }
  const error: Call['error'] = (kind, message, more = {}) =>
    toError({ kind, messages: [message], cause: more.cause }, more);

  const outcomeOf = (isPerhapsDone: boolean) => (isPerhapsDone ? 'unknown' : 'not-done');
  const outOfTime = (isPerhapsDone = false, limitMs = timings.operationTimeoutMs) => {
    const outcome = outcomeOf(isPerhapsDone);
    const message = `no success within ${limitMs} ms`;
    return error('transient', message, { outcome, cause: last && toError(last) });
  };
  const cancelled = (isPerhapsDone = false) =>
    error('aborted', 'aborted', { outcome: outcomeOf(isPerhapsDone) });
  const slowedDown = (waitMs: number, why: PauseReason = 'paused') => {
    const failure = why === 'budget' ? BUDGET_USED_UP : (askedAway ?? ASKED_TO_WAIT);
    return toError(failure, { retryAtMs: clock.now() + waitMs });
  };

  function readToken(): string {
    try {
      return terms.token();
    } catch (cause) {
      throw error('auth', 'the token cannot be read', { cause });
    }
  }

  /** The token for an attempt; throws if nothing may be sent. */
  function allowed({ turns }: CallClass): string {
    if (signal.aborted) throw cancelled();
    const token = readToken();
    if (refusal.holds(token)) {
      throw error('auth', 'the server refused this token recently');
    }
    if (remainingMs() <= 0) throw outOfTime();
    if (turns.pausedMs() > remainingMs()) throw slowedDown(turns.pausedMs());
    return token;
  }

  /** A wait for a turn is nobody's fault, so it counts against no limit. */
  function beginWait(): TurnWait {
    const outer = waitsForTurn?.();
    const ends = [limit?.wait(), outer?.end];
    return { urgent: outer?.urgent ?? false, end: () => ends.forEach((end) => end?.()) };
  }

  async function takeTurn(
    { bulk = false, urgent = false }: Pick<ApiRequest<unknown>, 'bulk' | 'urgent'>,
    { turns }: CallClass,
  ): Promise<EndTurn> {
    const onPause = (delayMs: number, why: PauseReason) =>
      isTooLong(delayMs) ? slowedDown(delayMs, why) : undefined;
    const { urgent: isUrgentCall, end } = beginWait();
    const options = { signal, bulk, urgent: urgent || isUrgentCall, onPause };
    try {
      const endTurn = await turns.take(options);
      try {
        const endTogether = await together?.take(options);
        return () => [endTogether, endTurn].forEach((endEach) => endEach?.());
      } catch (thrown) {
        endTurn();
        throw thrown;
      }
    } catch (thrown) {
      throw thrown instanceof ProviderError ? thrown : cancelled();
    } finally {
      end();
    }
  }

  /** Everything before an attempt, within its turn. */
  async function prepare<T>(request: ApiRequest<T>, callClass: CallClass): Promise<Attempt> {
    const token = allowed(callClass);
    startedMs ??= clock.monotonic();
    limit ??= startTimeLimit(timings.operationTimeoutMs, clock);
    await request.beforeAttempt?.();
    if (signal.aborted) throw cancelled();
    attempts++;
    tokens.add(token);
    for (const secret of secretsIn(request.body)) secrets.add(secret);
    for (const secret of terms.secretsIn?.(request.body) ?? []) secrets.add(secret);
    const usualMs = request.bulk ? timings.listPageTimeoutMs : timings.attemptTimeoutMs;
    return {
      token,
      redact: createRedact(secrets, tokens),
      startedMs: clock.monotonic(),
      timeoutMs: Math.min(usualMs, Math.max(0, remainingMs())),
    };
  }

  const outgoing = (request: Exchange, { token, timeoutMs }: Attempt) =>
    toSend(request, terms, { token, timeoutMs, userAgent });

  async function judge<T>(
    request: ApiRequest<T>,
    { token, redact }: Attempt,
    outcome: HttpReply | HttpFailure,
    callClass: CallClass,
  ): Promise<Verdict<T>> {
    const mutates = request.method !== 'GET';
    if (outcome instanceof HttpFailure) {
      const isPerhapsDone = mutates && outcome.sent;
      if (outcome.reason === 'aborted') throw cancelled(isPerhapsDone);
      // The operation's time is up, not the attempt's.
      if (outcome.reason === 'timeout' && remainingMs() < 1) throw outOfTime(isPerhapsDone);
      return judgeFailure({ mutates }, outcome);
    }
    if (request.bulk) limitListing(request.path, Buffer.byteLength(outcome.text));
    const endpoint = nameOf(request.method, request.path);
    const { schema, ignoresReply = false } = request;
    const inARow = callClass.askedAway + 1;
    const judged = { form, endpoint, mutates, schema, ignoresReply, redact, inARow };
    const verdict = await judgeReply(judged, outcome, clock.now());
    if (verdict.type === 'fail' && verdict.isTokenRefused) refusal.note(token);
    return heedClientLimit(verdict, callClass);
  }

  function limitListing(path: string, sizeBytes: number) {
    const sumBytes = (listedBytes.get(path) ?? 0) + sizeBytes;
    listedBytes.set(path, sumBytes);
    if (sumBytes <= listingBytesMax) return;
    throw error('permanent', `the listing is larger than ${listingBytesMax / MEBIBYTE} MiB`);
  }

  /** Before this attempt's turn ends, pauses the whole class, or rejects its waiting requests. */
  function heedClientLimit<T>(verdict: Verdict<T>, callClass: CallClass): Verdict<T> {
    const askedMs = waitAskedBy(verdict);
    callClass.askedAway = askedMs === null ? 0 : callClass.askedAway + 1;
    if (askedMs === null) return verdict;
    const { turns } = callClass;
    const waitMs = stayAwayMs?.(askedMs) ?? Math.max(nextWaitMs(), askedMs);
    if (isTooLong(waitMs)) turns.sendAway(waitMs);
    else turns.pause(waitMs);
    return verdict.type === 'ok' || verdict.type === 'fail' ? verdict : { ...verdict, waitMs };
  }

  async function wait(delayMs: number) {
    if (delayMs > remainingMs()) throw outOfTime();
    await sleep(clock, delayMs, signal).catch(() => {
      throw cancelled();
    });
  }

  /** Waits as the server requested, like a wait for a turn. */
  async function stayAway(delayMs: number) {
    stayedAwayMs += delayMs;
    const { end } = beginWait();
    try {
      await sleep(clock, delayMs, signal);
    } catch {
      throw cancelled();
    } finally {
      end();
    }
  }

  /** Resolves with the reason if the request may be sent again; otherwise throws its failure. */
  async function beforeRetry(
    { bulk = false }: Pick<ApiRequest<unknown>, 'bulk'>,
    verdict: Exclude<Verdict<unknown>, { type: 'ok' }>,
    { token, spent }: { readonly token: string; readonly spent: Spent },
  ): Promise<RetryReason> {
    const { failure, type } = verdict;
    if (type === 'ambiguous') {
      const { waitMs: awayMs } = verdict;
      const away = awayMs === undefined ? {} : { retryAtMs: clock.now() + awayMs };
      throw toError(failure, { outcome: 'unknown', ...away });
    }
    const isLast = spent.attempts >= spent.attemptsMax;
    if (type === 'fail') {
      // A rotated token gets one more attempt; any other refusal is permanent.
      const rotated = verdict.isTokenRefused && token !== readToken();
      if (isLast || !rotated || ++spent.rotations > 1) throw toError(failure);
      return 'token';
    }
    const { limit: limitedBy, waitMs, reason } = verdict;
    if (limitedBy !== 'client' && spent.attempts >= attemptsMax) throw toError(failure);
    if (limitedBy === 'malformed' && ++spent.malformed > MALFORMED_RETRIES) throw toError(failure);
    if (limitedBy === 'client' && (isLast || isTooLong(waitMs))) throw slowedDown(waitMs);
    if (isLast) throw toError(failure);
    spent.failingSinceMs ??= clock.monotonic();
    const failsLong = clock.monotonic() - spent.failingSinceMs >= PAGE_FAILS_MS;
    if (bulk && failsLong && reason !== 'timeout') throw outOfTime(false, PAGE_FAILS_MS);
    await (limitedBy === 'client' ? stayAway(waitMs) : wait(Math.max(nextWaitMs(), waitMs)));
    return reason;
  }

  async function send<T>(request: ApiRequest<T>): Promise<T> {
    const callClass = classes.of(request);
    const spent: Spent = {
      attempts: 0,
      malformed: 0,
      rotations: 0,
      attemptsMax: request.attemptsMax ?? Infinity,
      failingSinceMs: null,
    };
    for (;;) {
      allowed(callClass);
      const endTurn = await takeTurn(request, callClass);
      let attempt: Attempt;
      let outcome: HttpReply | HttpFailure;
      let verdict: Verdict<T>;
      try {
        attempt = await prepare(request, callClass);
        spent.attempts++;
        observer.starts?.(nameOf(request.method, request.path));
        outcome = await http.exchange(outgoing(request, attempt), signal).catch(asOutcome);
        note(request, { ...attempt, outcome });
        verdict = await judge(request, attempt, outcome, callClass);
      } finally {
        endTurn();
      }
      if (verdict.type === 'ok') return verdict.value;
      last = verdict.failure;
      askedAway = waitAskedBy(verdict) === null ? null : last;
      const reason = await beforeRetry(request, verdict, { token: attempt.token, spent });
      observer.retry?.(nameOf(request.method, request.path), reason);
    }
  }

  return {
    observer,
    send,
    wait,
    backOff: () => wait(nextWaitMs()),
    repeats: (endpoint) => observer.retry?.(endpoint, 'ambiguous'),
    error,
    now: () => clock.monotonic(),
  };
}

/** A missing or incomplete reply is also an outcome. */
function asOutcome(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  throw error;
}

const BUDGET_USED_UP: Failure = {
  kind: 'transient',
  messages: ['our own request budget is used up'],
};
const ASKED_TO_WAIT: Failure = {
  kind: 'transient',
  messages: ['the server asked us to slow down'],
};
