import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { expect, test } from 'vitest';
import { reportText } from '../../src/commands/provider-test.ts';
import type { Outcome } from '../../src/conformance/course.ts';
import { exitCodeOf, stepLine } from '../../src/conformance/report.ts';
import type { ConformanceReport } from '../../src/conformance/step.ts';

const step = (id: string, outcome: Outcome, message = '', durationMs = 12.4) => ({
  id,
  title: `Title of ${id}`,
  outcome,
  message,
  durationMs,
});
const ODD = `<b attr="1">&amp; &#0; ]]> ü "' \ufffd`;

const REPORT: ConformanceReport = {
  provider: 'lab',
  driver: 'stub',
  setId: 'zzzzz-zzzzz-zzzzzzcloudtest',
  startedAtMs: Date.UTC(2025, 0, 2, 3, 4, 5),
  durationMs: 61_234.5,
  steps: [
    step('open', 'passed', 'can: create'),
    step('listed', 'passed'),
    step('tags', 'failed', ODD),
    step('reboot', 'skipped', 'not supported, and refuses so: reboot'),
    step('destroy', 'not-run', 'builds on "create", which failed'),
  ],
  passed: false,
  interrupted: false,
  leftBehind: [{ id: 'm-1', reservationId: 'r-1', reason: 'it is still listed' }],
  cleanUpErrors: [],
};
const GOOD: ConformanceReport = {
  ...REPORT,
  steps: REPORT.steps.slice(0, 2),
  passed: true,
  leftBehind: [],
};

test('text: one line a step, a second one for what there is to say', () => {
  expect(stepLine(REPORT.steps[0]!)).toMatch(/^✓ open +Title of open +12ms\n +can: create\n$/);
  expect(stepLine(REPORT.steps[1]!)).toMatch(/^✓ listed +Title of listed +12ms\n$/);
  expect(stepLine(step('tags', 'failed', 'lost'))).toMatch(/^✗ tags .*ms\n +failed: lost\n$/);
  expect(stepLine(REPORT.steps[3]!)).toMatch(/^– reboot +Title of reboot\n +skipped: not supp/);
  expect(stepLine(REPORT.steps[4]!)).toMatch(/^· destroy +Title of destroy\n +not run: builds on/);
  expect(reportText('text', REPORT)).toBe(
    'Failed: 2 passed, 1 failed, 1 skipped, 1 not run, in 1m1s\n' +
      'Left behind: machine m-1 on r-1: it is still listed\n',
  );
  expect(reportText('text', GOOD)).toMatch(/^Passed: 2 passed, /);
  expect(reportText('text', { ...GOOD, interrupted: true })).toMatch(/^Interrupted: /);
});

test('JSON: one line with everything', () => {
  const text = reportText('json', REPORT);
  expect(text.trimEnd()).not.toContain('\n');
  expect(JSON.parse(text)).toEqual({
    ...JSON.parse(JSON.stringify({ ...REPORT, startedAtMs: undefined })),
    startedAt: '2025-01-02T03:04:05.000Z',
    durationMs: 61_235,
    steps: REPORT.steps.map((each) => ({ ...each, durationMs: 12 })),
  });
});

interface Suite {
  testsuites: { testsuite: Record<string, unknown> & { testcase: Record<string, unknown>[] } };
}
function parsed(xml: string): Suite {
  expect(XMLValidator.validate(xml)).toBe(true);
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '@' });
  return parser.parse(xml) as Suite;
}

test('JUnit: valid XML, with a test case for each step and for the clean-up', () => {
  const xml = reportText('junit', REPORT);
  const { testsuite } = parsed(xml).testsuites;
  expect(testsuite).toMatchObject({
    '@name': 'lab',
    '@tests': '6',
    '@failures': '2',
    '@skipped': '1',
    '@errors': '1',
    '@time': '61.234',
    '@timestamp': '2025-01-02T03:04:05.000Z',
  });
  const [open, listed, tags, reboot, destroy, cleanUp] = testsuite.testcase;
  expect(open).toEqual({
    '@classname': 'provider.stub',
    '@name': 'open: Title of open',
    '@time': '0.012',
    'system-out': 'can: create',
  });
  expect(Object.keys(listed!)).toEqual(['@classname', '@name', '@time']);
  expect(tags!['failure']).toEqual({ '@message': ODD, '@type': 'failure', '#text': ODD });
  expect(reboot!['skipped']).toEqual({ '@message': 'not supported, and refuses so: reboot' });
  expect(destroy!['error']).toEqual({
    '@message': 'not run: builds on "create", which failed',
    '@type': 'not-run',
  });
  expect(cleanUp).toMatchObject({
    '@name': 'clean-up',
    failure: { '#text': 'machine m-1: it is still listed' },
  });
});

test('what may still appear is told by its witness', () => {
  const reason = 'it may still appear: witness w-1 on slot r-1';
  const report = { ...GOOD, leftBehind: [{ id: null, reservationId: 'r-1', reason }] };
  expect(reportText('text', report)).toMatch(
    /\nLeft behind: perhaps a machine: it may still appear: witness/,
  );
  expect(reportText('junit', report)).toContain(`machine unknown: ${reason}`);
  expect(exitCodeOf(report)).toBe(3);
});

test('JUnit: a clean run has no failure', () => {
  const { testsuite } = parsed(reportText('junit', GOOD)).testsuites;
  expect(testsuite).toMatchObject({ '@tests': '3', '@failures': '0', '@skipped': '0' });
  expect(JSON.stringify(testsuite)).not.toContain('"failure"');
});

test.each([
  ['passed', GOOD, 0],
  ['failed', REPORT, 1],
  ['left something behind', { ...GOOD, leftBehind: REPORT.leftBehind }, 3],
  ['could not look what it left', { ...GOOD, cleanUpErrors: ['no listing'] }, 3],
  ['interrupted', { ...REPORT, interrupted: true }, 130],
])('exit code: %s', (_, report, code) => {
  expect(exitCodeOf(report)).toBe(code);
});
