import { UsageError } from '../domain/errors.ts';
import type { Fact, Step } from './step.ts';
import { CHANGING } from './steps/changing.ts';
import { CONTACT, EXISTING } from './steps/contact.ts';
import { CREATION } from './steps/creation.ts';
import { ENDING } from './steps/ending.ts';
import { OPENING } from './steps/opening.ts';

/** Everything a driver is tested for, in order. */
export const STEPS: readonly Step[] = [
  ...OPENING,
  ...CREATION,
  ...EXISTING,
  ...CONTACT,
  ...CHANGING,
  ...ENDING,
];

/**
 * The steps of these ids and all that they build on, in order; all when none are named.
 * @throws {UsageError} there is no such step.
 */
export function chooseSteps(only: readonly string[]): readonly Step[] {
  if (only.length === 0) return STEPS;
  const strange = only.filter((id) => !STEPS.some((step) => step.id === id));
  if (strange.length > 0) {
    const known = STEPS.map(({ id }) => id).join(', ');
    throw new UsageError(`there is no step ${strange.join(', ')}; there are ${known}`);
  }
  const chosen = new Set<Step>();
  const choose = (step: Step) => {
    chosen.add(step);
    for (const fact of step.takes) giversOf(fact).forEach(choose);
  };
  STEPS.filter(({ id }) => only.includes(id)).forEach(choose);
  return STEPS.filter((step) => chosen.has(step));
}

export const giversOf = (fact: Fact): readonly Step[] =>
  STEPS.filter(({ gives }) => gives === fact);
