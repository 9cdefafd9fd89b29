import { explain } from '../domain/errors.ts';
import { plainText } from '../domain/texts.ts';
import { type CleanedUp, cleanUp, unclean } from './clean-up.ts';
import { createStage, type Stage } from './stage.ts';
import {
  type ConformanceReport,
  lacks,
  type Need,
  type Outcome,
  type Step,
  type StepResult,
} from './step.ts';
import { StepSkipped } from './verdict.ts';
import { giversOf } from './steps.ts';
import type { ConformanceDeps } from './subject.ts';
import { assertRefuses } from './unsupported.ts';
import { shown, within } from './waiting.ts';

export interface ConformanceRun {
  readonly steps: readonly Step[];
  /** Ends the steps before their time; what the test made is cleaned up all the same. */
  readonly signal: AbortSignal;
  /** Of all steps together, milliseconds. */
  readonly timeoutMs: number;
  /** Told of each result as it comes. */
  onResult?(result: StepResult): void;
  /** Told now and then what a step that takes long waits for. */
  onWait?(text: string): void;
}

/** Without what a terminal or a parser would take for more than text. */
const oneLine = (text: string): string => plainText(text).replaceAll(/\s+/g, ' ').trim();

type Verdict = Pick<StepResult, 'outcome' | 'message'>;
const skipped = (message: string): Verdict => ({ outcome: 'skipped', message });
const failed = (error: unknown): Verdict => ({ outcome: 'failed', message: explain(error) });

/** A driver that does not end when it is told to is left alone after this. */
const ABORT_GRACE_MS = 10_000;

/**
 * Puts a driver to the test, step by step, and removes what it made. Never rejects: what goes wrong
 * is in the report.
 */
export async function runConformance(
  deps: ConformanceDeps,
  run: ConformanceRun,
): Promise<ConformanceReport> {
  const { clock, subject } = deps;
  const stage = createStage(deps);
  const startedAtMs = clock.now();
  const begun = clock.monotonic();
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(), run.timeoutMs);
  const results = await runSteps(stage, run, AbortSignal.any([run.signal, late.signal]));
  clock.clearTimeout(timer);
  const { leftBehind, errors } = await aloud(stage, 'clean-up', run.onWait, () => end(stage));
  const isBad = ({ outcome }: StepResult) => outcome === 'failed' || outcome === 'not-run';
  return {
    provider: subject.name,
    driver: subject.driver,
    setId: subject.setId,
    startedAtMs,
    durationMs: clock.monotonic() - begun,
    steps: results,
    passed: !results.some(isBad),
    interrupted: run.signal.aborted,
    leftBehind: leftBehind.map(({ id, reservationId, reason }) => ({
      id: id && oneLine(id),
      reservationId: reservationId && oneLine(reservationId),
      reason: oneLine(reason),
    })),
    cleanUpErrors: errors.map(oneLine),
  };
}

async function runSteps(
  stage: Stage,
  { steps, onResult, onWait, signal: interrupt }: ConformanceRun,
  signal: AbortSignal,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  const refusals = new Map<Need, Verdict>();
  for (const step of steps) {
    const begun = stage.clock.monotonic();
    const isOver = () => (interrupt.aborted ? 'interrupted' : 'out of time');
    const verdict = signal.aborted
      ? notRun(isOver())
      : await aloud(stage, step.id, onWait, () =>
          judge(stage, step, { results, refusals, signal, isOver }),
        );
    const durationMs = stage.clock.monotonic() - begun;
    const { outcome, message } = verdict;
    const { id, title } = step;
    // What drivers and machines say ends up on terminals and in XML.
    const result = { id, title, outcome, message: oneLine(message), durationMs };
    results.push(result);
    onResult?.(result);
  }
  return results;
}

/** A step that takes longer tells what it waits for, and again after as long. */
const WAIT_TOLD_MS = 15_000;

/** Does the work, and tells now and then for how long and what for. */
async function aloud<T>(
  { clock, found }: Stage,
  name: string,
  tell: ConformanceRun['onWait'],
  work: () => Promise<T>,
): Promise<T> {
  const begun = clock.monotonic();
  let timer: unknown;
  const tellLater = () => {
    timer = clock.setTimeout(() => {
      const what = found.waitsFor ?? 'a call of the driver';
      tell?.(oneLine(`${name}, for ${shown(clock.monotonic() - begun)}: waits for ${what}`));
      tellLater();
    }, WAIT_TOLD_MS);
  };
  found.waitsFor = null;
  if (tell) tellLater();
  try {
    return await work();
  } finally {
    clock.clearTimeout(timer);
  }
}

