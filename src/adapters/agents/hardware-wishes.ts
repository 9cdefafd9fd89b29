import { explain } from '../../domain/errors.ts';
import type { HeartbeatStore } from '../../domain/heartbeat.ts';
import type { MachineId } from '../../domain/ids.ts';
import { sleep } from '../clock/port.ts';
import type { Clock } from '../clock/port.ts';
import type { Log } from '../log/port.ts';
import { createRecentSet } from './limits.ts';

/** Which machines are to send their hardware report, although they think that they did. */
export interface HardwareWishes {
  /** Whether to ask now; having answered yes it does not for a while. */
  take(machine: MachineId): boolean;
  stop(): void;
}

export interface HardwareWishesOptions {
  readonly store: Pick<HeartbeatStore, 'withoutHardware'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly isReady: () => boolean;
}

/** One statement of the database so often, whatever the number of heartbeats. */
const READ_MS = 5 * 60_000;
/** A report that was refused once will be so again. */
const ASK_AGAIN_MS = 3600_000;

export function startHardwareWishes(options: HardwareWishesOptions): HardwareWishes {
  const { store, clock, log, isReady } = options;
  const stopping = new AbortController();
  const asked = createRecentSet(ASK_AGAIN_MS, clock);
  let missing: ReadonlySet<MachineId> = new Set();
  const read = async () => {
    try {
      if (isReady()) missing = new Set(await store.withoutHardware?.());
    } catch (error) {
      log.debug({ cause: explain(error) }, 'cannot tell whose hardware report is missing');
    }
  };
  const watch = async () => {
    for (;;) {
      await sleep(clock, READ_MS, stopping.signal);
      await read();
    }
  };
  // It ends in no other way than by `stop`.
  if (store.withoutHardware) watch().catch(() => undefined);
  return {
    take(machine) {
      if (!missing.has(machine) || asked.has(machine)) return false;
      asked.add(machine);
      return true;
    },
    stop: () => stopping.abort(),
  };
}
