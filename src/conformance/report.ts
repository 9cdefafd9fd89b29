import XmlBuilder from 'fast-xml-builder';
import type { CourseReport, Outcome, StepResult } from './course.ts';
import { shown } from './waiting.ts';

/** A report in its printed form, whatever was tested. */
export interface PrintedReport extends CourseReport {
  readonly driver: string;
  /** Remaining objects, in any form. */
  readonly leftBehind: readonly unknown[];
}

/** Names for the forms of a report. */
export interface ReportNames {
  readonly kind: 'provider' | 'balancer';
  /** Name of the tested provider or balancer. */
  readonly name: string;
  /** Remaining objects as texts. */
  readonly left: readonly string[];
}

const EXIT_FAILED = 1;
const EXIT_LEFT_BEHIND = 3;
/** A shell's exit status of a process that SIGINT ended. */
const EXIT_INTERRUPTED = 130;

/** 0 passed, 1 failed, 3 passed with leftovers, 130 interrupted. */
export function exitCodeOf({ interrupted, passed, ...rest }: PrintedReport): number {
  if (interrupted) return EXIT_INTERRUPTED;
  if (!passed) return EXIT_FAILED;
  return rest.leftBehind.length > 0 || rest.cleanUpErrors.length > 0 ? EXIT_LEFT_BEHIND : 0;
}

const SIGNS: Readonly<Record<Outcome, string>> = {
  passed: '✓',
  failed: '✗',
  skipped: '–',
  'not-run': '·',
};
const SHOWN: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  'not-run': 'not run',
};
const ID_WIDTH = 14;
const TITLE_WIDTH = 74;

/** One step for a terminal; a second line shows its message. */
export function stepLine({ id, title, outcome, message, durationMs }: StepResult): string {
  const took = outcome === 'passed' || outcome === 'failed' ? shown(durationMs) : '';
  const head = `${SIGNS[outcome]} ${id.padEnd(ID_WIDTH)} ${title.padEnd(TITLE_WIDTH)} ${took}`;
  const why = outcome === 'passed' || message === '' ? message : `${SHOWN[outcome]}: ${message}`;
  const detail = why === '' ? '' : `\n${' '.repeat(ID_WIDTH + 3)}${why}`;
  return `${head.trimEnd()}${detail}\n`;
}

/** The text after the last step. */
export function summary(report: PrintedReport, { left }: Pick<ReportNames, 'left'>): string {
  const { steps, durationMs, cleanUpErrors, interrupted, passed } = report;
  const counted = (['passed', 'failed', 'skipped', 'not-run'] as const).map((outcome) => {
    const count = steps.filter((step) => step.outcome === outcome).length;
    return `${count} ${SHOWN[outcome]}`;
  });
  const verdict = interrupted ? 'Interrupted' : passed ? 'Passed' : 'Failed';
  return [
    `${verdict}: ${counted.join(', ')}, in ${shown(durationMs)}`,
    ...cleanUpErrors.map((error) => `Clean-up: ${error}`),
    ...left.map((text) => `Left behind: ${text}`),
    '',
  ].join('\n');
}

/** The whole report as one line of JSON. Durations are whole milliseconds. */
export function toJson({ startedAtMs, ...rest }: PrintedReport): string {
  const whole = (key: string, value: unknown) =>
    key === 'durationMs' && typeof value === 'number' ? Math.round(value) : value;
  const startedAt = new Date(startedAtMs).toISOString();
  return `${JSON.stringify({ startedAt, ...rest }, whole)}\n`;
}

type Element = Readonly<Record<string, unknown>>;

/**
 * JUnit XML for build servers. Steps that could not run are errors: timeout, interruption, or a
 * failed requirement. Leftovers are a failed test case of their own.
 */
export function toJunit(report: PrintedReport, { kind, name, left }: ReportNames): string {
  const { steps, startedAtMs, durationMs, cleanUpErrors } = report;
  const classname = `${kind}.${report.driver}`;
  const unclean = [...left, ...cleanUpErrors];
  const testcase = [
    ...steps.map((step) => ({
      ...attributes({ classname, name: `${step.id}: ${step.title}`, time: seconds(step) }),
      ...verdictOf(step),
    })),
    {
      ...attributes({ classname, name: 'clean-up', time: '0.000' }),
      ...(unclean.length > 0 && failure(unclean.join('; '))),
    },
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
  const command = kind === 'provider' ? 'shepherd provider test' : 'shepherd lb test';
  return builder.build({
    '?xml': attributes({ version: '1.0', encoding: 'UTF-8' }),
    testsuites: {
      ...attributes({ name: command, ...totals }),
      testsuite: { ...attributes({ name, timestamp, ...totals }), testcase },
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

const failure = (message: string): Element => ({
  failure: { ...attributes({ message, type: 'failure' }), '#text': message },
});

const attributes = (named: Readonly<Record<string, string | number>>): Element =>
  Object.fromEntries(Object.entries(named).map(([name, value]) => [`@${name}`, String(value)]));

const seconds = ({ durationMs }: { readonly durationMs: number }): string =>
  (durationMs / 1_000).toFixed(3);

export type ReportFormat = 'text' | 'json' | 'junit';
/** The end of a report on a terminal, or the whole report. */
export const printed = (format: ReportFormat, report: PrintedReport, names: ReportNames): string =>
  ({ text: summary, json: toJson, junit: toJunit })[format](report, names);
