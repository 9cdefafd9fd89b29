import { startTimeLimit, type TimeLimit } from '../../kit/time-limit.ts';
import { createTurns } from '../../kit/turns.ts';
import type { EquinixConfig, EquinixTimings } from '../settings.ts';
import { type Call, createCall } from './call.ts';
import { abortOutOfTime } from './out-of-time.ts';
import { createTransport, type EquinixDeps } from './transport.ts';

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

export function createCaller(
  config: EquinixConfig,
  timings: EquinixTimings,
  deps: EquinixDeps,
): Caller {
  const { clock, metrics, daemons } = deps;
  const transport = createTransport(config, timings, deps);
  const limits = { maxConcurrency: config.parallelism, gapMs: config.apiRateMs };
  const turns = createTurns(limits, {
    clock,
    ...(daemons && { daemons }),
    onChange: (waiting, inFlight) => metrics.equinixSlots(waiting, inFlight),
    onPaused: (extraMs) => metrics.equinixPaused('rate_limit', extraMs / 1000),
  });
  const stopping = new AbortController();
  const shared = { config, timings, deps, transport, turns };

  return {
    async run(op, signal, body) {
      const operation = new AbortController();
      let limit: TimeLimit | undefined;
      const begin = () =>
        (limit ??= startTimeLimit(timings.operationTimeoutMs, clock, () =>
          abortOutOfTime(operation),
        ));
      const onAbort = () => operation.abort();
      const sources = [signal, stopping.signal];
      for (const source of sources) source.addEventListener('abort', onAbort, { once: true });
      if (sources.some(({ aborted }) => aborted)) onAbort();
      try {
        return await body(createCall({ ...shared, op, signal: operation.signal, begin }));
      } finally {
        limit?.end();
        for (const source of sources) source.removeEventListener('abort', onAbort);
      }
    },
    stop() {
      stopping.abort();
      turns.stop();
      transport.close();
    },
  };
}
