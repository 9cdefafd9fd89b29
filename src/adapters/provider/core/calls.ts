import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { ProviderName } from '../../../domain/ids.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import type { Clock, Random } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import type { CallOptions, FleetCall } from '../port.ts';
import { isReading, type Operation, timeoutOf } from './operations.ts';
import { repairTimes } from './repairs.ts';
import type { Scrubber } from './scrubbing.ts';
import type { Turns } from './turns.ts';
import { wrappedIn } from './wrapped.ts';

export interface CallsDeps {
  readonly name: ProviderName;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly scrubber: Scrubber;
}

/** One call of the driver's, within an operation. */
export type Step = <T>(
  operation: Operation,
  ask: (options: CallOptions) => Promise<T>,
) => Promise<T>;

/** The way of every call to a driver. */
export interface Calls {
  /**
   * Runs an operation of one or more steps, never without a deadline. Each step waits for its turn
   * and is counted; whatever it rejects with is a `ProviderError`.
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
  const { name, turns, clock, random, log, metrics, scrubber } = deps;
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
    options: CallOptions,
    urgent: boolean,
    ask: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const { signal } = options;
    let begun = false;
    try {
      return await turns.run(
        () => {
          begun = true;
          return measured(operation, options, async () => ask(options));
        },
        { signal, urgent },
      );
    } catch (error) {
      if (begun) throw error;
      throw new ProviderError('aborted', `${operation} was not begun`, { cause: error });
    }
  }

  return {
    async run(operation, { signal, timeoutMs = timeoutOf(operation) }, work, operationId) {
      if (stopping.signal.aborted) throw new ProviderError('stopped', `${name} was stopped`);
      const late = new AbortController();
      const timer = clock.setTimeout(() => late.abort(overtime(operation, timeoutMs)), timeoutMs);
      const options: CallOptions = {
        signal: AbortSignal.any([signal, stopping.signal, late.signal]),
        deadline: new Date(clock.now() + timeoutMs),
        operationId: operationId ?? random.uuid(),
      };
      const urgent = operation === 'Destroy';
      try {
        return await work((step, ask) => inTurn(step, options, urgent, ask), options.signal);
      } finally {
        clock.clearTimeout(timer);
      }
    },
    changes: () => changes,
    stop: () => stopping.abort(new ProviderError('stopped', `${name} was stopped`)),
  };
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
