import type { Clock } from '../clock/port.ts';
import type { Budget } from './call-classes.ts';

export type EndTurn = () => void;

export interface TurnOptions {
  readonly signal: AbortSignal;
  readonly urgent?: boolean;
  readonly bulk?: boolean;
  /**
   * Called when a pause of this length begins, or the budget is empty for this long; if it returns
   * an error, the wait ends with it.
   */
  readonly onPause?: (delayMs: number, why: PauseReason) => Error | undefined;
}
export type PauseReason = 'paused' | 'budget';

export interface TurnLimits {
  /** Maximum concurrent tasks. */
  readonly maxConcurrency: number;
  /** Minimum time between two starts of one daemon, milliseconds; 0: none. */
  readonly gapMs: number;
  /** Minimum time between the end of a task and the next start, milliseconds; default 0. */
  readonly restMs?: number;
  /** Bulk tasks wait for all others. */
  readonly bulkLast?: boolean;
}

export interface TurnDeps {
  readonly clock: Clock;
  /** Daemons that share the budget of calls; the gap grows with their number. Default 1. */
  readonly daemons?: () => number;
  /** Limits starts over a longer time. */
  readonly budget?: Pick<Budget, 'waitMs' | 'take'>;
  /** Called with the numbers of waiting and running tasks after every change. */
  readonly onChange?: (waiting: number, inFlight: number) => void;
  /** Called with the extension of a pause. */
  readonly onPaused?: (extraMs: number) => void;
}

interface Waiter {
  readonly urgent: boolean;
  readonly bulk: boolean;
  start(end: EndTurn): void;
  paused(delayMs: number, why: PauseReason): void;
}

/** How long a trial may keep all others from running. */
const TRIAL_MS = 10_000;

/**
 * Limits how many tasks run, and how close together they begin. Not built on a rate limiting
 * library (bottleneck was tried). None accepts a clock, lets a queued task leave, or pauses
 * everything but one trial, so we needed our own queue anyway. Bottleneck also spaces *planned*
 * starts by the wall clock, so that after a late timer two real starts may be closer than the
 * budget allows.
 */
export function createTurns(limits: TurnLimits, deps: TurnDeps) {
  const { clock } = deps;
  const bulkMax = Math.max(1, limits.maxConcurrency - 1);
  const queue: Waiter[] = [];
  const distance = createDistance(limits, deps);
  let inFlight = 0;
  let bulkInFlight = 0;
  let pausedUntilMs = 0;
  let wakeTimer: unknown;
  let trialTimer: unknown;
  let trial: 'none' | 'due' | 'running' = 'none';
  /** A trial proves nothing about a pause that began after it. */
  let pauses = 0;

  const pausedMs = () => Math.max(0, pausedUntilMs - clock.monotonic());
  const report = () => deps.onChange?.(queue.length, inFlight);
  function nextWaiter(): Waiter | undefined {
    if (inFlight >= limits.maxConcurrency || trial === 'running') return undefined;
    const quick = trial === 'due' ? queue.find(({ bulk }) => !bulk) : undefined;
    const first = quick ?? queue.find(({ urgent }) => urgent);
    const next = first ?? (limits.bulkLast ? queue.find(({ bulk }) => !bulk) : undefined);
    return next ?? queue.find(({ bulk }) => !bulk || bulkInFlight < bulkMax);
  }

  function pump() {
    for (let next = nextWaiter(); next; next = nextWaiter()) {
      const lackMs = deps.budget?.waitMs(next.urgent) ?? 0;
      const waitMs = Math.max(pausedMs(), distance.waitMs(), lackMs);
      if (waitMs === 0) start(next);
      else if (lackMs === 0 || !leavesFor(lackMs, next)) return wakeIn(waitMs);
    }
  }

  /** Whether any task left among those without budget. */
  function leavesFor(lackMs: number, next: Waiter): boolean {
    const waitingBefore = queue.length;
    for (const waiter of queue.filter(({ urgent }) => next.urgent || !urgent)) {
      waiter.paused(lackMs, 'budget');
    }
    return queue.length < waitingBefore;
  }

  function wakeIn(delayMs: number) {
    clock.clearTimeout(wakeTimer);
    wakeTimer = clock.setTimeout(pump, delayMs);
  }

  function start(waiter: Waiter) {
    queue.splice(queue.indexOf(waiter), 1);
    distance.take();
    deps.budget?.take();
    const pausesBefore = pauses;
    const tries = trial === 'due';
    if (tries) beginTrial();
    count(waiter, 1);
    let isOver = false;
    waiter.start(() => {
      if (isOver) return;
      isOver = true;
      if (tries && pauses === pausesBefore) endTrial('none');
      distance.end();
      count(waiter, -1);
      pump();
    });
  }

  function beginTrial() {
    trial = 'running';
    trialTimer = clock.setTimeout(() => {
      endTrial('due');
      pump();
    }, TRIAL_MS);
  }

  function endTrial(next: 'none' | 'due') {
    clock.clearTimeout(trialTimer);
    trial = next;
  }

  function count(waiter: Waiter, change: 1 | -1) {
    inFlight += change;
    if (waiter.bulk) bulkInFlight += change;
    report();
  }

  const sendAway = (delayMs: number) => {
    for (const waiter of [...queue]) waiter.paused(delayMs, 'paused');
  };

  return {
    /**
     * Waits for a turn: urgent ones first, otherwise first come, first served. Bulk tasks hold at
     * most all slots but one. Resolves with a function that ends the turn; call it after the task.
     * Rejects with the signal's reason if aborted while waiting.
     */
    take: ({ signal, urgent = false, bulk = false, onPause }: TurnOptions): Promise<EndTurn> =>
      new Promise((resolve, reject) => {
        let isWaiting = true;
        const waiter: Waiter = {
          urgent,
          bulk,
          start: (end) => {
            isWaiting = false;
            signal.removeEventListener('abort', leave);
            resolve(end);
          },
          paused: (delayMs, why) => {
            const error = onPause?.(delayMs, why);
            if (error) leaveWith(error);
          },
        };
        const leaveWith = (reason: Error) => {
          isWaiting = false;
          signal.removeEventListener('abort', leave);
          queue.splice(queue.indexOf(waiter), 1);
          if (queue.length === 0) clock.clearTimeout(wakeTimer);
          report();
          reject(reason);
        };
        const leave = () => leaveWith(signal.reason as Error);
        if (signal.aborted) return reject(signal.reason as Error);
        queue.push(waiter);
        report();
        pump();
        // Most turns come at once, and a listener costs more than the turn.
        if (isWaiting) signal.addEventListener('abort', leave, { once: true });
      }),
    /**
     * Starts nothing for `delayMs`. Then one trial task runs alone, and another for each ten
     * seconds that it takes. A bulk task is a trial only if no other waits.
     */
    pause(delayMs: number): void {
      const extraMs = delayMs - pausedMs();
      pausedUntilMs = Math.max(pausedUntilMs, clock.monotonic() + delayMs);
      pauses++;
      endTrial('due');
      if (extraMs > 0) deps.onPaused?.(extraMs);
      wakeIn(pausedMs());
      sendAway(pausedMs());
    },
    /** Tells waiting tasks that they would have to wait `delayMs`; remembers nothing. */
    sendAway,
    /** Milliseconds until a pause ends; 0 without one. */
    pausedMs,
    /** No task waits or runs, and a turn would begin at once: nothing here is worth keeping. */
    isIdle: (): boolean =>
      queue.length === 0 && inFlight === 0 && pausedMs() === 0 && distance.waitMs() === 0,
    /** Waiting tasks end by their signals. */
    stop(): void {
      clock.clearTimeout(wakeTimer);
      clock.clearTimeout(trialTimer);
    },
  };
}
/** Turns for calls. A call holds its slot while it runs, and none while it sleeps. */
export type Turns = ReturnType<typeof createTurns>;

