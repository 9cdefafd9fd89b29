import { expect, test } from 'vitest';
import { verdictOf, type Report } from '../../scripts/verdict.ts';
import { testRows } from '../support/rows.ts';

/** What `npm run mutate` counts as noticed: a test whose expectation fails, and nothing else. */

const failed = (...messages: readonly string[]): Report['testResults'][number] => ({
  status: 'failed',
  assertionResults: messages.map((message) => ({ status: 'failed', failureMessages: [message] })),
});
const unloaded = failed();
const hookFailed = { status: 'failed', assertionResults: [{ status: 'skipped' }] };
const green = { status: 'passed', assertionResults: [{ status: 'passed', failureMessages: [] }] };

const WRONG = 'AssertionError: expected 1 to be 2';
const SLOW = 'TestTimeoutError: Test timed out in 60000ms.';
const POLL = 'Error: expected 1 to be 2\n    at Proxy.__VITEST_POLL_CHAIN__ (chunks/index.js)';

testRows([
  ['all green', 0, [green], 'survived'],
  ['an expectation that is not met', 1, [green, failed(WRONG)], 'killed'],
  ['one that is not met, beside one out of time', 1, [failed(SLOW, WRONG)], 'killed'],
  ['one that is not met, beside a file that is not loaded', 1, [unloaded, failed(WRONG)], 'killed'],
  ['a file that is not loaded', 1, [green, unloaded], 'broken'],
  ['a test out of time', 1, [failed(SLOW)], 'doubtful'],
  ['a poll that gave up', 1, [failed(POLL)], 'doubtful'],
  ['a hook that failed', 1, [hookFailed], 'doubtful'],
  ['an error outside of all tests', 1, [green], 'doubtful'],
  ['a run that did not end', null, [failed(WRONG)], 'doubtful'],
] as const)('judges %s', (_, code, testResults, verdict) => {
  expect(verdictOf({ code, report: { testResults } })).toBe(verdict);
});

test('reports a run that wrote no report', () => {
  expect(verdictOf({ code: 1, report: null })).toBe('broken');
});
