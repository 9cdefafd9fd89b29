import XmlBuilder from 'fast-xml-builder';
import type { ConformanceReport, StepResult } from '../step.ts';

type Element = Readonly<Record<string, unknown>>;

/**
 * JUnit's XML, as build servers read it. Steps that could not be run are errors: time was up, it was
 * interrupted, or what they build on failed. What was left behind is a failed test case of its own.
 */
export function toJunit(report: ConformanceReport): string {
  const { steps, driver, provider, startedAtMs, durationMs } = report;
  const classname = `provider.${driver}`;
  const testcase = [
    ...steps.map((step) => ({
      ...attributes({ classname, name: `${step.id}: ${step.title}`, time: seconds(step) }),
      ...verdictOf(step),
    })),
    { ...attributes({ classname, name: 'clean-up', time: '0.000' }), ...cleanUpOf(report) },
  ];
  const count = (key: string) => testcase.filter((each) => key in each).length;
  const totals = {
    tests: testcase.length,
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
    time: seconds({ durationMs }),
  };
  const timestamp = new Date(startedAtMs).toISOString();
  const builder = new XmlBuilder({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    format: true,
    suppressEmptyNode: true,
  });
  return builder.build({
    '?xml': attributes({ version: '1.0', encoding: 'UTF-8' }),
    testsuites: {
      ...attributes({ name: 'shepherd provider test', ...totals }),
      testsuite: { ...attributes({ name: provider, timestamp, ...totals }), testcase },
    },
  });
}

function verdictOf({ outcome, message }: StepResult): Element {
  switch (outcome) {
    case 'failed':
      return failure(message);
    case 'skipped':
      return { skipped: attributes({ message }) };
    case 'not-run':
      return { error: attributes({ message: `not run: ${message}`, type: 'not-run' }) };
    case 'passed':
      return message === '' ? {} : { 'system-out': message };
  }
}

function cleanUpOf({ leftBehind, cleanUpErrors }: ConformanceReport): Element {
  const left = leftBehind.map(({ id, reason }) => `machine ${id ?? 'unknown'}: ${reason}`);
  const all = [...left, ...cleanUpErrors];
  return all.length === 0 ? {} : failure(all.join('; '));
}

const failure = (message: string): Element => ({
  failure: { ...attributes({ message, type: 'failure' }), '#text': message },
});

const attributes = (named: Readonly<Record<string, string | number>>): Element =>
  Object.fromEntries(Object.entries(named).map(([name, value]) => [`@${name}`, String(value)]));

const seconds = ({ durationMs }: { readonly durationMs: number }): string =>
  (durationMs / 1_000).toFixed(3);
