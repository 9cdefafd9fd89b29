import { filter, mergeMap, type Observable } from 'rxjs';
import { sleep, type Clock } from '../../src/adapters/clock/port.ts';
import { AmbiguousCommit, Unreachable } from '../../src/domain/errors.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/**
 * What goes wrong with a call. `refused`: an error, and nothing was done. `lost`: done, and the answer
 * never came. `late`: done, and the answer comes after `forMs`. `delayed`: done after `forMs`.
 */
export type CallEffect = 'refused' | 'lost' | 'late' | 'delayed';

export interface CallFault {
  readonly effect: CallEffect;
  /** Calls whose path begins so, such as `bmdb.session`. */
  readonly path: string;
  /** How many calls it spoils at most. */
  readonly times?: number;
  /** Until when it spoils calls, by the world's monotonic clock. */
  readonly untilMs?: number;
  /** Of `late` and `delayed`. */
  readonly forMs?: number;
}

/** The faults of one daemon's calls of its ports. */
export interface CallFaults extends Required<Interceptor> {
  add(fault: CallFault): void;
  clear(): void;
}

/** @param onStruck told of each call that is spoilt. */
export function createCallFaults(
  clock: Clock,
  onStruck: (fault: CallFault, call: PortCall) => void,
): CallFaults {
  let faults: { readonly fault: CallFault; left: number }[] = [];

  function strike(call: PortCall): CallFault | null {
    const nowMs = clock.monotonic();
    faults = faults.filter(({ fault, left }) => left > 0 && (fault.untilMs ?? Infinity) > nowMs);
    const found = faults.find(({ fault }) => call.path.startsWith(fault.path));
    if (!found) return null;
    found.left -= 1;
    onStruck(found.fault, call);
    return found.fault;
  }

  return {
    add: (fault) => void faults.push({ fault, left: fault.times ?? Infinity }),
    clear: () => void (faults = []),
    async around(call, run) {
      const fault = strike(call);
      if (!fault) return run();
      const { effect, forMs = 1_000 } = fault;
      if (effect === 'refused') throw new Unreachable(`${call.path}: refused by the simulation`);
      if (effect === 'delayed') await sleep(clock, forMs);
      const result = await run();
      if (effect === 'late') await sleep(clock, forMs);
      if (effect === 'lost') throw lostAnswer(call);
      return result;
    },
    /** A notification is a call of its own: it may be lost, or come late. */
    stream: <T>(path: string, stream$: Observable<T>) =>
      stream$.pipe(
        mergeMap(async (value) => {
          const fault = strike({ path, args: [] });
          if (fault?.effect === 'late' || fault?.effect === 'delayed') {
            await sleep(clock, fault.forMs ?? 1_000);
          }
          return { value, isLost: fault?.effect === 'lost' || fault?.effect === 'refused' };
        }),
        filter(({ isLost }) => !isLost),
        mergeMap(({ value }) => [value]),
      ),
  };
}

/** The database adapter tells an end of work whose answer it cannot find out from any other call. */
const lostAnswer = ({ path }: PortCall) =>
  path.startsWith('bmdb.work.')
    ? new AmbiguousCommit(`${path}: the answer was lost by the simulation`)
    : new Unreachable(`${path}: the answer was lost by the simulation`);
