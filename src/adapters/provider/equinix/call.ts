import type { z } from 'zod';
import { sleep } from '../../clock/port.ts';
import { createRetryWaits } from './backoff.ts';
import type { EquinixConfig, EquinixTimings } from './config.ts';
import { endpointName } from './endpoints.ts';
import { EquinixError, type EquinixKind } from './errors.ts';
import { HttpFailure } from './http.ts';
import { type Failure, judgeFailure, judgeReply, type Verdict } from './outcome.ts';
import { createSlots, type Slots } from './slots.ts';
import { createTransport, type EquinixDeps, type Exchange, type Transport } from './transport.ts';

export interface ApiRequest<T> extends Exchange {
  readonly schema: z.ZodType<T>;
  /** One page of a listing: more time, fewer slots. */
  readonly bulk?: boolean;
  /** Awaited before each HTTP attempt; what it throws ends the operation. */
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
  /** An error of this operation that no reply caused. */
  error(kind: EquinixKind, message: string, more?: ErrorDetails): EquinixError;
  /** Monotonic milliseconds. */
  now(): number;
}
interface ErrorDetails {
  readonly ambiguous?: boolean;
  readonly cause?: unknown;
  readonly retryAt?: number;
}

/** The engine below the client. */
export interface Caller {
  readonly run: <T>(
    op: string,
    signal: AbortSignal,
    body: (call: Call) => Promise<T>,
  ) => Promise<T>;
  /** Ends all operations with `Cancelled` and closes all connections. */
  stop(): void;
}

const MALFORMED_RETRIES = 3;
const OUT_OF_TIME = Symbol('the operation is out of time');

export function createCaller(
  config: EquinixConfig,
  timings: EquinixTimings,
  deps: EquinixDeps,
): Caller {
  const { clock } = deps;
  const transport = createTransport(config, timings, deps);
  const slots = createSlots(config, {
    clock,
    onChange: (waiting, inFlight) => deps.metrics.equinixSlots(waiting, inFlight),
  });
  const stopping = new AbortController();
  const shared = { config, timings, deps, transport, slots };

  return {
    async run(op, signal, body) {
      const ended = new AbortController();
      let timer: unknown;
      // The budget is counted from the first slot, not from the place in the queue.
      const onFirstSlot = () => {
        const expire = () => ended.abort(OUT_OF_TIME);
        timer = clock.setTimeout(expire, timings.operationTimeoutMs);
      };
      const onAbort = () => ended.abort();
      const sources = [signal, stopping.signal];
      for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
      if (sources.some(({ aborted }) => aborted)) onAbort();
      try {
        return await body(createCall({ ...shared, op, signal: ended.signal, onFirstSlot }));
      } finally {
        clock.clearTimeout(timer);
        for (const source of sources) source.removeEventListener('abort', onAbort);
      }
    },
    stop() {
      stopping.abort();
      slots.stop();
      transport.close();
    },
  };
}

interface CallContext {
  readonly config: EquinixConfig;
  readonly timings: EquinixTimings;
  readonly deps: EquinixDeps;
  readonly transport: Transport;
  readonly slots: Slots;
  readonly op: string;
  readonly signal: AbortSignal;
  readonly onFirstSlot: () => void;
}

