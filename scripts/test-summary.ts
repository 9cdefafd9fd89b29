import { readFileSync } from 'node:fs';

/**
 * Prints `Tests: X passed, Y failed` from vitest's JSON report, and nothing else. Exits with 1 when
 * a test failed, a file could not be loaded, or there is no report.
 */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly unknown[];
  }[];
}

function readReport(path: string | undefined): Report | null {
  const text = path === undefined ? '' : readFileSync(path, 'utf8');
  return text === '' ? null : (JSON.parse(text) as Report);
}

/** A file that failed before its first test counts as one failed test. */
const brokenFiles = (report: Report): number =>
  report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  ).length;

const report = readReport(process.argv[2]);
const passed = report?.numPassedTests ?? 0;
const failed = report ? report.numFailedTests + brokenFiles(report) : 1;
console.log(`Tests: ${passed} passed, ${failed} failed`);
process.exitCode = report?.success && failed === 0 && passed > 0 ? 0 : 1;
