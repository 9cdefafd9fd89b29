import { concatMap, from, mergeMap, type Observable } from 'rxjs';
import { REPEAT_FOR_MS, repeated } from '../../src/adapters/bmdb/pg/repeat.ts';
import { sleep, type Clock } from '../../src/adapters/clock/port.ts';
import {
  AmbiguousCommit,
  NotWritable,
  ProviderError,
  RetryExhausted,
  SessionExpired,
  Unreachable,
} from '../../src/domain/errors.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/**
 * What goes wrong with a call:
 * - `refused`: an error, and nothing was done.
 * - `read-only`: the same, from a database that failed over.
 * - `lost`: done, but the answer never arrives.
 * - `late`: done, and the answer arrives after `forMs`, so a read shows old data.
 * - `delayed`: done after `forMs`.
 * - `conflict`: other transactions were faster each time, and nothing was done.
 * - `doubled`: a notification arrives twice.
 * - `dies-before`, `dies-after`, `dies-answered`: the caller dies before the effect, between effect
 * and answer, or after the answer.
 * - `pauses`: done, and the caller stands still before the answer arrives.
 */
export type CallEffect =
  | 'refused'
  | 'read-only'
  | 'lost'
  | 'late'
  | 'delayed'
  | 'conflict'
  | Notice;
type Notice = 'doubled' | 'dies-before' | 'dies-after' | 'dies-answered' | 'pauses';

export interface CallFault {
  readonly effect: CallEffect;
  /** Spoils calls whose path starts with this text, such as `bmdb.session`. */
  readonly path: string;
  /** Maximum number of calls to spoil. */
  readonly times?: number;
  /** Number of matching calls that pass before the first one is spoiled. */
  readonly skip?: number;
  /** The fault ends at this time of the world's monotonic clock. */
  readonly untilMs?: number;
  /** Delay of `late` and `delayed`. */
  readonly forMs?: number;
  /** Kills or pauses the caller. Used by the `dies-…` effects and `pauses`. */
  readonly strikeCaller?: () => void;
}

/** The faults in the port calls of one daemon. */
export interface CallFaults extends Required<Interceptor> {
  /** @returns a function that removes the fault. */
  add(fault: CallFault): () => void;
  clear(): void;
}

/** Time that the adapter needs to find out what a lost call did. */
const FOUND_OUT_MS = 250;
/** Duration of about fifty conflicts in a row, with the adapter's pauses between them. */
const CONFLICTS_MS = 12_000;

