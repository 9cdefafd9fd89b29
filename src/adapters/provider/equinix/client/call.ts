import type { z } from 'zod';
import { sleep } from '../../../clock/port.ts';
import type { TimeLimit } from '../../kit/time-limit.ts';
import type { Turns } from '../../kit/turns.ts';
import { createRetryWaits } from './backoff.ts';
import type { EquinixConfig, EquinixTimings } from '../settings.ts';
import { endpointName } from './endpoints.ts';
import { EquinixError, type EquinixKind } from './errors.ts';
import { HttpFailure } from './http.ts';
import { isOutOfTime } from './out-of-time.ts';
import {
  type Failure,
  judgeFailure,
  judgeReply,
  type RetryReason,
  type Verdict,
} from './outcome.ts';
import { createRedact, secretsIn } from '../../kit/redact.ts';
import type { EquinixDeps, Exchange, Transport } from './transport.ts';

export interface ApiRequest<T> extends Exchange {
  readonly schema: z.ZodType<T>;
  /** One page of a listing: more time, fewer turns. */
  readonly bulk?: boolean;
  /** Awaited just before each HTTP attempt, in its slot; what it throws ends the operation. */
  readonly beforeAttempt?: () => Promise<void>;
}

/** One logical operation: its attempts share a budget of time and a count. */
export interface Call {
  readonly op: string;
  /**
   * Sends a request and repeats it while that is safe and within the budget.
   * @throws {EquinixError} `ambiguous` when a mutation may have taken effect; it is not repeated.
   */
  send<T>(request: ApiRequest<T>): Promise<T>;
  /** Waits inside the operation's budget. @throws {EquinixError} Cancelled, Deadline. */
  wait(delayMs: number): Promise<void>;
  /** Waits as before a repetition, each time longer. @throws {EquinixError} Cancelled, Deadline. */
  backOff(): Promise<void>;
  /** An attempt whose outcome was not known is going to be repeated. */
  repeats(endpoint: string): void;
  /** An error of this operation that no reply caused. */
  error(kind: EquinixKind, message: string, more?: ErrorDetails): EquinixError;
  /** Monotonic milliseconds. */
  now(): number;
}
export interface ErrorDetails {
  readonly ambiguous?: boolean;
  readonly cause?: unknown;
  readonly retryAt?: number;
  /** What a listing did see; only with `PartialListing`. */
  readonly items?: readonly unknown[];
}

export interface CallContext {
  readonly config: EquinixConfig;
  readonly timings: EquinixTimings;
  readonly deps: EquinixDeps;
  readonly transport: Transport;
  readonly turns: Turns;
  readonly op: string;
  readonly signal: AbortSignal;
  /** Begins the budget, which is not counted in the queue; the same when it has begun. */
  readonly begin: () => TimeLimit;
}

const MALFORMED_RETRIES = 3;
/**
 * A page that fails for so long ends its listing: there is another one soon, and people are told then
 * that there is none, and why. One that is only slow has all the time of its operation.
 */
const PAGE_FAILS_MS = 2 * 60_000;
const MEBIBYTE = 1024 * 1024;
/** Ten thousand machines, read three times, are less. */
const LISTING_BYTES_MAX = 512 * MEBIBYTE;

/** What one request has used up of its repetitions. */
interface Spent {
  malformed: number;
  rotations: number;
  /** When it first failed, monotonic. */
  failingSinceMs: number | null;
}
interface Attempt<T> {
  readonly verdict: Verdict<T>;
  readonly token: string;
}

