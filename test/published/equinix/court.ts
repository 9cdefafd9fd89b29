import type { Exchange } from '../../../emulators/equinix/exchanges.ts';
import { emptyTally, judge, type Tally } from './judge.ts';

/** Violations shown of one test; the rest is counted. */
const SHOWN = 20;

/** The first of each kind: the same field of another item of a list is no news. */
const problems = new Map<string, string>();
let tally = emptyTally();

/** Judges an exchange; its violations wait for {@link takeProblems}. */
export function hear(exchange: Exchange): void {
  for (const problem of judge(exchange, tally)) {
    const kind = problem.replaceAll(/\[\d+\]/g, '[]');
    if (!problems.has(kind)) problems.set(kind, problem);
  }
}

/** The violations since the last time, each once. */
export function takeProblems(): string[] {
  const all = [...problems.values()];
  problems.clear();
  const more = all.length - SHOWN;
  return more > 0 ? [...all.slice(0, SHOWN), `and ${more} more`] : all;
}

/** What was judged since the last time. */
export function takeTally(): Tally {
  const taken = tally;
  tally = emptyTally();
  return taken;
}
