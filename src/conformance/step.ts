import type { Capabilities } from '../adapters/provider/port.ts';
import type { Stage } from './stage.ts';

/** A capability that a driver may lack; then it must refuse. */
export type Need = 'create' | 'deprovision' | 'reboot' | 'reinstall' | 'power' | 'tags';

/** Something that a step brings about and later ones build on. */
export type Fact = 'opened' | 'listed' | 'machine' | 'trusted' | 'booted' | 'gone' | 'free';

/** One thing that a driver is tested for. */
export interface Step {
  /** Names it on the command line; never changes. */
  readonly id: string;
  /** What is true when it passes. */
  readonly title: string;
  readonly needs: readonly Need[];
  /** Is tried only where the tester allows it; `existing`: on machines that were there before. */
  readonly destructive?: 'always' | 'existing';
  readonly takes: readonly Fact[];
  readonly gives?: Fact;
  /** Answers a detail worth showing. @throws {StepFailed} @throws {StepSkipped} */
  run(stage: Stage, signal: AbortSignal): Promise<string | void>;
}

export type Outcome = 'passed' | 'failed' | 'skipped' | 'not-run';

export interface StepResult {
  readonly id: string;
  readonly title: string;
  readonly outcome: Outcome;
  /** What was found, what went wrong, or why it was not tried; empty: nothing to say. */
  readonly message: string;
  readonly durationMs: number;
}

/** A machine of the test that is still there, or may yet come to be. */
export interface LeftBehind {
  /** Null: not known; the reason names the witness. */
  readonly id: string | null;
  readonly reservationId: string | null;
  readonly reason: string;
}

export interface ConformanceReport {
  readonly provider: string;
  readonly driver: string;
  readonly setId: string;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly steps: readonly StepResult[];
  /** No step failed, and none was kept from running by a failure or an end before time. */
  readonly passed: boolean;
  readonly interrupted: boolean;
  readonly leftBehind: readonly LeftBehind[];
  /** What went wrong when the test cleaned up after itself. */
  readonly cleanUpErrors: readonly string[];
}

export const lacks = (capabilities: Capabilities, step: Step): Need | undefined =>
  step.needs.find((need) => !capabilities[need]);