export function createCall(context: CallContext): Call {
  const { config, timings, transport, turns, op, signal } = context;
  const { clock, random, metrics } = context.deps;
  const { backoffInitialMs: initialMs, backoffMaximumMs: maximumMs } = timings;
  const nextWaitMs = createRetryWaits({ initialMs, maximumMs }, random);
  /** Of all its requests: a later reply may quote an earlier one. */
  const secrets = new Set<string>();
  const tokens = new Set<string>();
  let startedMs: number | null = null;
  let limit: TimeLimit | null = null;
  let attempts = 0;
  let listedBytes = 0;
  let last: Failure | undefined;

  const elapsedMs = () => (startedMs === null ? 0 : clock.monotonic() - startedMs);
  const remainingMs = () => limit?.leftMs() ?? timings.operationTimeoutMs;

  /** A wait that the server asks for: what is not sat out here is told to the caller. */
  const isTooLong = (waitMs: number) => waitMs > Math.min(remainingMs(), timings.pauseMaxMs);

  function toError(failure: Failure, more: ErrorDetails = {}): EquinixError {
    const { kind, status, messages, cause } = failure;
    const { ambiguous = false, retryAt, items } = more;
    const known = {
      ...(status === undefined ? {} : { status }),
      ...(retryAt === undefined ? {} : { retryAt }),
      ...(items === undefined ? {} : { items }),
    };
    const fields = { kind, op, messages, attempts, elapsedMs: elapsedMs(), ambiguous, ...known };
    return new EquinixError(fields, cause === undefined ? undefined : { cause });
  }
  const error: Call['error'] = (kind, message, more = {}) =>
    toError({ kind, messages: [message], cause: more.cause }, more);

  const outOfTime = (ambiguous = false, limitMs = timings.operationTimeoutMs) => {
    const message = `no success within ${limitMs} ms`;
    return error('Deadline', message, { ambiguous, cause: last && toError(last) });
  };
  const ended = (ambiguous = false) =>
    isOutOfTime(signal) ? outOfTime(ambiguous) : error('Cancelled', 'aborted', { ambiguous });
  const slowedDown = (waitMs: number) => {
    const failure = last?.kind === 'RateLimited' ? last : ASKED_TO_WAIT;
    return toError(failure, { retryAt: clock.now() + waitMs });
  };

  function readToken(): string {
    try {
      return config.token();
    } catch (cause) {
      throw error('Unauthorized', 'the token cannot be read', { cause });
    }
  }

  /** The token for an attempt, or what keeps us from sending one. */
  function allowed(): string {
    if (signal.aborted) throw ended();
    const token = readToken();
    if (transport.isRefused(token)) {
      throw error('Unauthorized', 'the server refused this token a moment ago');
    }
    if (remainingMs() <= 0) throw outOfTime();
    if (turns.pausedMs() > remainingMs()) throw slowedDown(turns.pausedMs());
    return token;
  }

  /** One attempt, in its slot. */
  async function attempt<T>(request: ApiRequest<T>): Promise<Attempt<T>> {
    const token = allowed();
    startedMs ??= clock.monotonic();
    limit ??= context.begin();
    await request.beforeAttempt?.();
    if (signal.aborted) throw ended();
    attempts++;
    const mutates = request.method !== 'GET';
    const endpoint = endpointName(request.method, request.path);
    tokens.add(token);
    for (const secret of secretsIn(request.body)) secrets.add(secret);
    const redact = createRedact(secrets, tokens);
    const timeoutMs = request.bulk ? timings.listPageTimeoutMs : timings.attemptTimeoutMs;
    try {
      const reply = await transport.exchange(request, token, { signal, timeoutMs, redact });
      if (request.bulk) limitListing(Buffer.byteLength(reply.text));
      const judged = { endpoint, mutates, schema: request.schema, redact };
      return { token, verdict: heedClientLimit(judgeReply(judged, reply, clock.now())) };
    } catch (failure) {
      if (!(failure instanceof HttpFailure)) throw failure;
      if (failure.reason === 'aborted') throw ended(mutates && failure.sent);
      return { token, verdict: judgeFailure({ mutates }, failure) };
    }
  }

  function limitListing(sizeBytes: number) {
    const { listingBytesMax = LISTING_BYTES_MAX } = config;
    listedBytes += sizeBytes;
    if (listedBytes <= listingBytesMax) return;
    throw error('Protocol', `the listing is larger than ${listingBytesMax / MEBIBYTE} MiB`);
  }

  /** Pauses everybody before this attempt's slot is free again, or sends away those who wait. */
  function heedClientLimit<T>(verdict: Verdict<T>): Verdict<T> {
    if (verdict.type !== 'retry' || verdict.limit !== 'client') return verdict;
    const waitMs = Math.max(nextWaitMs(), verdict.waitMs);
    if (isTooLong(waitMs)) turns.sendAway(waitMs);
    else turns.pause(waitMs);
    return { ...verdict, waitMs };
  }

  /** A wait for a turn is no fault of ours or the server's: it counts against no limit. */
  function waitForTurn(): () => void {
    const waits = [limit?.wait(), context.deps.waitsForTurn?.()];
    return () => waits.forEach((end) => end?.());
  }

  async function attemptInSlot<T>(request: ApiRequest<T>): Promise<Attempt<T>> {
    const onPause = (delayMs: number) => (isTooLong(delayMs) ? slowedDown(delayMs) : undefined);
    const options = { signal, bulk: request.bulk ?? false, onPause };
    const endWait = waitForTurn();
    try {
      return await turns.run(() => {
        endWait();
        return attempt(request);
      }, options);
    } catch (thrown) {
      throw signal.aborted && !(thrown instanceof EquinixError) ? ended() : thrown;
    } finally {
      endWait();
    }
  }

  async function wait(delayMs: number) {
    if (delayMs > remainingMs()) throw outOfTime();
    await sleep(clock, delayMs, signal).catch(() => {
      throw ended();
    });
  }

  /** Resolves with the reason when the request may be sent again; otherwise throws its failure. */
  async function beforeRetry(
    { bulk = false }: Pick<ApiRequest<unknown>, 'bulk'>,
    { verdict, token }: Attempt<unknown> & { verdict: Exclude<Verdict<unknown>, { type: 'ok' }> },
    spent: Spent,
  ): Promise<RetryReason> {
    const { failure, type } = verdict;
    if (type === 'ambiguous') throw toError(failure, { ambiguous: true });
    if (type === 'fail') {
      // A rotated token deserves one more try; anything else is permanent.
      const rotated = failure.kind === 'Unauthorized' && token !== readToken();
      if (!rotated || ++spent.rotations > 1) throw toError(failure);
      return 'token';
    }
    const { limit, waitMs, reason } = verdict;
    if (limit === 'malformed' && ++spent.malformed > MALFORMED_RETRIES) throw toError(failure);
    if (limit === 'client' && isTooLong(waitMs)) throw slowedDown(waitMs);
    spent.failingSinceMs ??= clock.monotonic();
    const failsLong = clock.monotonic() - spent.failingSinceMs >= PAGE_FAILS_MS;
    if (bulk && failsLong && reason !== 'timeout') throw outOfTime(false, PAGE_FAILS_MS);
    await wait(limit === 'client' ? waitMs : Math.max(nextWaitMs(), waitMs));
    return reason;
  }

  async function send<T>(request: ApiRequest<T>): Promise<T> {
    const endpoint = endpointName(request.method, request.path);
    const spent: Spent = { malformed: 0, rotations: 0, failingSinceMs: null };
    for (;;) {
      allowed();
      const { verdict, token } = await attemptInSlot(request);
      if (verdict.type === 'ok') return verdict.value;
      last = verdict.failure;
      const reason = await beforeRetry(request, { verdict, token }, spent);
      metrics.equinixRetry(endpoint, reason);
    }
  }

  return {
    op,
    send,
    wait,
    backOff: () => wait(nextWaitMs()),
    repeats: (endpoint) => metrics.equinixRetry(endpoint, 'ambiguous'),
    error,
    now: () => clock.monotonic(),
  };
}

const ASKED_TO_WAIT: Failure = { kind: 'RateLimited', messages: ['asked to slow down'] };
