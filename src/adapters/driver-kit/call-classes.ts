import { z } from 'zod';
import type { Clock } from '../clock/port.ts';
import type { ApiDeps, ApiTerms, BudgetTerms, CallClassTerms, Exchange } from './terms.ts';
import { createTurns, type Turns } from './turns.ts';

/** Starts to remember over a restart: time (epoch milliseconds) and number. */
export type SpentStarts = readonly (readonly [atMs: number, starts: number])[];

/** Parses a stored result of `spent()`. */
export const spentStarts: z.ZodType<SpentStarts> = z
  .array(z.tuple([z.int().nonnegative(), z.int().positive().max(100_000)]))
  .max(1_000)
  .readonly();

export interface BudgetDeps {
  readonly clock: Clock;
  /** Daemons that share the budget; default 1. */
  readonly daemons?: () => number;
}

const STEPS = 60;

/**
 * A rolling budget for each of the terms; a start must fit into all of them. Without terms, nothing
 * is limited or counted. Remembers as many starts as the terms allow.
 */
export function createBudget(terms: readonly BudgetTerms[], deps: BudgetDeps) {
  const { clock, daemons = () => 1 } = deps;
  const longestMs = Math.max(0, ...terms.map(({ withinMs }) => withinMs));
  /** Monotonic times, in order. */
  let own: number[] = [];
  let recalled: number[] = [];

  function forgetOld(): void {
    const fromMs = clock.monotonic() - longestMs;
    const isOld = (starts: readonly number[]) => starts.length > 0 && starts[0]! <= fromMs;
    if (isOld(own)) own = own.filter((atMs) => atMs > fromMs);
    if (isOld(recalled)) recalled = recalled.filter((atMs) => atMs > fromMs);
  }

  /** A share is at least one start, otherwise a daemon could never do anything. */
  function mine({ startsMax, keptForUrgent = 0 }: BudgetTerms, urgent: boolean): number {
    const count = Math.max(1, daemons());
    const all = Math.max(1, Math.floor(startsMax / count));
    return urgent ? all : Math.max(1, all - Math.ceil(keptForUrgent / count));
  }

  function startsWithin(withinMs: number): number[] {
    const fromMs = clock.monotonic() - withinMs;
    const starts = recalled.length === 0 ? own : [...recalled, ...own].toSorted((a, b) => a - b);
    return starts.filter((atMs) => atMs > fromMs);
  }

  function waitOf(each: BudgetTerms, urgent: boolean): number {
    const starts = startsWithin(each.withinMs);
    const allowed = mine(each, urgent);
    if (starts.length < allowed) return 0;
    const leavesMs = starts[starts.length - allowed]! + each.withinMs;
    return Math.max(0, leavesMs - clock.monotonic());
  }

  return {
    /** Milliseconds until the next start is allowed; 0: now. */
    waitMs(urgent: boolean): number {
      forgetOld();
      return Math.max(0, ...terms.map((each) => waitOf(each, urgent)));
    },
    /** How many starts are allowed now. */
    left(urgent: boolean): number {
      forgetOld();
      const lefts = terms.map((each) => mine(each, urgent) - startsWithin(each.withinMs).length);
      return Math.max(0, Math.min(Infinity, ...lefts));
    },
    /** Counts a start. */
    take(): void {
      if (terms.length > 0) own.push(clock.monotonic());
    },
    /**
     * Starts within the longest period, for a record: at most 61 entries. Times are rounded up, so
     * that a start is forgotten too late rather than too early.
     */
    spent(): SpentStarts {
      forgetOld();
      const stepMs = Math.max(1, Math.ceil(longestMs / STEPS));
      const counts = new Map<number, number>();
      const toEpochMs = clock.now() - clock.monotonic();
      for (const startMs of startsWithin(longestMs)) {
        const atMs = Math.ceil((startMs + toEpochMs) / stepMs) * stepMs;
        counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
      }
      return [...counts];
    },
    /**
     * Counts starts of this daemon before a restart, or of dead daemons. Replaces the previous
     * recall. Future times count as now.
     */
    recall(spent: SpentStarts): void {
      const nowMs = clock.monotonic();
      const toMonotonicMs = nowMs - clock.now();
      recalled = spent
        .flatMap(([atMs, starts]) =>
          Array.from({ length: starts }, () => Math.min(nowMs, atMs + toMonotonicMs)),
        )
        .toSorted((a, b) => a - b);
      forgetOld();
    },
  };
}
/** The remaining starts of this daemon. */
export type Budget = ReturnType<typeof createBudget>;

/** Calls that share pacing, counts and pauses. */
export interface CallClass {
  readonly turns: Turns;
  readonly budget: Budget;
  /** Consecutive answers that asked this class to stay away. */
  askedAway: number;
}

/** Class of the calls for which `classOf` returns null. */
const OTHERS = '';

/** One class for each name in the terms, and one for all other calls. */
export function createCallClasses(
  { limits, classes = {}, classOf = () => OTHERS }: ApiTerms,
  { clock, daemons, observer }: ApiDeps,
) {
  const shared = { clock, ...(daemons && { daemons }) };
  const counts = new Map<string, readonly [waiting: number, inFlight: number]>();

  /** Metrics show the whole API. */
  function report(name: string, waiting: number, inFlight: number): void {
    counts.set(name, [waiting, inFlight]);
    const sum = (n: 0 | 1) => [...counts.values()].reduce((total, count) => total + count[n], 0);
    observer?.slots?.(sum(0), sum(1));
  }

  function createClass(name: string, terms: CallClassTerms): CallClass {
    const budget = createBudget(terms.budgets ?? [], shared);
    const turns = createTurns(terms.limits ?? limits, {
      ...shared,
      budget,
      onChange: (waiting, inFlight) => report(name, waiting, inFlight),
      onPaused: (extraMs) => observer?.paused?.('rate_limit', extraMs / 1000),
    });
    return { turns, budget, askedAway: 0 };
  }

  const all = new Map(
    Object.entries({ [OTHERS]: {}, ...classes }).map(([name, terms]) => [
      name,
      createClass(name, terms),
    ]),
  );
  function named(name: string): CallClass {
    const found = all.get(name);
    if (!found) throw new Error(`the API has no call class ${name}`);
    return found;
  }
  return {
    of: (exchange: Exchange): CallClass => named(classOf(exchange) ?? OTHERS),
    /** @throws {Error} the API has no such class. */
    named,
    stop: (): void => all.forEach(({ turns }) => turns.stop()),
  };
}
export type CallClasses = ReturnType<typeof createCallClasses>;
