/** The driver does not do what it should. */
export class StepFailed extends Error {}
/** The step makes no sense here. */
export class StepSkipped extends Error {}

/** @throws {StepFailed} unless `condition`. */
export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new StepFailed(message);
}
