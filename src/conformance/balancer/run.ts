import { explain, UsageError } from '../../domain/errors.ts';
import { plainText } from '../../domain/texts.ts';
import type { Outcome, StepResult } from '../step.ts';
import { cleanUp } from './clean-up.ts';
import { type BalancerStage, type BalancerSubject, createBalancerStage } from './stage.ts';
import { BALANCER_STEPS, type BalancerStep } from './steps.ts';

export interface BalancerReport {
  readonly balancer: string;
  readonly driver: string;
  /** Last part of the names of everything that the test made. */
  readonly suffix: string;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly steps: readonly StepResult[];
  /** No step failed, and none was kept from running by a failure or an end before time. */
  readonly passed: boolean;
  readonly interrupted: boolean;
  /** Names of what is still there. */
  readonly leftBehind: readonly string[];
  readonly cleanUpErrors: readonly string[];
}

export interface BalancerRun {
  readonly name: string;
  readonly driver: string;
  readonly steps: readonly BalancerStep[];
  /** Ends the steps before their time; what the test made is removed all the same. */
  readonly signal: AbortSignal;
  /** Of all steps together, milliseconds; and of the removal. */
  readonly timeoutMs: number;
  onResult?(result: StepResult): void;
  /** Is told all that is known to be at the balancer, whenever that changes. */
  onLeft?(names: readonly string[]): void;
}

type Verdict = readonly [outcome: Outcome, message: string];

/** Without what a terminal or a parser would take for more than text. */
const oneLine = (text: string): string => plainText(text).replaceAll(/\s+/g, ' ').trim();

/** These steps and those they come after. @throws {UsageError} there is no such step. */
export function chooseBalancerSteps(only: readonly string[]): readonly BalancerStep[] {
  const byId = new Map(BALANCER_STEPS.map((step) => [step.id, step]));
  const wanted = new Set<string>();
  for (const id of only) {
    if (!byId.has(id))
      throw new UsageError(`no step ${id}; there are ${[...byId.keys()].join(', ')}`);
    for (let at = byId.get(id); at; at = byId.get(at.after ?? '')) wanted.add(at.id);
  }
  return only.length === 0 ? BALANCER_STEPS : BALANCER_STEPS.filter(({ id }) => wanted.has(id));
}

/**
 * Puts a driver to the test, step by step, on a pool of the test's own, removes what it made, and
 * closes the driver. Never rejects: what goes wrong is in the report.
 */
export async function runBalancerConformance(
  subject: BalancerSubject,
  run: BalancerRun,
): Promise<BalancerReport> {
  const { clock, owner } = subject;
  const stage = createBalancerStage(subject, run.onLeft);
  const startedAtMs = clock.now();
  const begun = clock.monotonic();
  const late = limited(subject, run.timeoutMs);
  const results: StepResult[] = [];
  const signal = AbortSignal.any([run.signal, late.signal]);
  for (const step of run.steps) {
    const from = clock.monotonic();
    const [outcome, message] = await judge(stage, step, results, signal);
    const durationMs = clock.monotonic() - from;
    const result = {
      id: step.id,
      title: step.title,
      outcome,
      message: oneLine(message),
      durationMs,
    };
    results.push(result);
    run.onResult?.(result);
  }
  late.end();
  const passed = !results.some(({ outcome }) => outcome === 'failed' || outcome === 'not-run');
  const { leftBehind, errors } = await removeAll(stage, !passed, run);
  return {
    balancer: run.name,
    driver: run.driver,
    suffix: owner.suffix,
    startedAtMs,
    durationMs: clock.monotonic() - begun,
    steps: results,
    passed,
    interrupted: run.signal.aborted,
    leftBehind: leftBehind.map(oneLine),
    cleanUpErrors: errors.map(oneLine),
  };
}

function limited({ clock }: BalancerSubject, timeoutMs: number) {
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(), timeoutMs);
  return { signal: late.signal, end: () => clock.clearTimeout(timer) };
}

async function judge(
  stage: BalancerStage,
  step: BalancerStep,
  results: readonly StepResult[],
  signal: AbortSignal,
): Promise<Verdict> {
  if (signal.aborted) return ['not-run', 'interrupted, or out of time'];
  if (step.suits?.(stage.balancer.capabilities) === false) {
    return ['skipped', 'the driver does not say that it can'];
  }
  const before = results.find(({ id }) => id === step.after);
  if (step.after !== undefined && before?.outcome !== 'passed') {
    return ['not-run', `builds on "${step.after}"`];
  }
  try {
    return ['passed', (await step.run(stage, signal)) ?? ''];
  } catch (error) {
    return [signal.aborted ? 'not-run' : 'failed', explain(error)];
  }
}

/** Whatever became of the steps, nothing of the test's own pool stays. */
async function removeAll(stage: BalancerStage, isUnsure: boolean, run: BalancerRun) {
  const late = limited(stage, run.timeoutMs);
  const { leftBehind, errors } = await cleanUp(stage, {
    signal: late.signal,
    isUnsure,
    ...(run.onLeft && { onLeft: run.onLeft }),
  });
  const closing = await stage.balancer.close().then(
    () => [],
    (error: unknown) => [explain(error)],
  );
  late.end();
  return { leftBehind, errors: [...errors, ...closing] };
}
