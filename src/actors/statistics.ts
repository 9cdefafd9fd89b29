import type { BmdbInspection } from '../adapters/bmdb/port.ts';
import { sleep, type Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { COUNTED_PROCESSES, type GaugeName, type Metrics } from '../adapters/metrics/port.ts';
import { SessionExpired } from '../domain/errors.ts';
import { createHardwareSums, type HardwareSums } from '../domain/hardware-sums.ts';
import type { MachineId } from '../domain/ids.ts';
import {
  byProcess,
  STATISTICS_PARTS,
  type Counts,
  type Statistics,
  type StatisticsPart,
} from '../domain/statistics.ts';
import type { Leases } from './leases.ts';
import { runOf, type Loop } from './loops.ts';

/** The lease for counting the fleet. */
export const STATISTICS_JOB = 'statistics';

export interface StatisticsDeps {
  readonly inspection: Pick<BmdbInspection, 'statistics' | 'hardware'>;
  readonly leases: Pick<Leases, 'take' | 'held'>;
  readonly metrics: Metrics;
  readonly loop: Loop;
  readonly clock: Clock;
  readonly log: Log;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly periodMs: number;
  /** Pause before the next request for the job without a session. */
  readonly retryMs: number;
}

/**
 * Counts the fleet repeatedly while this daemon has the job; only this daemon exports the counts. A
 * failed query leaves its figures unchanged and does not stop the others. Ends with the signal.
 */
export async function countFleet(deps: StatisticsDeps, signal: AbortSignal): Promise<void> {
  const { leases, metrics, clock, periodMs, retryMs } = deps;
  let isOurs = false;
  while (!signal.aborted) {
    try {
      if (isOurs && !leases.held(STATISTICS_JOB)) forget(metrics);
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

/** @throws the error of the first failed query, after all queries. */
async function countOnce(deps: StatisticsDeps, signal: AbortSignal): Promise<void> {
  const { inspection, metrics } = deps;
  const failures: unknown[] = [];
  const read = async (query: StatisticsPart | 'hardware', task: () => Promise<void>) => {
    try {
      await task();
      const seconds = deps.nowMs() / 1_000;
      metrics.set('bmdb_stats_last_success_timestamp_seconds', { query }, seconds);
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.count('bmdb_stats_errors_total', { query });
      failures.push(error);
    }
  };
  for (const part of STATISTICS_PARTS) {
    await read(part, async () => {
      tellCounts(metrics, part, await inspection.statistics(signal, part));
    });
  }
  await read('hardware', async () => tellHardware(metrics, await sumHardware(deps, signal)));
  if (failures.length > 0) throw failures[0];
}

/** Reads page by page; the next page begins after the last machine read. */
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
  if (skipped > 0)
    log.debug({ skipped }, 'machines without a hardware report or location are left out');
  return sums();
}

const MACHINES = {
  machines: 'bmdb_stats_machines',
  provided: 'bmdb_stats_machines_provided',
  heartbeating: 'bmdb_stats_machines_heartbeating',
  installationPending: 'bmdb_stats_machines_pending_installation',
  installed: 'bmdb_stats_machines_installed',
  installationFailed: 'bmdb_stats_machines_installation_failed',
  pendingAgentStart: 'bmdb_stats_machines_pending_agent_start',
  pendingRecovery: 'bmdb_stats_machines_pending_agent_recovery',
} as const satisfies Partial<Record<keyof Counts, GaugeName>>;
type Condition = keyof typeof MACHINES;
const CONDITIONS = Object.keys(MACHINES) as Condition[];
const PER_PROCESS = {
  work: ['activeWork', 'bmdb_stats_active_work'],
  backoffs: ['activeBackoffs', 'bmdb_stats_active_backoffs'],
} as const;

function tellCounts(
  metrics: Metrics,
  part: StatisticsPart,
  { fleet, providers }: Statistics,
): void {
  if (part === 'machines') {
    for (const condition of CONDITIONS) {
      const name = MACHINES[condition];
      metrics.set(name, {}, fleet[condition]);
      metrics.clear(`${name}_by_provider`);
      for (const [provider, counts] of providers) {
        metrics.set(`${name}_by_provider`, { provider }, counts[condition]);
      }
    }
    metrics.set('shepherd_installations_failed', {}, fleet.installationFailed);
    return;
  }
  const [key, name] = PER_PROCESS[part];
  metrics.clear(`${name}_by_provider`);
  for (const process of COUNTED_PROCESSES) {
    metrics.set(name, { process }, fleet[key][process]);
    for (const [provider, counts] of providers) {
      metrics.set(`${name}_by_provider`, { provider, process }, counts[key][process]);
    }
  }
}

/** Resets the counts to 0, because another daemon counts from now on. */
function forget(metrics: Metrics): void {
  const none = Object.fromEntries(CONDITIONS.map((condition) => [condition, 0]));
  const zeros = byProcess(() => 0);
  const fleet = { ...none, activeWork: zeros, activeBackoffs: zeros } as unknown as Counts;
  for (const part of STATISTICS_PARTS) tellCounts(metrics, part, { fleet, providers: new Map() });
  for (const gauge of HARDWARE) metrics.clear(gauge);
  metrics.clear('bmdb_stats_last_success_timestamp_seconds');
}

const QUANTITIES = ['nodes', 'ram_bytes', 'cpu_threads'] as const;
const HARDWARE = QUANTITIES.flatMap(
  (what) => [`bmdb_hwstats_${what}`, `bmdb_hwstats_region_${what}`] as const,
);

export function tellHardware(metrics: Metrics, { regions }: HardwareSums): void {
  for (const gauge of HARDWARE) metrics.clear(gauge);
  for (const what of QUANTITIES) {
    metrics.set(`bmdb_hwstats_${what}`, {}, 0);
    for (const { provider, location, nodes, ramBytes, threads } of regions) {
      const value = { nodes, ram_bytes: ramBytes, cpu_threads: threads }[what];
      metrics.set(`bmdb_hwstats_region_${what}`, { provider, location }, value);
      metrics.count(`bmdb_hwstats_${what}`, {}, value);
    }
  }
}
