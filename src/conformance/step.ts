import type { Capabilities } from '../adapters/provider/port.ts';
import type { CourseReport, CourseStep } from './course.ts';
import type { Stage } from './stage.ts';

/** A capability that a driver may lack; then it must refuse. */
export type Need = 'create' | 'deprovision' | 'reboot' | 'reinstall' | 'power' | 'tags';

/** A fact that one step establishes and later steps require. */
export type Fact = 'opened' | 'listed' | 'machine' | 'trusted' | 'booted' | 'gone' | 'free';

/** One test of a provider's driver. */
export interface Step extends CourseStep {
  readonly needs: readonly Need[];
  /** Needs the tester's permission; `existing`: on machines that existed before. */
  readonly destructive?: 'always' | 'existing';
  readonly takes: readonly Fact[];
  readonly gives?: Fact;
  /** Returns a detail to show. @throws {StepFailed} @throws {StepSkipped} */
  run(stage: Stage): Promise<string | void>;
}

/** A machine of the test that remains, or may still appear. */
export interface LeftBehind {
  /** Null: unknown; the reason names the creation key. */
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
