import type { BmdbInspection } from '../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { StatisticsMetrics, StatisticsQuery } from '../adapters/metrics/port.ts';
import { SessionExpired } from '../domain/errors.ts';
import { createHardwareSums, type HardwareSums } from '../domain/hardware-sums.ts';
import type { MachineId } from '../domain/ids.ts';
import { STATISTICS_PARTS } from '../domain/statistics.ts';
import type { Leases } from './leases.ts';
import { runOf, type Loop } from './loops.ts';

/** The job of counting the fleet. */
export const STATISTICS_JOB = 'statistics';

export interface StatisticsDeps {
  readonly inspection: Pick<BmdbInspection, 'statistics' | 'hardware'>;
  readonly leases: Pick<Leases, 'take' | 'held'>;
  readonly metrics: StatisticsMetrics;
  readonly loop: Loop;
  readonly clock: Clock;
  readonly log: Log;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly periodMs: number;
  /** Before the job is asked for again when there is no session. */
  readonly retryMs: number;
}

/**
 * Counts the fleet again and again, as long as this daemon has the job: what it counted is exported
 * by it alone. A query that fails leaves its figures as they were, and keeps none of the others from
 * being made. Ends with the signal.
 */
export async function countFleet(deps: StatisticsDeps, signal: AbortSignal): Promise<void> {
  const { leases, metrics, clock, periodMs, retryMs } = deps;
  let isOurs = false;
  while (!signal.aborted) {
    try {
      if (isOurs && !leases.held(STATISTICS_JOB)) metrics.statisticsLeft();
      isOurs = false;
      await leases.take(STATISTICS_JOB, signal);
      isOurs = true;
      await runOf(deps.loop, () => countOnce(deps, signal));
    } catch (err) {
      const isPassing = signal.aborted || err instanceof SessionExpired;
      if (!isPassing) deps.log.warn({ err }, 'the fleet could not be counted');
    }
    const pauseMs = isOurs ? periodMs : retryMs;
    await sleep(clock, pauseMs, signal).catch(() => undefined);
  }
}

/** @throws the error of the first query that failed, once all were made. */
async function countOnce(deps: StatisticsDeps, signal: AbortSignal): Promise<void> {
  const { inspection, metrics } = deps;
  const failures: unknown[] = [];
  const read = async (query: StatisticsQuery, task: () => Promise<void>) => {
    try {
      await task();
      metrics.statisticsRead(query, deps.nowMs());
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.statisticsRead(query, null);
      failures.push(error);
    }
  };
  for (const part of STATISTICS_PARTS) {
    await read(part, async () => {
      metrics.statistics(part, await inspection.statistics(signal, part));
    });
  }
  await read('hardware', async () => metrics.hardware(await sumHardware(deps, signal)));
  if (failures.length > 0) throw failures[0];
}

/** Page by page; the next one begins behind the last machine read, whether it counted or not. */
async function sumHardware(
  { inspection, log }: StatisticsDeps,
  signal: AbortSignal,
): Promise<HardwareSums> {
  const { add, sums } = createHardwareSums();
  let after: MachineId | null = null;
  do {
    const page: Awaited<ReturnType<typeof inspection.hardware>> = await inspection.hardware(
      after === null ? {} : { after },
      signal,
    );
    for (const { provider, location, report } of page.machines) {
      add({ provider, location, report: report.message ?? null });
    }
    after = page.next;
  } while (after !== null);
  const { skipped } = sums();
  if (skipped > 0) log.debug({ skipped }, 'machines that tell no hardware or no place');
  return sums();
}
