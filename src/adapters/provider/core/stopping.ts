import { explain } from '../../../domain/errors.ts';
import { type Clock, sleep } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Provider } from '../port.ts';
import type { Scrubber } from './scrubbing.ts';

export interface StoppingDeps {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly scrubber: Scrubber;
}

/** A driver has this long to end what is under way. */
const STOP_MS = 10_000;

/** Stops a driver. Resolves in time whatever it does; what goes wrong is logged. */
export async function stopDriver(
  provider: Provider,
  { name, clock, log, scrubber }: StoppingDeps,
): Promise<void> {
  const settled = new AbortController();
  const late = sleep(clock, STOP_MS, settled.signal).then(
    () => log.error({ provider: name }, 'the driver did not stop in time'),
    // It did, and nobody waits any more.
    () => undefined,
  );
  const failed = (error: unknown) => {
    // Its texts alone: what else hangs on it is the driver's, such as a request with its headers.
    const err = new Error(explain(scrubber.clean(error)));
    log.error({ provider: name, err }, 'the driver did not stop');
  };
  const stop = async () => provider.stop();
  await Promise.race([stop().catch(failed), late]);
  settled.abort();
}
