/** What a run of vitest says about a mutation, read from its report. */

/** The part of vitest's JSON report that is looked at. */
export interface Report {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

/** How a run of tests ended. */
export interface RunEnd {
  /** Exit code; null: it was ended by us, since it took too long. */
  readonly code: number | null;
  /** Null: it wrote none. */
  readonly report: Report | null;
}

/**
 * - `killed`: a test failed by what it expects.
 * - `survived`: all were green.
 * - `broken`: a file of tests could not even be loaded, or the runner broke: no test has judged it.
 * - `doubtful`: red by nothing but time, hooks or a crash, which a busy machine or a broken copy can
 *   do as well; the same tests have to be green without the mutation before it means anything.
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

/** A test or hook that took too long, and a poll that gave up. */
const OUT_OF_TIME = /timed out|__VITEST_POLL_CHAIN__|ran out of patience/i;
