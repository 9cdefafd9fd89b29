import { explain } from '../domain/errors.ts';
import { type CleanedUp, cleanUp, unclean } from './clean-up.ts';
import {
  type Course,
  type CourseRun,
  failed,
  notRun,
  oneLine,
  runCourse,
  skipped,
  type StepVerdict,
} from './course.ts';
import { createStage, stageAt, type ConformanceStage } from './stage.ts';
import {
  type ConformanceReport,
  lacks,
  type LeftBehind,
  type Need,
  type ConformanceStep,
} from './step.ts';
import { StepSkipped, shown, within } from './waiting.ts';
import type { ConformanceDeps } from './subject.ts';
import { assertRefuses } from './requests.ts';

export interface ConformanceRun extends CourseRun<ConformanceStep> {
  /** Called now and then with what a long step waits for. */
  onWait?(text: string): void;
}

/** A driver that ignores an abort is left alone after this. */
const ABORT_GRACE_MS = 10_000;

/**
 * Tests a driver step by step, and removes its machines. Never rejects: the report contains
 * failures.
 */
export async function runConformance(
  deps: ConformanceDeps,
  { onWait, ...run }: ConformanceRun,
): Promise<ConformanceReport> {
  const { clock, subject } = deps;
  const stage = createStage(deps);
  const report = await runCourse<ConformanceStep, LeftBehind>({
    ...run,
    clock,
    bar: barOf(stage),
    around: (step, work) => aloud(stage, step.id, onWait, work),
    run(step, signal) {
      if (isForbidden(stage, step)) throw new StepSkipped('needs --allow-destructive');
      return bounded(stage, step, signal);
    },
    cleanUp: () => aloud(stage, 'clean-up', onWait, () => end(stage)),
  });
  const { name: provider, driver, setId } = subject;
  const leftBehind = report.leftBehind.map(({ id, reservationId, reason }) => ({
    id: id && oneLine(id),
    reservationId: reservationId && oneLine(reservationId),
    reason: oneLine(reason),
  }));
  return { provider, driver, setId, ...report, leftBehind };
}

/** A step that takes longer reports its wait, and repeats the report at this interval. */
const WAIT_TOLD_MS = 15_000;

/** Does the work, and reports long waits. */
async function aloud<T>(
  { clock, found }: ConformanceStage,
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

/** A driver must refuse its missing capabilities; each refusal is tested once. */
function barOf(stage: ConformanceStage): Course<ConformanceStep, LeftBehind>['bar'] {
  const refusals = new Map<Need, StepVerdict>();
  return async (step, signal) => {
    const { opened } = stage.found;
    const missing = opened === null ? undefined : lacks(opened.raw.capabilities, step);
    if (missing === undefined) return null;
    const known = refusals.get(missing);
    if (known)
      return known.outcome === 'failed'
        ? notRun(`${missing} is not supported, but the driver does not reject it`)
        : known;
    const verdict = await assertRefuses(stageAt(stage, signal), missing).then(
      () => skipped(`not supported, and rejected with not-implemented: ${missing}`),
      failed,
    );
    refusals.set(missing, verdict);
    return verdict;
  };
}

function isForbidden(stage: ConformanceStage, { destructive }: ConformanceStep): boolean {
  if (stage.wishes.allowDestructive || destructive === undefined) return false;
  return destructive === 'always' || !stage.raw.capabilities.create;
}

/** A step ends with its signal even if the driver does not. */
async function bounded(
  stage: ConformanceStage,
  step: ConformanceStep,
  signal: AbortSignal,
): Promise<string | void> {
  let onAbort: (() => void) | undefined;
  let timer: unknown;
  const deserted = new Promise<never>((_, reject) => {
    onAbort = () => {
      const leave = () => reject(new Error('aborted, but the driver did not end its call'));
      timer = stage.clock.setTimeout(leave, ABORT_GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([step.run(stageAt(stage, signal)), deserted]);
  } finally {
    signal.removeEventListener('abort', onAbort!);
    stage.clock.clearTimeout(timer);
  }
}

/** It lists, destroys, waits for late machines, destroys those, and looks around. */
const CLEAN_UP_PARTS = 5;

/** Cleans up and stops the driver, whatever the steps' results. */
async function end(stage: ConformanceStage): Promise<CleanedUp> {
  const { clock, patience, found } = stage;
  const timeoutMs = patience.stopMs + patience.cleanUpMs * CLEAN_UP_PARTS;
  const limits = { clock, timeoutMs, signal: new AbortController().signal };
  const left = await within('the clean-up', limits, (signal) =>
    cleanUp(stageAt(stage, signal)),
  ).catch((error: unknown) => ({ leftBehind: unclean(stage), errors: [explain(error)] }));
  if (found.opened === null) return left;
  const stopping = { ...limits, timeoutMs: patience.stopMs };
  const { fleet } = found.opened;
  return within('stop', stopping, () => fleet.stop()).then(
    () => left,
    (error: unknown) => ({ ...left, errors: [...left.errors, explain(error)] }),
  );
}