interface Course {
  readonly results: readonly StepResult[];
  /** How each missing capability was refused; asked for once. */
  readonly refusals: Map<Need, Verdict>;
  readonly signal: AbortSignal;
  /** Why it ends, once the signal says so. */
  isOver(): string;
}

async function judge(stage: Stage, step: Step, course: Course): Promise<Verdict> {
  const { signal, refusals } = course;
  const { opened } = stage.found;
  const missing = opened === null ? undefined : lacks(opened.raw.capabilities, step);
  if (missing !== undefined) {
    const known = refusals.get(missing);
    if (known) return known.outcome === 'failed' ? notRun(`${missing} is not refused`) : known;
    const verdict = await refusalOf(stage, missing, signal);
    refusals.set(missing, verdict);
    return verdict;
  }
  const unmet = unmetBy(step, course.results);
  if (unmet !== null) return unmet;
  if (isForbidden(stage, step)) return skipped('needs --allow-destructive');
  try {
    return { outcome: 'passed', message: (await bounded(stage, step, signal)) ?? '' };
  } catch (error) {
    if (error instanceof StepSkipped) return skipped(error.message);
    return signal.aborted ? notRun(`${course.isOver()}: ${explain(error)}`) : failed(error);
  }
}

const notRun = (message: string): Verdict => ({ outcome: 'not-run', message });

async function refusalOf(stage: Stage, need: Need, signal: AbortSignal): Promise<Verdict> {
  try {
    await assertRefuses(stage, need, signal);
    return skipped(`not supported, and refuses so: ${need}`);
  } catch (error) {
    return failed(error);
  }
}

/** What the step builds on and is not there: then it is skipped or left out, like that. */
function unmetBy(step: Step, results: readonly StepResult[]): Verdict | null {
  for (const fact of step.takes) {
    const givers = giversOf(fact).map(({ id }) => id);
    const given = results.filter(({ id }) => givers.includes(id));
    if (given.some(({ outcome }) => outcome === 'passed')) continue;
    const culprit = given.find(({ outcome }) => outcome !== 'skipped') ?? given.at(-1);
    const message = `builds on "${culprit?.id ?? givers.join('" or "')}"`;
    const outcome: Outcome = culprit?.outcome === 'skipped' ? 'skipped' : 'not-run';
    return { outcome, message: `${message}, which ${SHOWN[culprit?.outcome ?? 'not-run']}` };
  }
  return null;
}
const SHOWN: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'was skipped',
  'not-run': 'was not run',
};

function isForbidden({ wishes, opened }: Stage, { destructive }: Step): boolean {
  if (wishes.allowDestructive || destructive === undefined) return false;
  return destructive === 'always' || !opened().raw.capabilities.create;
}

/** A step ends with its signal even where the driver does not. */
async function bounded(stage: Stage, step: Step, signal: AbortSignal): Promise<string | void> {
  let onAbort: (() => void) | undefined;
  let timer: unknown;
  const deserted = new Promise<never>((_, reject) => {
    onAbort = () => {
      const leave = () => reject(new Error('called off, and the driver did not end its call'));
      timer = stage.clock.setTimeout(leave, ABORT_GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([step.run(stage, signal), deserted]);
  } finally {
    signal.removeEventListener('abort', onAbort!);
    stage.clock.clearTimeout(timer);
  }
}

/** It lists, destroys, waits for what is late, destroys that, and looks around. */
const CLEAN_UP_PARTS = 5;

/** Cleans up and stops the driver, whatever became of the steps. */
async function end(stage: Stage): Promise<CleanedUp> {
  const { clock, patience, found } = stage;
  const timeoutMs = patience.stopMs + patience.cleanUpMs * CLEAN_UP_PARTS;
  const limits = { clock, timeoutMs, signal: new AbortController().signal };
  const left = await within('the clean-up', limits, (signal) => cleanUp(stage, signal)).catch(
    (error: unknown) => ({ leftBehind: unclean(stage), errors: [explain(error)] }),
  );
  if (found.opened === null) return left;
  const stopping = { ...limits, timeoutMs: patience.stopMs };
  const { fleet } = found.opened;
  return within('stop', stopping, () => fleet.stop()).then(
    () => left,
    (error: unknown) => ({ ...left, errors: [...left.errors, explain(error)] }),
  );
}
