import { beforeEach, describe, expect, test } from 'vitest';
import { createLoops } from '../../src/actors/loops.ts';
import { countFleet, STATISTICS_JOB, type StatisticsDeps } from '../../src/actors/statistics.ts';
import type { HardwarePage, Lease } from '../../src/adapters/bmdb/port.ts';
import { createPromMetrics, type PromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import { byProcess, type Counts, type StatisticsPart } from '../../src/domain/statistics.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../doubles/simulated-clock.ts';

const METAL = providerName('metal');
const NONE: Counts = {
  ...{ machines: 0, provided: 0, heartbeating: 0, installationPending: 0, installed: 0 },
  ...{ installationFailed: 0, pendingAgentStart: 0, pendingRecovery: 0 },
  ...{ activeWork: byProcess(() => 0), activeBackoffs: byProcess(() => 0) },
};
const VECTOR_A: Counts = {
  ...NONE,
  ...{ machines: 9, provided: 9, heartbeating: 3, installationPending: 3 },
  ...{ installed: 1, pendingAgentStart: 1, pendingRecovery: 4 },
};

type HardwareMachine = HardwarePage['machines'][number];
let made = 0;
const machineIn = (location: string | null, report: unknown): HardwareMachine => ({
  machineId: machineId(`00000000-0000-4000-8000-${String(++made).padStart(12, '0')}`),
  ...{ provider: METAL, providerId: `d${made}`, location },
  report: {
    ...{ name: 'hardware_report_raw', type: 'bytea', value: '' },
    ...(report === null ? {} : { message: report as Record<string, unknown> }),
  },
});
const GIB = 2 ** 30;
/** 32 threads over two processors, and 256 GiB. */
const REPORT = {
  report: {
    memory_installed_bytes: String(256 * GIB),
    cpu: [{ hardware_threads: 16 }, { hardware_threads: 16 }],
  },
};

let clock: VirtualClock;
let metrics: PromMetrics;
let counts: Counts;
let pages: HardwareMachine[][];
let failing: Set<StatisticsPart | 'hardware'>;
let isHeld: boolean;
let asked: string[];
beforeEach(() => {
  clock = createSimulatedClock();
  metrics = createPromMetrics({ version: '1', schema: '1' });
  counts = NONE;
  pages = [[]];
  failing = new Set();
  isHeld = true;
  asked = [];
});

/** Runs the job until the test has read it. */
async function counting(look: () => Promise<void>): Promise<string[]> {
  const log = recordingLog();
  const refuse = (what: StatisticsPart | 'hardware') => {
    asked.push(what);
    if (failing.has(what)) throw new Unreachable(`no ${what}`);
  };
  const deps: StatisticsDeps = {
    inspection: {
      async statistics(_, part) {
        refuse(part!);
        return { fleet: counts, providers: new Map([[METAL, counts]]) };
      },
      async hardware({ after }) {
        refuse('hardware');
        const at =
          after === undefined ? 0 : pages.findIndex((page) => page.at(-1)?.machineId === after) + 1;
        const machines = pages[at] ?? [];
        const next = at + 1 < pages.length ? machines.at(-1)!.machineId : null;
        return { machines, next };
      },
    },
    leases: {
      held: () => (isHeld ? ({} as Lease) : null),
      async take(job, signal) {
        expect(job).toBe(STATISTICS_JOB);
        if (isHeld) return {} as Lease;
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        );
        throw new Error('unreached');
      },
    },
    ...{ metrics, clock, log, periodMs: 60_000, retryMs: 5_000 },
    loop: createLoops(clock, () => clock.now(), metrics).of('statistics', 60_000),
    nowMs: () => 1_700_000_000_000,
  };
  const stopping = new AbortController();
  const done = countFleet(deps, stopping.signal);
  await look();
  stopping.abort();
  await advance(clock, 1);
  await done;
  return log.lines.map(({ message }) => message);
}

const scrape = async (prefix: string): Promise<string[]> =>
  (await metrics.expose()).body.split('\n').filter((line) => line.startsWith(prefix));
/** The thirteen original series, and ours with the same names for further processes. */
const ORIGINAL =
  /^bmdb_stats_(active_(backoffs|work)\{process="Shepherd(Access|AgentStart|Recovery)"\}|machines\w*) /;
const original = async () => {
  const lines = await scrape('bmdb_stats_');
  return lines.filter(
    (line) => ORIGINAL.test(line) && !/by_provider|installation_failed/.test(line),
  );
};

