import { createCallClasses, type SpentStarts } from './call-classes.ts';
import { createCall, type Call } from './call.ts';
import type { CallOptions } from '../provider/port.ts';
import { createHttp, HttpFailure } from './exchange.ts';
import { shownUrl, shownValue } from './redaction.ts';
import { createLifetime } from './time-limit.ts';
import {
  createRefusal,
  type ApiDeps,
  type ApiTerms,
  type Attempted,
  type Exchange,
} from './terms.ts';

const UNKNOWN_ENDPOINT = 'Unknown';

/** Client of one API: its connections, its queue, and the state of its token. */
export function createApi(terms: ApiTerms, deps: ApiDeps) {
  const { clock, log, observer = {} } = deps;
  const http = createHttp(terms, deps);
  const refusal = createRefusal(terms.timings.authPauseMs, {
    clock,
    onPaused: (pausedMs) => observer.paused?.('unauthorized', pausedMs / 1000),
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
      warnOnce(`unknown ${method} ${path}`, { method, path }, 'an API route has no name');
    }
    return endpoint ?? UNKNOWN_ENDPOINT;
  }

  function note({ method, path, query }: Exchange, { outcome, startedMs, redact }: Attempted) {
    const endpoint = nameOf(method, path);
    const seconds = (clock.monotonic() - startedMs) / 1000;
    const isReply = !(outcome instanceof HttpFailure);
    const status = isReply ? String(outcome.status) : STATUS_OF[outcome.reason];
    const requestId = isReply ? shownValue(redact, outcome.headers['x-request-id']) : undefined;
    observer.attempt?.(endpoint, status, seconds);
    const fields = { provider: terms.name, endpoint, method, url: shownUrl(path, query) };
    log.debug({ ...fields, status, seconds, requestId }, 'attempt at the API');
    if (!isReply) return;
    const { sunset, deprecation } = outcome.headers;
    const announced = shownValue(redact, sunset ?? deprecation);
    if (announced === undefined) return;
    const message = 'the API will withdraw a route';
    warnOnce(`sunset ${endpoint}`, { endpoint, announced }, message);
  }

  const context = { terms, deps, http, refusal, classes, nameOf, note };
  return {
    /**
     * Begins an operation. It has one time limit, back-off and attempt count. Every HTTP attempt
     * waits for its turn.
     * @param doing for example `cannot get device 7`: beginning of all its errors.
     */
    call: (doing: string, signal: AbortSignal): Call =>
      createCall(context, doing, AbortSignal.any([signal, stopping.signal])),
    /**
     * What a class has used of its budgets, to be stored so that it survives a restart, for example
     * in a driver's records. `beforeAttempt` already sees the coming attempt counted.
     */
    spent: (className: string): SpentStarts => classes.named(className).budget.spent(),
    /** How many requests of a class could begin now. */
    left: (className: string, urgent: boolean): number =>
      classes.named(className).budget.left(urgent),
    /**
     * Counts an earlier result of `spent`: of this daemon before a restart, or of a dead daemon.
     * Replaces the previous recall.
     */
    recall: (className: string, spent: SpentStarts): void =>
      classes.named(className).budget.recall(spent),
    /** Ends all operations, current and later ones, with `aborted`, and closes all connections. */
    stop(): void {
      stopping.abort();
      classes.stop();
      http.close();
    },
  };
}
export type Api = ReturnType<typeof createApi>;

/** Runs every method of a driver over an API: one call of the port is one operation of the API. */
export function createOperations(api: Pick<Api, 'call' | 'stop'>) {
  const lifetime = createLifetime();
  return {
    /**
     * @param doing for example `cannot get device 7`: begins error messages.
     * @param reading the operation changes nothing, however it ends.
     * @throws {ProviderError} `stopped`, `aborted`; and the task's errors.
     */
    run<T, Options extends Pick<CallOptions, 'signal'>>(
      doing: string,
      options: Options,
      task: (call: Call, within: Options) => Promise<T>,
      reading: boolean = false,
    ): Promise<T> {
      const attempt = async (signal: AbortSignal) =>
        task(api.call(doing, signal), { ...options, signal });
      return lifetime.run(options, attempt, reading);
    },
    /** Begins an operation besides the calls; it ends with its signal, or with the API. */
    begin: api.call,
    /** For work besides the operations. */
    signal: lifetime.signal,
    /** An aborted operation may still have to restore something. */
    async stop(): Promise<void> {
      await lifetime.stop();
      api.stop();
    },
  };
}

/** Value of `status_code` if there was no status. */
const STATUS_OF: Readonly<Record<HttpFailure['reason'], string>> = {
  timeout: 'deadline exceeded',
  aborted: 'ctx canceled',
  transport: 'unknown',
  certificate: 'unknown',
  oversize: 'unknown',
  unsendable: 'unknown',
};
