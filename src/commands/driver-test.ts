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

/** Where a driver test writes, and what ends it. Default: the terminal, and Ctrl-C. */
export interface TestAround {
  /** The report. */
  readonly write?: (text: string) => void;
  /** Writes what a person must see in every format. */
  readonly warn?: (text: string) => void;
  /** Ends the test early, as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

/** A test of a driver. */
export interface DriverTest<Report extends PrintedReport> {
  readonly format: ReportFormat;
  /** First line of the report: the driver, and what it is tested on. */
  readonly heading: string;
  run(means: Pick<CourseRun<CourseStep>, 'signal' | 'onResult'>): Promise<Report>;
  names(format: ReportFormat, report: Report): ReportNames;
  /** Shown when the test begins to stop. */
  readonly stopping?: string;
  /** Shown when the process ends at once. */
  abandoned(): string;
}

/** Runs a driver test and prints its report. Leftovers are shown to a person in every format. @returns the exit status. */
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
 * Finds a section of the configuration by its name, or by its driver if only one section has this driver.
 * @throws {UsageError} no section matches, or several sections have the driver.
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
      ? `several ${kind}s have the driver ${wanted}; give one of these names: ${names}`
      : `no ${kind} is named ${wanted} or has that driver; there is ${names || 'none'}`,
  );
}