function createCall(context: CallContext): Call {
  const { config, timings, transport, slots, op, signal } = context;
  const { clock, random } = context.deps;
  const { backoffInitialMs: initialMs, backoffMaximumMs: maximumMs } = timings;
  const nextWaitMs = createRetryWaits({ initialMs, maximumMs }, random);
  let startedMs: number | null = null;
  let attempts = 0;
  let last: Failure | undefined;

  const elapsedMs = () => (startedMs === null ? 0 : clock.monotonic() - startedMs);
  const remainingMs = () => timings.operationTimeoutMs - elapsedMs();

  function toError(failure: Failure, more: ErrorDetails = {}): EquinixError {
    const { kind, status, cause } = failure;
    const token = config.token();
    const hide = (text: string) => (token ? text.replaceAll(token, '[redacted]') : text);
    const fields = {
      kind,
      op,
      messages: failure.messages.map(hide),
      attempts,
      elapsedMs: elapsedMs(),
      ambiguous: more.ambiguous ?? false,
      ...(status === undefined ? {} : { status }),
      ...(more.retryAt === undefined ? {} : { retryAt: more.retryAt }),
    };
    return new EquinixError(fields, cause === undefined ? undefined : { cause });
  }
  const error: Call['error'] = (kind, message, more = {}) =>
    toError({ kind, messages: [message], cause: more.cause }, more);

  const outOfTime = (ambiguous = false) => {
    const message = `no success within ${timings.operationTimeoutMs} ms`;
    return error('Deadline', message, { ambiguous, cause: last && toError(last) });
  };
  const ended = (ambiguous = false) =>
    signal.reason === OUT_OF_TIME
      ? outOfTime(ambiguous)
      : error('Cancelled', 'aborted', { ambiguous });
  const slowedDown = (waitMs: number) => {
    const failure = last?.kind === 'RateLimited' ? last : ASKED_TO_WAIT;
    return toError(failure, { retryAt: clock.now() + waitMs });
  };

  /** Fails before any HTTP what cannot succeed now. */
  function checkAllowed() {
    if (signal.aborted) throw ended();
    if (transport.isRefused(config.token())) {
      throw error('Unauthorized', 'the server refused this token a moment ago');
    }
    if (slots.pausedMs() > remainingMs()) throw slowedDown(slots.pausedMs());
  }

  /** One attempt, in its slot. */
  async function attempt<T>(request: ApiRequest<T>, token: string): Promise<Verdict<T>> {
    if (startedMs === null) context.onFirstSlot();
    startedMs ??= clock.monotonic();
    attempts++;
    const mutates = request.method !== 'GET';
    const endpoint = endpointName(request.method, request.path);
    const timeoutMs = request.bulk ? timings.listPageTimeoutMs : timings.attemptTimeoutMs;
    try {
      const reply = await transport.exchange(request, token, { signal, timeoutMs });
      const judged = { endpoint, mutates, schema: request.schema };
      return heedClientLimit(judgeReply(judged, reply, clock.now()));
    } catch (failure) {
      if (!(failure instanceof HttpFailure)) throw failure;
      if (failure.reason === 'aborted') throw ended(mutates && failure.sent);
      return judgeFailure({ mutates }, failure);
    }
  }

  /** Pauses everybody before this attempt's slot is free again. */
  function heedClientLimit<T>(verdict: Verdict<T>): Verdict<T> {
    if (verdict.type !== 'retry' || verdict.limit !== 'client') return verdict;
    const waitMs = Math.max(nextWaitMs(), verdict.waitMs);
    slots.pause(waitMs);
    return { ...verdict, waitMs };
  }

  async function attemptInSlot<T>(request: ApiRequest<T>, token: string): Promise<Verdict<T>> {
    const onPause = (delayMs: number) =>
      delayMs > remainingMs() ? slowedDown(delayMs) : undefined;
    const options = { signal, bulk: request.bulk ?? false, onPause };
    try {
      return await slots.run(() => attempt(request, token), options);
    } catch (thrown) {
      throw signal.aborted && !(thrown instanceof EquinixError) ? ended() : thrown;
    }
  }

  async function wait(delayMs: number) {
    if (delayMs > remainingMs()) throw outOfTime();
    await sleep(clock, delayMs, signal).catch(() => {
      throw ended();
    });
  }

  async function send<T>(request: ApiRequest<T>): Promise<T> {
    let malformed = 0;
    let refusals = 0;
    for (;;) {
      checkAllowed();
      await request.beforeAttempt?.();
      const token = config.token();
      const verdict = await attemptInSlot(request, token);
      if (verdict.type === 'ok') return verdict.value;
      last = verdict.failure;
      if (verdict.type === 'ambiguous') throw toError(last, { ambiguous: true });
      if (verdict.type === 'fail') {
        // A rotated token deserves one more try; anything else is permanent.
        const rotated = last.kind === 'Unauthorized' && token !== config.token();
        if (!rotated || ++refusals > 1) throw toError(last);
        continue;
      }
      if (verdict.limit === 'malformed' && ++malformed > MALFORMED_RETRIES) throw toError(last);
      if (verdict.limit !== 'client') await wait(Math.max(nextWaitMs(), verdict.waitMs));
      else if (verdict.waitMs > remainingMs()) throw slowedDown(verdict.waitMs);
      else await wait(verdict.waitMs);
    }
  }

  return { op, send, wait, error, now: () => clock.monotonic() };
}

const ASKED_TO_WAIT: Failure = { kind: 'RateLimited', messages: ['asked to slow down'] };
