import { existsSync, readFileSync } from 'node:fs';

/**
 * Prints `Tests: X passed, Y failed` from vitest's JSON reports, after the names of tests that did
 * not run; each of those counts as failed. Exits 1 if a test failed, a file could not be loaded, or
 * a report is missing.
 */
interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function readReport(path: string): Report | null {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text === '' ? null : (JSON.parse(text) as Report);
}

/** A file that failed outside its tests counts as one more failure. */
const brokenFiles = (report: Report): number =>
  report.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  ).length;

/** Skipped tests: a required program is missing, or they are switched off. */
const leftOut = ({ testResults }: Report): string[] =>
  testResults.flatMap(({ name, status, assertionResults }) =>
    status === 'failed'
      ? []
      : assertionResults
          .filter((each) => each.status !== 'passed' && each.status !== 'failed')
          .map(({ fullName }) => `Not run: ${name}: ${fullName}`),
  );

const reports = process.argv.slice(2).map(readReport);
let passed = 0;
let failed = reports.length === 0 ? 1 : 0;
for (const report of reports) {
  passed += report?.numPassedTests ?? 0;
  failed += report ? report.numFailedTests + brokenFiles(report) : 1;
  const missing = report ? leftOut(report) : [];
  failed += missing.length;
  for (const line of missing) console.log(line);
}
console.log(`Tests: ${passed} passed, ${failed} failed`);
const succeeded = reports.every((report) => report?.success === true);
process.exitCode = succeeded && failed === 0 && passed > 0 ? 0 : 1;
