import { shown } from '../waiting.ts';
import type { ConformanceReport, LeftBehind, Outcome, StepResult } from '../step.ts';

const SIGNS: Readonly<Record<Outcome, string>> = {
  passed: '✓',
  failed: '✗',
  skipped: '–',
  'not-run': '·',
};
const ID_WIDTH = 14;
const TITLE_WIDTH = 74;

/** One step for a terminal; a second line holds what there is to say of it. */
export function stepLine({ id, title, outcome, message, durationMs }: StepResult): string {
  const took = outcome === 'passed' || outcome === 'failed' ? shown(durationMs) : '';
  const head = `${SIGNS[outcome]} ${id.padEnd(ID_WIDTH)} ${title.padEnd(TITLE_WIDTH)} ${took}`;
  const why = outcome === 'passed' || message === '' ? message : `${SHOWN[outcome]}: ${message}`;
  const detail = why === '' ? '' : `\n${' '.repeat(ID_WIDTH + 3)}${why}`;
  return `${head.trimEnd()}${detail}\n`;
}
const SHOWN: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  'not-run': 'not run',
};

/** What comes before the first step. */
export const heading = (provider: string, driver: string, setId: string): string =>
  `Testing provider ${provider} (driver ${driver}) with the instance set ${setId}\n`;

/** What comes after the last step. */
export function summary(report: ConformanceReport): string {
  const { steps, durationMs, leftBehind, cleanUpErrors, interrupted, passed } = report;
  const counted = (['passed', 'failed', 'skipped', 'not-run'] as const).map((outcome) => {
    const count = steps.filter((step) => step.outcome === outcome).length;
    return `${count} ${SHOWN[outcome]}`;
  });
  const verdict = interrupted ? 'Interrupted' : passed ? 'Passed' : 'Failed';
  return [
    `${verdict}: ${counted.join(', ')}, in ${shown(durationMs)}`,
    ...cleanUpErrors.map((error) => `Clean-up: ${error}`),
    ...leftBehind.map((left) => `Left behind: ${leftText(left)}`),
    '',
  ].join('\n');
}

function leftText({ id, reservationId, reason }: LeftBehind): string {
  if (id === null) return `perhaps a machine: ${reason}`;
  return `machine ${id}${reservationId === null ? '' : ` on ${reservationId}`}: ${reason}`;
}
