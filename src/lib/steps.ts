/** Work that may be interrupted after each step, so that others get their turn; ends with its result. */
export type Steps<T> = Generator<void, T, void>;

/** Does all of it at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
