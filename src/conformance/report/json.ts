import type { ConformanceReport } from '../step.ts';

/** The whole report as one line of JSON. Durations are whole milliseconds. */
export function toJson(report: ConformanceReport): string {
  const whole = (key: string, value: unknown) =>
    key === 'durationMs' && typeof value === 'number' ? Math.round(value) : value;
  const { startedAtMs, ...rest } = report;
  const startedAt = new Date(startedAtMs).toISOString();
  return `${JSON.stringify({ startedAt, ...rest }, whole)}\n`;
}
