import { withTimeLimit } from '../../adapters/clock/port.ts';
import { explain } from '../../domain/errors.ts';
import { type CourseReport, type CourseRun, oneLine, runCourse, skipped } from '../course.ts';
import { cleanUp } from './clean-up.ts';
import { type BalancerStage, type BalancerSubject, createBalancerStage } from './stage.ts';
import type { BalancerStep } from './steps.ts';

export interface BalancerReport extends CourseReport {
  readonly balancer: string;
  readonly driver: string;
  /** Last part of the names of all test objects. */
  readonly suffix: string;
  /** Names of remaining objects. */
  readonly leftBehind: readonly string[];
}

export interface BalancerRun extends CourseRun<BalancerStep> {
  readonly name: string;
  readonly driver: string;
  /** Called with all known objects at the balancer whenever they change. */
  onLeft?(names: readonly string[]): void;
}

/**
 * Tests a driver step by step on a pool of its own, removes all test objects, and closes the
 * driver. Never rejects: the report contains failures.
 */
export async function runBalancerConformance(
  subject: BalancerSubject,
  run: BalancerRun,
): Promise<BalancerReport> {
  const { name: balancer, driver, onLeft, ...course } = run;
  const stage = createBalancerStage(subject, onLeft);
  const { capabilities } = stage.balancer;
  const report = await runCourse<BalancerStep, string>({
    ...course,
    clock: subject.clock,
    bar: ({ suits }) =>
      suits?.(capabilities) === false
        ? Promise.resolve(skipped('the driver does not list this capability'))
        : null,
    run: (step, signal) => step.run(stage, signal),
    cleanUp: (passed) => removeAll(stage, !passed, run),
  });
  const { suffix } = subject.owner;
  return { balancer, driver, suffix, ...report, leftBehind: report.leftBehind.map(oneLine) };
}

/** Removes all objects of the test's pool, whatever the steps' results. */
async function removeAll(stage: BalancerStage, isUnsure: boolean, run: BalancerRun) {
  const { clock, balancer } = stage;
  const onLeft = run.onLeft && { onLeft: run.onLeft };
  const { leftBehind, errors } = await withTimeLimit(clock, { ms: run.timeoutMs }, (signal) =>
    cleanUp(stage, { signal, isUnsure, ...onLeft }),
  );
  const closing = await balancer.close().then(
    () => [],
    (error: unknown) => [explain(error)],
  );
  return { leftBehind, errors: [...errors, ...closing] };
}
