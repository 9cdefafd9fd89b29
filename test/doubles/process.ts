import { isObservable, Observable } from 'rxjs';
import type { Clock } from '../../src/adapters/clock/port.ts';

/** One of several processes in virtual time. A killed process says and does nothing more. */
export interface PlayedProcess {
  /** The process's clock: its timers end with the process. */
  readonly clock: Clock;
  readonly isAlive: boolean;
  /** False while it is stopped by SIGSTOP or dead: it takes no calls. */
  readonly isRunning: boolean;
  /** Stops as by SIGSTOP: timers and answers wait until `resume`. */
  pause(): void;
  /** Continues as by SIGCONT: runs everything that became due meanwhile, in order. */
  resume(): void;
  /**
   * The same port, cut off when the process is killed: later calls are not made, and calls under
   * way get no answer. A method's result is guarded too, if it has methods. All methods with
   * effects must be asynchronous.
   */
  guard<Port extends object>(port: Port): Port;
  /** Sets its wall clock ahead of the world's by this much. The monotonic clock is unchanged. */
  setClock(offsetMs: number): void;
  /** Stops dead, as by SIGKILL, without notice to anybody. */
  kill(): void;
}

/** @param startOffsetMs how far its wall clock is ahead of the world's. */
export function createProcess(clock: Clock, startOffsetMs = 0): PlayedProcess {
  let offsetMs = startOffsetMs;
  const timers = new Set<unknown>();
  let isAlive = true;
  /** Events of a stopped process, in order; null: it runs. */
  let backlog: (() => void)[] | null = null;
  const happen = (fn: () => void): void => {
    if (!isAlive) return;
    if (backlog) backlog.push(fn);
    else fn();
  };

  const signals = new WeakMap<AbortSignal, AbortSignal>();

  function guardValue(value: unknown, owner: object): unknown {
    if (typeof value === 'function') return guardMethod(value as AnyMethod, owner);
    if (value instanceof AbortSignal) return guardSignal(value);
    if (isObservable(value)) return guardStream(value);
    return hasMethods(value) ? guard(value) : value;
  }
  const guardStream = <T>(stream$: Observable<T>): Observable<T> =>
    new Observable((to) =>
      stream$.subscribe({
        next: (value) => happen(() => to.next(value)),
        error: (error) => happen(() => to.error(error)),
        complete: () => happen(() => to.complete()),
      }),
    );
  function guardSignal(signal: AbortSignal): AbortSignal {
    const known = signals.get(signal);
    if (known) return known;
    const guarded = new AbortController();
    const abort = () => happen(() => guarded.abort(signal.reason));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    signals.set(signal, guarded.signal);
    return guarded.signal;
  }
  const guardMethod =
    (method: AnyMethod, owner: object): AnyMethod =>
    (...args) => {
      if (!isAlive) return NEVER;
      const answer = method.apply(owner, args);
      if (!(answer instanceof Promise)) return guardAnswer(answer);
      return new Promise((resolve, reject) => {
        answer.then(
          (value: unknown) => happen(() => resolve(guardAnswer(value))),
          (error: unknown) => happen(() => reject(error)),
        );
      });
    };
  const guardAnswer = (answer: unknown) => (hasMethods(answer) ? guard(answer) : answer);

  function guard<Port extends object>(port: Port): Port {
    const guarded = {};
    for (const key of Object.keys(port)) {
      const get = () => guardValue(port[key as keyof Port], port);
      Object.defineProperty(guarded, key, { enumerable: true, configurable: true, get });
    }
    return guarded as Port;
  }

  return {
    clock: {
      now: () => clock.now() + offsetMs,
      monotonic: clock.monotonic,
      setTimeout(fn, timeoutMs) {
        if (!isAlive) return null;
        const timer = clock.setTimeout((...args) => {
          // An earlier callback may have cleared it.
          happen(() => timers.delete(timer) && fn(...args));
        }, timeoutMs);
        timers.add(timer);
        return timer;
      },
      clearTimeout(timer) {
        if (timers.delete(timer)) clock.clearTimeout(timer);
      },
    },
    get isAlive() {
      return isAlive;
    },
    get isRunning() {
      return isAlive && !backlog;
    },
    pause() {
      backlog ??= [];
    },
    resume() {
      const waiting = backlog ?? [];
      backlog = null;
      for (const fn of waiting) happen(fn);
    },
    guard,
    setClock: (aheadMs) => void (offsetMs = aheadMs),
    kill() {
      isAlive = false;
      backlog = null;
      for (const timer of timers) clock.clearTimeout(timer);
      timers.clear();
    },
  };
}

type AnyMethod = (...args: unknown[]) => unknown;

/** The result of a dead caller's call. */
const NEVER = new Promise<never>(() => undefined);

/** Plain objects with methods; not rows, signals or streams. */
const hasMethods = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  Object.values(value).some((each) => typeof each === 'function');
