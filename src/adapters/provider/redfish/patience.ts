import type { Clock } from '../../clock/port.ts';
import type { CallOptions } from '../port.ts';

/** The part of a call's time in which a BMC may answer; the rest is for the answer without it. */
export interface Patience {
  readonly signal: AbortSignal;
  /** Whether it ended of itself, while the call goes on. */
  isOver(): boolean;
  end(): void;
}

/** What is left for the answer: a tenth of the time, two seconds at most. */
const REST_SHARE = 0.1;
const REST_MOST_MS = 2_000;

/** The deadline of a call is put off while it waits for a turn, and patience with it. */
export function startPatience(
  call: Pick<CallOptions, 'signal' | 'deadline'>,
  clock: Clock,
): Patience {
  const over = new AbortController();
  const leftMs = () => call.deadline.getTime() - clock.now();
  const restMs = Math.min(REST_MOST_MS, leftMs() * REST_SHARE);
  let timer: unknown;
  wait();

  function wait(): void {
    const waitMs = leftMs() - restMs;
    if (waitMs > 0) timer = clock.setTimeout(wait, waitMs);
    else over.abort(new Error('the BMC takes longer than the call may'));
  }

  return {
    signal: AbortSignal.any([call.signal, over.signal]),
    isOver: () => over.signal.aborted,
    end: () => clock.clearTimeout(timer),
  };
}
