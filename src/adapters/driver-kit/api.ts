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

/** One API: its connections, its queue, and what is known of its token. */
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
    observer.attempt?.(endpoint, status, seconds);
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
    /**
     * Begins an operation. A limit of time, back-off and the count of attempts are the operation's. Every
     * HTTP attempt waits for its turn.
     * @param doing such as `cannot get device 7`: every error of it begins so.
     */
    call: (doing: string, signal: AbortSignal): Call =>
      createCall(context, doing, AbortSignal.any([signal, stopping.signal])),
    /**
     * What a class has used up of its budgets, to be kept where it survives a restart, such as in a driver's
     * records. In `beforeAttempt` the attempt that is about to be made is counted already.
     */
    spent: (className: string): SpentStarts => classes.named(className).budget.spent(),
    /** How many requests of a class could begin at once now. */
    left: (className: string, urgent: boolean): number =>
      classes.named(className).budget.left(urgent),
    /**
     * Counts in what `spent` once said: of this daemon before it was restarted, or of one that is gone.
     * Replaces what was counted in before.
     */
    recall: (className: string, spent: SpentStarts): void =>
      classes.named(className).budget.recall(spent),
    /** Ends all operations with `aborted` and closes all connections; so do later ones. */
    stop(): void {
      stopping.abort();
      classes.stop();
      http.close();
    },
  };
}
export type Api = ReturnType<typeof createApi>;

/** The way of every method of a driver over an API: one call of the port is one operation of the API. */
export function createOperations(api: Pick<Api, 'call' | 'stop'>) {
  const lifetime = createLifetime();
  return {
    /**
     * @param doing such as `cannot get device 7`: what fails says so.
     * @param reading it leaves everything as it is, however it ends.
     * @throws {ProviderError} `stopped`, `aborted`; whatever the task throws.
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
    /** An operation beside those that were asked for; ends with its signal, or with the API. */
    begin: api.call,
    /** For what runs beside the operations. */
    signal: lifetime.signal,
    /** What is called off may still have something to put back. */
    async stop(): Promise<void> {
      await lifetime.stop();
      api.stop();
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
