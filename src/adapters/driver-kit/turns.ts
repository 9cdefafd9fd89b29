import type { Clock } from '../clock/port.ts';
import type { Budget } from './call-classes.ts';

export type EndTurn = () => void;

export interface TurnOptions {
  readonly signal: AbortSignal;
  readonly urgent?: boolean;
  readonly bulk?: boolean;
  /**
   * Asked when a pause of this length begins, or when there is nothing left of the budget for so long; an
   * answer ends the waiting with it.
   */
  readonly onPause?: (delayMs: number, why: PauseReason) => Error | undefined;
}
export type PauseReason = 'paused' | 'budget';

export interface TurnLimits {
  /** Tasks at once. */
  readonly maxConcurrency: number;
  /** Least distance between two starts of one daemon alone, milliseconds; 0: any. */
  readonly gapMs: number;
  /** Least distance between the end of a task and the next start, milliseconds; 0 if absent. */
  readonly restMs?: number;
  /** Bulk tasks wait until nothing else does. */
  readonly bulkLast?: boolean;
}

export interface TurnDeps {
  readonly clock: Clock;
  /** Daemons that share the budget of calls; the distance grows with them. 1 when absent. */
  readonly daemons?: () => number;
  /** What may begin in a longer time. */
  readonly budget?: Pick<Budget, 'waitMs' | 'take'>;
  /** Hears how many wait and run after every change. */
  readonly onChange?: (waiting: number, inFlight: number) => void;
  /** Hears by how much everything is held up longer. */
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
 * Limits how many tasks run and how close together they begin. Not built on a rate limiting library (bottleneck was tried): none takes a
 * clock, lets a queued task leave, or holds everybody but one trial, so the queue had to be ours
 * anyway; and bottleneck keeps the distance between *planned* starts by the wall clock, so that a
 * late timer brings two real starts closer together than the budget allows.
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

  /** Whether anybody went, of those for whom there is nothing left either. */
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
     * Waits for a turn: urgent ones first, else first come, first served. Bulk tasks hold at most all
     * slots but one. Resolves with what ends the turn, to be called once the task is over. Rejects with
     * the signal's reason when aborted while waiting.
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
     * Starts nothing for `delayMs`; afterwards one trial task runs alone first, and one more for each
     * ten seconds that it takes. No bulk task, unless no other waits.
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
    /** Tells those who wait that they would have to for `delayMs`; nothing is remembered. */
    sendAway,
    /** Milliseconds until a pause ends; 0 without one. */
    pausedMs,
    /** Nobody waits or runs, and a turn would begin at once: nothing is lost with these turns. */
    isIdle: (): boolean =>
      queue.length === 0 && inFlight === 0 && pausedMs() === 0 && distance.waitMs() === 0,
    /** Whoever waits is left to its signal. */
    stop(): void {
      clock.clearTimeout(wakeTimer);
      clock.clearTimeout(trialTimer);
    },
  };
}
/** When calls may begin. A call holds its slot while it runs, and none while it sleeps. */
export type Turns = ReturnType<typeof createTurns>;

/** The distance between starts; counted from real starts, so that a late one puts off the next. */
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
  /** Of all keys together; without limit if absent. */
  readonly together?: TurnLimits;
}

function firstTwo<T>(map: ReadonlyMap<string, T>): [string, T][] {
  const first: [string, T][] = [];
  for (const entry of map) {
    if (first.push(entry) === 2) break;
  }
  return first;
}

/**
 * A key costs memory only while something of it is remembered: each new turn looks at the next two keys,
 * and forgets them if they are idle.
 */
export function createTurnGroups(limits: GroupLimits, deps: Pick<TurnDeps, 'clock' | 'daemons'>) {
  /** Those that were used or looked at last are at the end. */
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
     * Waits for a turn of this key, and then for one of all keys together if these are limited: who waits
     * for a key that is busy keeps nobody else from starting. As `Turns.take` otherwise.
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
    /** As `Turns.pause`, of this key. */
    pause: (key: string, delayMs: number): void => groupOf(key).pause(delayMs),
    /** Milliseconds until a pause of this key ends; 0 without one. */
    pausedMs: (key: string): number => groups.get(key)?.pausedMs() ?? 0,
    /** Keys of which anything is remembered: those that wait, run, rest or are paused, and few more. */
    get size() {
      return groups.size;
    },
    /** Whoever waits is left to its signal. */
    stop(): void {
      for (const group of groups.values()) group.stop();
      together?.stop();
    },
  };
}
/** Turns for each of many, such as the BMCs of a rack: those of one key know nothing of another's. */
export type TurnGroups = ReturnType<typeof createTurnGroups>;
