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
    step('reboot', 'skipped', 'not supported, and rejected with not-implemented: reboot'),
    step('destroy', 'not-run', 'needs step "create", which failed'),
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

const REASON = 'a machine may still appear: creation key w-1 on slot r-1';
const AWAITED = { id: null, reservationId: 'r-1', reason: REASON };

test.each([
  ['failed', REPORT],
  ['good', GOOD],
  ['interrupted', { ...GOOD, interrupted: true, leftBehind: [AWAITED] }],
])('writes a report: %s', async (name, report) => {
  const xml = reportText('junit', report);
  expect(XMLValidator.validate(xml)).toBe(true);
  const told = [...report.steps.map(stepLine), '\n', reportText('text', report), '\n'];
  const file = `${told.join('')}${reportText('json', report)}\n${xml}`;
  await expect(file).toMatchFileSnapshot(`golden/report-${name}.txt`);
});

test('JUnit: reads an odd message back unchanged', () => {
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '@' });
  const { testsuites } = parser.parse(reportText('junit', REPORT)) as {
    testsuites: { testsuite: { testcase: object[] } };
  };
  expect(testsuites.testsuite.testcase[2]).toMatchObject({
    failure: { '@message': ODD, '@type': 'failure', '#text': ODD },
  });
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
