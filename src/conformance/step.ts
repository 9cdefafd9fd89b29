import type { Capabilities } from '../adapters/provider/port.ts';
import type { CourseReport, CourseStep } from './course.ts';
import type { ConformanceStage } from './stage.ts';

/** A capability that a driver may lack; then it must refuse. */
export type Need = 'create' | 'deprovision' | 'reboot' | 'reinstall' | 'power' | 'tags';

/** A fact that one step establishes and later steps require. */
export type StepFact = 'opened' | 'listed' | 'machine' | 'trusted' | 'booted' | 'gone' | 'free';

/** One test of a provider's driver. */
export interface ConformanceStep extends CourseStep {
  readonly needs: readonly Need[];
  /** Needs the tester's permission; `existing`: on machines that existed before. */
  readonly destructive?: 'always' | 'existing';
  readonly takes: readonly StepFact[];
  readonly gives?: StepFact;
  /** Returns a detail to show. @throws {StepFailed} @throws {StepSkipped} */
  run(stage: ConformanceStage): Promise<string | void>;
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

export const lacks = (capabilities: Capabilities, step: ConformanceStep): Need | undefined =>
  step.needs.find((need) => !capabilities[need]);