describe('V52 statistics metrics', () => {
  test('exist with 0 at the start, except those about hardware', async () => {
    const lines = await original();
    expect(lines).toHaveLength(13);
    expect(lines.filter((line) => !line.endsWith(' 0'))).toEqual([]);
    expect(await scrape('bmdb_hwstats_')).toEqual([]);
  });

  test('vector A: export the counts, in all and by provider', async () => {
    counts = VECTOR_A;
    const said = await counting(() => advance(clock, 1));
    expect((await original()).toSorted()).toEqual(
      [
        ...['AgentStart', 'Recovery', 'Access'].flatMap((process) => [
          `bmdb_stats_active_backoffs{process="Shepherd${process}"} 0`,
          `bmdb_stats_active_work{process="Shepherd${process}"} 0`,
        ]),
        'bmdb_stats_machines 9',
        'bmdb_stats_machines_provided 9',
        'bmdb_stats_machines_heartbeating 3',
        'bmdb_stats_machines_pending_installation 3',
        'bmdb_stats_machines_installed 1',
        'bmdb_stats_machines_pending_agent_start 1',
        'bmdb_stats_machines_pending_agent_recovery 4',
      ].toSorted(),
    );
    expect(await scrape('bmdb_stats_machines_pending_agent_recovery_by')).toEqual([
      'bmdb_stats_machines_pending_agent_recovery_by_provider{provider="metal"} 4',
    ]);
    expect(said).toEqual([]);
  });

  test('vector B: export threads, memory and machines by location, over empty pages too', async () => {
    const unusable = [machineIn(null, REPORT), machineIn('a', null), machineIn('a', {})];
    pages = [
      [machineIn('a', REPORT), machineIn('b', REPORT), machineIn('a', REPORT)],
      unusable,
      [machineIn('c', REPORT), machineIn('a', REPORT), machineIn('c', REPORT)],
      [machineIn('', REPORT)],
    ];
    await counting(() => advance(clock, 1));
    expect(asked.filter((each) => each === 'hardware')).toHaveLength(4);
    const of = (family: string, of_: readonly number[]) =>
      ['a', 'b', 'c'].map(
        (at, index) => `${family}{provider="metal",location="${at}"} ${of_[index]}`,
      );
    expect((await scrape('bmdb_hwstats_region')).toSorted()).toEqual(
      [
        ...of('bmdb_hwstats_region_nodes', [3, 1, 2]),
        ...of('bmdb_hwstats_region_cpu_threads', [96, 32, 64]),
        ...of('bmdb_hwstats_region_ram_bytes', [768 * GIB, 256 * GIB, 512 * GIB]),
      ].toSorted(),
    );
    expect(await scrape('bmdb_hwstats_nodes')).toEqual(['bmdb_hwstats_nodes 6']);
    expect(await scrape('bmdb_hwstats_cpu_threads')).toEqual(['bmdb_hwstats_cpu_threads 192']);
  });

  test('drop a location without machines, and count again each period', async () => {
    pages = [[machineIn('a', REPORT)]];
    await counting(async () => {
      await advance(clock, 1);
      expect(await scrape('bmdb_hwstats_region_nodes')).toHaveLength(1);
      pages = [[]];
      counts = { ...NONE, machines: 2 };
      await advance(clock, 59_000);
      expect(await scrape('bmdb_stats_machines ')).toEqual(['bmdb_stats_machines 0']);
      await advance(clock, 2_000);
      expect(await scrape('bmdb_hwstats_region_nodes')).toEqual([]);
      expect(await scrape('bmdb_hwstats_nodes')).toEqual(['bmdb_hwstats_nodes 0']);
      expect(await scrape('bmdb_stats_machines ')).toEqual(['bmdb_stats_machines 2']);
    });
  });

  test('count a failed query and make all others', async () => {
    counts = { ...VECTOR_A, activeWork: byProcess(() => 3) };
    pages = [[machineIn('a', REPORT)]];
    failing = new Set(['machines', 'hardware']);
    const said = await counting(() => advance(clock, 1));
    expect(await scrape('bmdb_stats_errors_total')).toEqual([
      'bmdb_stats_errors_total{query="machines"} 1',
      'bmdb_stats_errors_total{query="work"} 0',
      'bmdb_stats_errors_total{query="backoffs"} 0',
      'bmdb_stats_errors_total{query="hardware"} 1',
    ]);
    expect(await scrape('bmdb_stats_last_success')).toEqual([
      'bmdb_stats_last_success_timestamp_seconds{query="work"} 1700000000',
      'bmdb_stats_last_success_timestamp_seconds{query="backoffs"} 1700000000',
    ]);
    expect(await scrape('bmdb_stats_machines ')).toEqual(['bmdb_stats_machines 0']);
    expect(await scrape('bmdb_stats_active_work{process="ShepherdRecovery"}')).toEqual([
      'bmdb_stats_active_work{process="ShepherdRecovery"} 3',
    ]);
    expect(await scrape('shepherd_loop_errors_total')).toEqual([
      'shepherd_loop_errors_total{loop="statistics"} 1',
    ]);
    expect(said).toEqual(['the fleet could not be counted']);
  });

  test('show 0 after the job was lost, so that old counts mislead nobody', async () => {
    counts = VECTOR_A;
    pages = [[machineIn('a', REPORT)]];
    await counting(async () => {
      await advance(clock, 1);
      expect(await scrape('bmdb_stats_machines ')).toEqual(['bmdb_stats_machines 9']);
      isHeld = false;
      await advance(clock, 60_000);
      expect(await scrape('bmdb_stats_machines ')).toEqual(['bmdb_stats_machines 0']);
      expect(await scrape('bmdb_stats_machines_by')).toEqual([]);
      expect(await scrape('bmdb_hwstats_')).toEqual([]);
    });
  });
});