/** Minimum time between starts, counted from real starts, so that a late one delays the next. */
function createDistance({ gapMs, restMs = 0 }: TurnLimits, { clock, daemons = () => 1 }: TurnDeps) {
  let startedMs = -Infinity;
  let endedMs = -Infinity;
  return {
    waitMs() {
      const fromStartMs = startedMs + gapMs * Math.max(1, daemons());
      return Math.max(0, Math.max(fromStartMs, endedMs + restMs) - clock.monotonic());
    },
    take: () => void (startedMs = clock.monotonic()),
    end: () => void (endedMs = clock.monotonic()),
  };
}

export interface GroupLimits {
  /** Of each key. `{ maxConcurrency: 1, gapMs: 0, restMs: 200, bulkLast: true }`: one at a time. */
  readonly each: TurnLimits;
  /** Limits of all keys together; default: none. */
  readonly together?: TurnLimits;
}

function firstTwo<T>(map: ReadonlyMap<string, T>): [string, T][] {
  const first: [string, T][] = [];
  for (const entry of map) {
    if (first.push(entry) === 2) break;
  }
  return first;
}

/** Only keys with state use memory: each new turn checks two keys, and drops idle ones. */
export function createTurnGroups(limits: GroupLimits, deps: Pick<TurnDeps, 'clock' | 'daemons'>) {
  /** Keys used or checked last are at the end. */
  const groups = new Map<string, Turns>();
  const together = limits.together && createTurns(limits.together, deps);

  function groupOf(key: string): Turns {
    const group = groups.get(key) ?? createTurns(limits.each, deps);
    groups.delete(key);
    groups.set(key, group);
    forgetIdle(key);
    return group;
  }

  function forgetIdle(used: string): void {
    for (const [key, group] of firstTwo(groups)) {
      if (key === used) return;
      groups.delete(key);
      if (group.isIdle()) group.stop();
      else groups.set(key, group);
    }
  }

  return {
    /**
     * Waits for a turn of this key, and then for a turn of all keys together if limited. So a wait
     * for a busy key delays no other key. Otherwise like `Turns.take`.
     */
    async take(key: string, options: TurnOptions): Promise<EndTurn> {
      const end = await groupOf(key).take(options);
      if (!together) return end;
      try {
        const endTogether = await together.take(options);
        return () => {
          endTogether();
          end();
        };
      } catch (error) {
        end();
        throw error;
      }
    },
    /** Like `Turns.pause`, for this key. */
    pause: (key: string, delayMs: number): void => groupOf(key).pause(delayMs),
    /** Milliseconds until a pause of this key ends; 0 without one. */
    pausedMs: (key: string): number => groups.get(key)?.pausedMs() ?? 0,
    /** Number of keys with state: waiting, running, resting or paused ones, and a few more. */
    get size() {
      return groups.size;
    },
    /** Waiting tasks end by their signals. */
    stop(): void {
      for (const group of groups.values()) group.stop();
      together?.stop();
    },
  };
}
/** Turns for each of many keys, such as the BMCs of a rack; keys are independent. */
export type TurnGroups = ReturnType<typeof createTurnGroups>;
