import { systemClock } from '../adapters/clock/system-clock.ts';
import type { CourseRun, CourseStep } from '../conformance/course.ts';
import {
  exitCodeOf,
  printed,
  stepLine,
  type PrintedReport,
  type ReportFormat,
  type ReportNames,
} from '../conformance/report.ts';
import { UsageError } from '../domain/errors.ts';
import { watchForEnd } from './signals.ts';

/** How the test of a driver is told and ended; on the terminal, and by Ctrl-C, where nothing else is given. */
export interface TestAround {
  /** The report. */
  readonly write?: (text: string) => void;
  /** What a person must see whatever the format is. */
  readonly warn?: (text: string) => void;
  /** Ends the test before its time, as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

/** A test of a driver. */
export interface DriverTest<Report extends PrintedReport> {
  readonly format: ReportFormat;
  /** Whose driver, and on what. */
  readonly heading: string;
  run(means: Pick<CourseRun<CourseStep>, 'signal' | 'onResult'>): Promise<Report>;
  names(format: ReportFormat, report: Report): ReportNames;
  /** What is said when it is to end. */
  readonly stopping?: string;
  /** What is said when the process ends at once. */
  abandoned(): string;
}

/** What is there still goes to a person whatever the format is. @returns the exit code. */
export async function tellTest<Report extends PrintedReport>(
  test: DriverTest<Report>,
  around: TestAround,
): Promise<number> {
  const { write = toStdout, warn = toStderr } = around;
  const { format, stopping } = test;
  const isText = format === 'text';
  if (isText) write(`${test.heading}\n`);
  const stop = new AbortController();
  const release = around.signal
    ? () => undefined
    : watchForEnd(systemClock, {
        stop() {
          stop.abort();
          if (stopping !== undefined) toStderr(`shepherd: ${stopping}\n`);
        },
        abandon: () => toStderr(`shepherd: ${test.abandoned()}\n`),
      });
  try {
    const signal = around.signal ?? stop.signal;
    const onResult: CourseRun<CourseStep>['onResult'] = (result) => write(stepLine(result));
    const report = await test.run({ signal, ...(isText && { onResult }) });
    const textIn = (form: ReportFormat) => printed(form, report, test.names(form, report));
    write(textIn(format));
    if (!isText && report.leftBehind.length > 0) warn(textIn('text'));
    return exitCodeOf(report);
  } finally {
    release();
  }
}

const toStdout = (text: string): void => void process.stdout.write(text);
export const toStderr = (text: string): void => void process.stderr.write(text);

/**
 * The one that is configured under a name; or the only one that has a driver of this name.
 * @throws {UsageError} there is none, or there are several.
 */
export function byNameOrDriver<Section extends { readonly driver?: unknown }>(
  kind: 'provider' | 'balancer',
  wanted: string,
  sections: readonly (readonly [name: string, section: Section])[],
): readonly [name: string, section: Section] {
  const named = sections.find(([name]) => name === wanted);
  if (named) return named;
  const byDriver = sections.filter(([, { driver }]) => driver === wanted);
  const [first, second] = byDriver;
  if (first && !second) return first;
  const names = (second ? byDriver : sections).map(([name]) => name).join(', ');
  throw new UsageError(
    second
      ? `several ${kind}s have the driver ${wanted}; give one of ${names}`
      : `no ${kind} is named ${wanted} or has that driver; there is ${names || 'none'}`,
  );
}
