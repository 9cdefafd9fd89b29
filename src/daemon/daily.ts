import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Closer } from './closer.ts';

const DAY_MS = 86_400_000;

/** Says once a day how the fleet is: a log that says nothing else has come from a daemon that lives. */
export function tellDaily(
  summary: () => Readonly<Record<string, unknown>>,
  { clock, log, closer }: { readonly clock: Clock; readonly log: Log; readonly closer: Closer },
): void {
  const beganAtMs = clock.monotonic();
  let timer: unknown;
  const wait = () => {
    timer = clock.setTimeout(() => {
      const days = Math.round((clock.monotonic() - beganAtMs) / DAY_MS);
      log.info({ days, ...summary() }, 'the fleet, once a day');
      wait();
    }, DAY_MS);
  };
  wait();
  closer.add('daily summary', () => clock.clearTimeout(timer));
}
