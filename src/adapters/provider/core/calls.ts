import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import { startTimeLimit, type TimeLimit } from '../kit/time-limit.ts';
import type { Turns } from '../kit/turns.ts';
import type { CallOptions, FleetCall } from '../port.ts';
import type { CallLimits } from './call-limits.ts';
import { isReading, type Operation, timeoutOf } from './operations.ts';
import { repairTimes } from './repairs.ts';
import type { Scrubber } from './scrubbing.ts';
import { createSending } from './sending.ts';
import { wrappedIn } from './wrapped.ts';

export interface CallsDeps {
  readonly name: ProviderName;
  readonly turns: Pick<Turns, 'run'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scrubber: Scrubber;
  readonly limits: CallLimits;
}

/** One call of the driver's, within an operation. */
export type Step = <T>(
  operation: Operation,
  ask: (options: CallOptions) => Promise<T>,
) => Promise<T>;

/** The way of every call to a driver. */
export interface Calls {
  /**
   * Runs an operation of one or more steps, never without a limit of time, against which waits for a
   * turn do not count. Each step waits for its turn and is counted; whatever it rejects with is a
   * `ProviderError`, or what the caller's `beforeSending` rejected with.
   * @param operationId a new one when absent.
   */
  run<T>(
    operation: Operation,
    call: FleetCall,
    work: (step: Step, signal: AbortSignal) => Promise<T>,
    operationId?: string,
  ): Promise<T>;
  /** Changes whenever something is over that may have changed a listing. */
  changes(): number;
  /** What is under way is aborted; later operations reject with `stopped`. */
  stop(): void;
}

/** A driver that does not end when its signal aborts is left alone after this. */
const HEED_MS = 5_000;

export function createCalls(deps: CallsDeps): Calls {
  const { name, turns, clock, random, log, metrics, scrubber, limits } = deps;
  const stopping = new AbortController();
  let changes = 0;

  /** One call, from the moment that its turn has come. */
  async function measured<T>(
    operation: Operation,
    { signal }: CallOptions,
    ask: () => Promise<T>,
  ): Promise<T> {
    const startedMs = clock.monotonic();
    let code = 'ok';
    try {
      return await heeding(ask(), signal, clock);
    } catch (error) {
      if (error === UNHEEDED) {
        log.error({ provider: name, operation }, 'the driver does not heed its signal');
      }
      const translated = translate(scrubber.clean(error), operation, signal);
      repairTimes(translated, clock.now());
      code = translated.code;
      throw translated;
    } finally {
      if (!isReading(operation)) changes += 1;
      const seconds = (clock.monotonic() - startedMs) / 1_000;
      metrics.driverCall(name, operation, code !== 'ok', seconds);
      metrics.adapterCall('provider', operation, code);
    }
  }

  async function inTurn<T>(
    operation: Operation,
    { options, limit, urgent }: Running,
    ask: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const { signal } = options;
    const endWait = limit.wait();
    let begun = false;
    try {
      return await turns.run(
        () => {
          begun = true;
          endWait();
          return limits.run(limit, () => measured(operation, options, async () => ask(options)));
        },
        { signal, urgent },
      );
    } catch (error) {
      if (begun) throw error;
      throw new ProviderError('aborted', `${operation} was not begun`, { cause: error });
    } finally {
      endWait();
    }
  }

  return {
    async run(operation, call, work, operationId) {
      if (stopping.signal.aborted) throw new ProviderError('stopped', `${name} was stopped`);
      const { timeoutMs = timeoutOf(operation) } = call;
      const late = new AbortController();
      const limit = startTimeLimit(timeoutMs, clock, () =>
        late.abort(overtime(operation, timeoutMs)),
      );
      const { beforeSending, reasonOf } = createSending(call);
      const options: CallOptions = {
        signal: AbortSignal.any([call.signal, stopping.signal, late.signal]),
        get deadline() {
          return new Date(clock.now() + limit.leftMs());
        },
        operationId: operationId ?? random.uuid(),
        beforeSending,
      };
      const running = { options, limit, urgent: operation === 'Destroy' };
      try {
        return await work((step, ask) => inTurn(step, running, ask), options.signal);
      } catch (error) {
        throw reasonOf(error);
      } finally {
        limit.end();
      }
    },
    changes: () => changes,
    stop: () => stopping.abort(new ProviderError('stopped', `${name} was stopped`)),
  };
}

/** An operation under way, as its steps need it. */
interface Running {
  readonly options: CallOptions;
  readonly limit: TimeLimit;
  readonly urgent: boolean;
}

const overtime = (operation: Operation, timeoutMs: number) =>
  new Error(`${operation} took over ${timeoutMs} ms`);

const UNHEEDED = new Error('the driver did not end when its signal aborted');

/** The answer; or `UNHEEDED` when there is none for a while after the signal aborted. */
async function heeding<T>(answer: Promise<T>, signal: AbortSignal, clock: Clock): Promise<T> {
  let timer: unknown;
  let onAbort = (): void => undefined;
  const unheeded = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = clock.setTimeout(() => reject(UNHEEDED), HEED_MS);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([answer, unheeded]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    clock.clearTimeout(timer);
  }
}

/**
 * A driver may wrap an error of the port in others of its own: then it counts as that one. Where
 * there is none, it is a mistake of the driver, and nobody knows how far it came.
 */
function translate(error: unknown, operation: Operation, { aborted }: AbortSignal): ProviderError {
  if (isProviderError(error)) return error;
  const wrapped = wrappedIn(error);
  const { outcome } = isReading(operation) && !wrapped ? NOTHING_DONE : facetsOf(error);
  const options = { cause: error, outcome };
  if (aborted) return new ProviderError('aborted', `${operation} was aborted`, options);
  return new ProviderError(
    wrapped?.kind ?? 'permanent',
    wrapped ? `${operation} failed` : `${operation} failed in the driver`,
    options,
  );
}
const NOTHING_DONE = { outcome: 'not-done' } as const;