/** @param onStruck called for each spoiled call. */
export function createCallFaults(
  clock: Clock,
  onStruck: (fault: CallFault, call: PortCall) => void,
): CallFaults {
  let faults: { readonly fault: CallFault; left: number; skip: number }[] = [];

  function strike(call: PortCall): CallFault | null {
    const nowMs = clock.monotonic();
    faults = faults.filter(({ fault, left }) => left > 0 && (fault.untilMs ?? Infinity) > nowMs);
    const found = faults.find(({ fault }) => call.path.startsWith(fault.path));
    if (!found) return null;
    if (found.skip > 0) {
      found.skip -= 1;
      return null;
    }
    found.left -= 1;
    onStruck(found.fault, call);
    return found.fault;
  }

  async function spoilt(fault: CallFault, call: PortCall, run: () => Promise<unknown>) {
    const { effect, forMs = 1_000, strikeCaller } = fault;
    if (effect === 'refused' || effect === 'read-only') throw refusalOf(call, effect);
    if (effect === 'conflict') {
      await sleep(clock, CONFLICTS_MS);
      throw new RetryExhausted(`${call.path}: conflicts, says the simulation`);
    }
    if (effect === 'dies-before') {
      strikeCaller!();
      return NEVER;
    }
    if (effect === 'delayed') await sleep(clock, forMs);
    const result = await run();
    if (effect === 'dies-after' || effect === 'pauses') strikeCaller!();
    if (effect === 'dies-answered') clock.setTimeout(strikeCaller!, 0);
    if (effect === 'late') await sleep(clock, forMs);
    if (effect === 'late' || effect === 'delayed') requireInTime(call);
    if (effect !== 'lost') return result;
    // The caller never gets this connection, so it cannot close it.
    if (call.path === 'shell.connect') (result as { close(): void }).close();
    // The adapter reads back what the call did, and gives up when the database stays silent.
    if (isEnd(call) || isClaim(call)) {
      await sleep(clock, fault.times === 1 ? FOUND_OUT_MS : REPEAT_FOR_MS);
      if (fault.times === 1) return result;
    }
    throw lostAnswer(call);
  }

  return {
    add(fault) {
      const added = { fault, left: fault.times ?? Infinity, skip: fault.skip ?? 0 };
      faults.push(added);
      return () => void (added.left = 0);
    },
    clear: () => void (faults = []),
    async around(call, run) {
      const once = async () => {
        const fault = strike(call);
        return fault ? spoilt(fault, call, run) : run();
      };
      if (!isEnd(call)) return once();
      try {
        return await repeated({ clock, ...REPEATING }, once);
      } catch (error) {
        // The database adapter never fails here, because work that is not cancelled ends with its
        // session.
        if (call.path === 'bmdb.work.cancel') return undefined;
        throw error;
      }
    },
    /** A notification is a call of its own: it may be lost, late or doubled. */
    stream: <T>(path: string, stream$: Observable<T>) =>
      stream$.pipe(
        mergeMap(async (value): Promise<T[]> => {
          const { effect, forMs = 1_000 } = strike({ path, args: [] }) ?? {};
          if (effect === 'late' || effect === 'delayed') await sleep(clock, forMs);
          if (effect === 'doubled') return [value, value];
          return effect === 'lost' || effect === 'refused' ? [] : [value];
        }),
        concatMap((values) => from(values)),
      ),
  };
}

/** Repeats the call as the database adapter does for calls that must not be lost. */
const REPEATING = {
  random: { next: () => 0.5, uuid: () => '' },
  isPassing: (error: unknown) => error instanceof Unreachable,
};
const NEVER = new Promise<never>(() => undefined);

const isEnd = ({ path }: PortCall) => /^bmdb\.work\.(finish|fail|cancel)$/.test(path);
const isClaim = ({ path }: PortCall) => path === 'bmdb.session.claim';
const isProvider = ({ path }: PortCall) => path.startsWith('provider.');

/** Refuses an answer that arrives after the session's local deadline, as the database adapter does. */
function requireInTime({ path, signal }: PortCall): void {
  if (!signal?.aborted || !path.startsWith('bmdb.session.') || path.endsWith('.close')) return;
  throw new SessionExpired(`${path}: too late`, { cause: signal.reason });
}

function refusalOf(call: PortCall, effect: CallEffect): Error {
  const what = `${call.path}: refused by the simulation`;
  if (isProvider(call)) return new ProviderError('transient', what);
  return effect === 'read-only' ? new NotWritable(what) : new Unreachable(what);
}

/** Calls without a transaction. They cannot lose the answer to a COMMIT. */
const WITHOUT_COMMIT =
  /^bmdb\.(openSession|session\.poke|scan|changesSince|readMachine|sweep|heartbeats|work)/;

/** The error for a lost answer. The database adapter tries for a while to find out what happened; other ports fail at once. */
function lostAnswer(call: PortCall): Error {
  const what = `${call.path}: the answer was lost by the simulation`;
  if (isProvider(call)) return new ProviderError('transient', what, { outcome: 'unknown' });
  if (!call.path.startsWith('bmdb.')) return new Unreachable(what);
  const isGone = call.signal?.aborted ?? false;
  if (isClaim(call) || isEnd(call)) {
    return isGone ? new AmbiguousCommit(what) : new Unreachable(what);
  }
  return WITHOUT_COMMIT.test(call.path) ? new Unreachable(what) : new AmbiguousCommit(what);
}
