import { type Budget, type BudgetTerms, createBudget } from '../kit/budget.ts';
import { createTurns, type TurnLimits, type Turns } from '../kit/turns.ts';
import type { ApiDeps, ApiTerms, Exchange } from './api.ts';

/** What calls of one class are limited by, apart from all others. */
export interface CallClassTerms {
  /** Those of the API if absent. */
  readonly limits?: TurnLimits;
  /** Of all daemons together; without limit if absent. All of them have to have something left. */
  readonly budgets?: readonly BudgetTerms[];
}

/** Calls that are paced, counted and held up together. */
export interface CallClass {
  readonly turns: Turns;
  readonly budget: Budget;
  /** How many answers in a row asked this class to stay away. */
  askedAway: number;
}

export interface CallClasses {
  of(exchange: Exchange): CallClass;
  /** @throws {Error} the API has no such class. */
  named(name: string): CallClass;
  stop(): void;
}

/** Calls for which `classOf` names no class are one, too. */
const OTHERS = '';

/** One class for each name in the terms, and one for all other calls. */
export function createCallClasses(
  { limits, classes = {}, classOf = () => OTHERS }: ApiTerms,
  { clock, daemons, observer }: ApiDeps,
): CallClasses {
  const shared = { clock, ...(daemons && { daemons }) };
  const counts = new Map<string, readonly [waiting: number, inFlight: number]>();

  /** People see the whole API. */
  function report(name: string, waiting: number, inFlight: number): void {
    counts.set(name, [waiting, inFlight]);
    const sum = (n: 0 | 1) => [...counts.values()].reduce((total, count) => total + count[n], 0);
    observer.slots(sum(0), sum(1));
  }

  function createClass(name: string, terms: CallClassTerms): CallClass {
    const budget = createBudget(terms.budgets ?? [], shared);
    const turns = createTurns(terms.limits ?? limits, {
      ...shared,
      budget,
      onChange: (waiting, inFlight) => report(name, waiting, inFlight),
      onPaused: (extraMs) => observer.paused('rate_limit', extraMs / 1000),
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
    if (!found) throw new Error(`the API has no class of calls that is named ${name}`);
    return found;
  }
  return {
    of: (exchange) => named(classOf(exchange) ?? OTHERS),
    named,
    stop: () => all.forEach(({ turns }) => turns.stop()),
  };
}
