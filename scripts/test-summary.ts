import { existsSync, readFileSync } from 'node:fs';

/**
 * Prints `Tests: X passed, Y failed` from vitest's JSON reports, and nothing else. Exits with 1 when
 * a test failed, a file could not be loaded, or a report is missing.
 */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

function readReport(path: string): Report | null {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text === '' ? null : (JSON.parse(text) as Report);
}

/** A file that failed outside its tests, in what comes before or after them, counts as one more. */
const brokenFiles = (report: Report): number =>
  report.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  ).length;

const reports = process.argv.slice(2).map(readReport);
let passed = 0;
let failed = reports.length === 0 ? 1 : 0;
for (const report of reports) {
  passed += report?.numPassedTests ?? 0;
  failed += report ? report.numFailedTests + brokenFiles(report) : 1;
}
console.log(`Tests: ${passed} passed, ${failed} failed`);
const succeeded = reports.every((report) => report?.success === true);
process.exitCode = succeeded && failed === 0 && passed > 0 ? 0 : 1;
