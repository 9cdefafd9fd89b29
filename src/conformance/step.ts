import type { Capabilities } from '../adapters/provider/port.ts';
import type { CourseReport, CourseStep } from './course.ts';
import type { Stage } from './stage.ts';

/** A capability that a driver may lack; then it must refuse. */
export type Need = 'create' | 'deprovision' | 'reboot' | 'reinstall' | 'power' | 'tags';

/** Something that a step brings about and later ones build on. */
export type Fact = 'opened' | 'listed' | 'machine' | 'trusted' | 'booted' | 'gone' | 'free';

/** One thing that a driver of providers is tested for. */
export interface Step extends CourseStep {
  readonly needs: readonly Need[];
  /** Is tried only where the tester allows it; `existing`: on machines that were there before. */
  readonly destructive?: 'always' | 'existing';
  readonly takes: readonly Fact[];
  readonly gives?: Fact;
  /** Answers a detail worth showing. @throws {StepFailed} @throws {StepSkipped} */
  run(stage: Stage): Promise<string | void>;
}

/** A machine of the test that is still there, or may yet come to be. */
export interface LeftBehind {
  /** Null: not known; the reason names the witness. */
  readonly id: string | null;
  readonly reservationId: string | null;
  readonly reason: string;
}

export interface ConformanceReport extends CourseReport {
  readonly provider: string;
  readonly driver: string;
  readonly setId: string;
  readonly leftBehind: readonly LeftBehind[];
}

export const lacks = (capabilities: Capabilities, step: Step): Need | undefined =>
  step.needs.find((need) => !capabilities[need]);
