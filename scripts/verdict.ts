/** Reads the result of a vitest run with a mutation from its report. */

/** The used part of vitest's JSON report. */
export interface Report {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** The end of a test run. */
export interface RunEnd {
  /** Exit code; null: we stopped it after its time limit. */
  readonly code: number | null;
  /** Null: no report was written. */
  readonly report: Report | null;
}

/**
 * - `killed`: an expectation of a test failed.
 * - `survived`: all tests passed.
 * - `broken`: a test file could not be loaded, or the runner broke: no test has judged it.
 * - `doubtful`: failed only by time, hooks or a crash, which a busy machine or a broken copy can
 * also cause; the same tests must pass without the mutation.
 */
export type Verdict = 'killed' | 'survived' | 'broken' | 'doubtful';

export function verdictOf({ code, report }: RunEnd): Verdict {
  if (code === 0) return 'survived';
  if (code === null) return 'doubtful';
  if (report === null) return 'broken';
  const failures = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ failureMessages }) => (failureMessages ?? []).join('\n')),
  );
  if (failures.some((message) => !OUT_OF_TIME.test(message))) return 'killed';
  const isUnloaded = report.testResults.some(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  return isUnloaded && failures.length === 0 ? 'broken' : 'doubtful';
}

/** A test or hook that timed out, or a poll that gave up. */
const OUT_OF_TIME = /timed out|__VITEST_POLL_CHAIN__|ran out of patience/i;
