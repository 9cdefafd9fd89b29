/** Work that can be paused after each step; ends with its result. */
export type Steps<T> = Generator<void, T, void>;

/** Does all steps at once. */
export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
