import { fromCallback } from 'xstate';
import { sleep, type Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { FleetEvent } from '../machines/fleet.ts';

/**
 * A service that runs `task` again and again, `periodMs` after it ended, while its state lasts. A
 * failure is logged and the next run comes all the same.
 */
export const every = (
  periodMs: number,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  task: (signal: AbortSignal) => Promise<void>,
  failure: string,
) =>
  fromCallback<FleetEvent, void>(() => {
    const stopping = new AbortController();
    const { signal } = stopping;
    const loop = async () => {
      while (!signal.aborted) {
        try {
          await task(signal);
        } catch (err) {
          if (!signal.aborted) log.warn({ err }, failure);
        }
        await pause(clock, periodMs, signal);
      }
    };
    void loop();
    return () => stopping.abort();
  });

/** Like `sleep`, but resolves when it is aborted. */
const pause = (clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    sleep(clock, delayMs, signal).then(resolve, () => resolve());
  });
