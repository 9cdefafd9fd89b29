import type { Clock } from '../adapters/clock/port.ts';
import { explain, UsageError } from '../domain/errors.ts';
import { plainText } from '../lib/texts.ts';
import { StepSkipped } from './waiting.ts';

/** One test of a driver. */
export interface CourseStep {
  /** Name on the command line; never changes. */
  readonly id: string;
  /** What is true if it passes. */
  readonly title: string;
  /** Facts from earlier steps that it requires. */
  readonly takes: readonly string[];
  /** The fact that it establishes. */
  readonly gives?: string;
}

export type Outcome = 'passed' | 'failed' | 'skipped' | 'not-run';

export interface StepResult {
  readonly id: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** The finding, the fault, or why it was skipped; may be empty. */
  readonly message: string;
  readonly durationMs: number;
}
export type StepVerdict = Pick<StepResult, 'outcome' | 'message'>;
export const skipped = (message: string): StepVerdict => ({ outcome: 'skipped', message });
export const failed = (error: unknown): StepVerdict => ({
  outcome: 'failed',
  message: explain(error),
});
export const notRun = (message: string): StepVerdict => ({ outcome: 'not-run', message });

export interface CourseReport {
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly steps: readonly StepResult[];
  /** No step failed, and no failure or early end prevented a step. */
  readonly passed: boolean;
  readonly interrupted: boolean;
  /** Errors of the clean-up. */
  readonly cleanUpErrors: readonly string[];
}

/** Steps, limits and callbacks of a run. */
export interface CourseRun<Step extends CourseStep> {
  readonly steps: readonly Step[];
  /** Ends the steps early; the clean-up still runs. */
  readonly signal: AbortSignal;
  /** Limit of all steps together, milliseconds. */
  readonly timeoutMs: number;
  /** Called with each result. */
  onResult?(result: StepResult): void;
}

export interface Course<Step extends CourseStep, Left> extends CourseRun<Step> {
  readonly clock: Clock;
  /** A verdict without a run, for example if the driver lacks a capability; null: run it. */
  bar(step: Step, signal: AbortSignal): Promise<StepVerdict | null> | null;
  /** Returns a detail to show. @throws {StepFailed} @throws {StepSkipped} */
  run(step: Step, signal: AbortSignal): Promise<string | void>;
  /** Wraps each step; absent: no wrapper. */
  around?(step: Step, work: () => Promise<StepVerdict>): Promise<StepVerdict>;
  /** Removes the steps' objects, whatever their results. */
  cleanUp(
    passed: boolean,
  ): Promise<{ readonly leftBehind: readonly Left[]; readonly errors: readonly string[] }>;
}

/** Removes control characters that a terminal or parser would interpret. */
export const oneLine = (text: string): string => plainText(text).replaceAll(/\s+/g, ' ').trim();

/** Runs the steps in order, and cleans up. The report contains failures. */
export async function runCourse<Step extends CourseStep, Left>(
  course: Course<Step, Left>,
): Promise<CourseReport & { readonly leftBehind: readonly Left[] }> {
  const { clock, signal: interrupt, around = (_, work) => work() } = course;
  const startedAtMs = clock.now();
  const begun = clock.monotonic();
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(), course.timeoutMs);
  const signal = AbortSignal.any([interrupt, late.signal]);
  const steps: StepResult[] = [];
  for (const step of course.steps) {
    const from = clock.monotonic();
    const judging = () => judge(course, step, { results: steps, signal });
    const { outcome, message } = signal.aborted
      ? notRun(overBy(interrupt))
      : await around(step, judging);
    const durationMs = clock.monotonic() - from;
    const { id, title } = step;
    // Texts of drivers and machines end up on terminals and in XML.
    const result = { id, title, outcome, message: oneLine(message), durationMs };
    steps.push(result);
    course.onResult?.(result);
  }
  clock.clearTimeout(timer);
  const passed = !steps.some(({ outcome }) => outcome === 'failed' || outcome === 'not-run');
  const { leftBehind, errors } = await course.cleanUp(passed);
  return {
    startedAtMs,
    durationMs: clock.monotonic() - begun,
    steps,
    passed,
    interrupted: interrupt.aborted,
    leftBehind,
    cleanUpErrors: errors.map(oneLine),
  };
}

/** Why the steps end early. */
const overBy = ({ aborted }: AbortSignal): string =>
  aborted ? 'interrupted' : 'the time limit was reached';

async function judge<Step extends CourseStep, Left>(
  course: Course<Step, Left>,
  step: Step,
  { results, signal }: { readonly results: readonly StepResult[]; readonly signal: AbortSignal },
): Promise<StepVerdict> {
  const barred = (await course.bar(step, signal)) ?? unmetBy(step, course.steps, results);
  if (barred) return barred;
  try {
    return { outcome: 'passed', message: (await course.run(step, signal)) ?? '' };
  } catch (error) {
    if (error instanceof StepSkipped) return skipped(error.message);
    if (!signal.aborted) return failed(error);
    return notRun(`${overBy(course.signal)}: ${explain(error)}`);
  }
}

const SHOWN: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'was skipped',
  'not-run': 'was not run',
};

/** A missing requirement: the step is skipped or left out for the same reason. */
function unmetBy(
  { takes }: CourseStep,
  steps: readonly CourseStep[],
  results: readonly StepResult[],
): StepVerdict | null {
  for (const fact of takes) {
    const givers = steps.filter(({ gives }) => gives === fact).map(({ id }) => id);
    const given = results.filter(({ id }) => givers.includes(id));
    if (given.some(({ outcome }) => outcome === 'passed')) continue;
    const culprit = given.find(({ outcome }) => outcome !== 'skipped') ?? given.at(-1)!;
    const message = `needs step "${culprit.id}", which ${SHOWN[culprit.outcome]}`;
    return culprit.outcome === 'skipped' ? skipped(message) : notRun(message);
  }
  return null;
}

/**
 * The steps with these ids and all that they require, in order; without ids, all.
 * @throws {UsageError} there is no such step.
 */
export function chooseSteps<Step extends CourseStep>(
  all: readonly Step[],
  only: readonly string[],
): readonly Step[] {
  if (only.length === 0) return all;
  const strange = only.filter((id) => !all.some((step) => step.id === id));
  if (strange.length > 0) {
    const known = all.map(({ id }) => id).join(', ');
    throw new UsageError(`there is no step ${strange.join(', ')}; there are ${known}`);
  }
  const chosen = new Set<Step>();
  const choose = (step: Step) => {
    chosen.add(step);
    all.filter(({ gives }) => gives !== undefined && step.takes.includes(gives)).forEach(choose);
  };
  all.filter(({ id }) => only.includes(id)).forEach(choose);
  return all.filter((step) => chosen.has(step));
}
