import XmlBuilder from 'fast-xml-builder';
import { stepLine } from '../report/text.ts';
import { shown } from '../waiting.ts';
import type { BalancerReport } from './run.ts';

/** What comes before the first step. */
export const balancerHeading = (name: string, driver: string, suffix: string): string =>
  `Testing balancer ${name} (driver ${driver}) with a pool of its own, ${suffix}\n`;

export const balancerStepLine = stepLine;

/** What comes after the last step. */
export function balancerSummary(report: BalancerReport): string {
  const { steps, durationMs, leftBehind, cleanUpErrors, interrupted, passed } = report;
  const counted = (['passed', 'failed', 'skipped', 'not-run'] as const).map(
    (outcome) => `${steps.filter((step) => step.outcome === outcome).length} ${outcome}`,
  );
  const verdict = interrupted ? 'Interrupted' : passed ? 'Passed' : 'Failed';
  return [
    `${verdict}: ${counted.join(', ')}, in ${shown(durationMs)}`,
    ...cleanUpErrors.map((error) => `Clean-up: ${error}`),
    ...leftBehind.map((name) => `Left behind: ${name}`),
    '',
  ].join('\n');
}

/** The whole report as one line of JSON. Durations are whole milliseconds. */
export function balancerJson({ startedAtMs, ...rest }: BalancerReport): string {
  const whole = (key: string, value: unknown) =>
    key === 'durationMs' && typeof value === 'number' ? Math.round(value) : value;
  return `${JSON.stringify({ startedAt: new Date(startedAtMs).toISOString(), ...rest }, whole)}\n`;
}

/** JUnit's XML. What was left behind is a failed test case of its own, as in that of providers. */
export function balancerJunit(report: BalancerReport): string {
  const { steps, driver, balancer, leftBehind, cleanUpErrors } = report;
  const left = [...leftBehind.map((name) => `left behind: ${name}`), ...cleanUpErrors];
  const testcase = [
    ...steps.map(({ id, title, outcome, message, durationMs }) => ({
      ...case_(`${id}: ${title}`, durationMs),
      ...(outcome === 'failed' && { failure: { '@message': message } }),
      ...(outcome === 'skipped' && { skipped: { '@message': message } }),
      ...(outcome === 'not-run' && { error: { '@message': message } }),
    })),
    {
      ...case_('clean-up', 0),
      ...(left.length > 0 && { failure: { '@message': left.join('; ') } }),
    },
  ];
  function case_(name: string, durationMs: number) {
    const time = (durationMs / 1_000).toFixed(3);
    return { '@classname': `balancer.${driver}`, '@name': name, '@time': time };
  }
  const count = (key: string) => testcase.filter((each) => key in each).length;
  const builder = new XmlBuilder({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    format: true,
    suppressEmptyNode: true,
  });
  return builder.build({
    '?xml': { '@version': '1.0', '@encoding': 'UTF-8' },
    testsuites: {
      testsuite: {
        '@name': balancer,
        '@tests': String(testcase.length),
        '@failures': String(count('failure')),
        '@errors': String(count('error')),
        '@skipped': String(count('skipped')),
        testcase,
      },
    },
  });
}
