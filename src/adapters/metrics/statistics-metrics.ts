import type { Registry } from 'prom-client';
import { STATISTICS_PARTS, type Counts } from '../../domain/statistics.ts';
import type { StatisticsMetrics } from './daemon-port.ts';
import { hardwareFamilies, statisticsFamilies, type Condition } from './statistics-families.ts';

/** Kinds of work that daemons do. The first is the original's alone, for its dashboards. */
const PROCESSES = [
  'ShepherdAccess',
  'ShepherdAgentStart',
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
] as const;

/** Counts of the fleet. They are there from the start, at 0; sums of hardware are only once counted. */
export function statisticsMetrics(registry: Registry): StatisticsMetrics {
  const families = statisticsFamilies(registry);
  const setHardware = hardwareSetter(registry);
  const { activeWork, activeBackoffs, conditions, lastSuccess, errors } = families;
  const names = Object.keys(conditions) as Condition[];

  const perProcess = (
    { all, byProvider }: typeof activeWork,
    of: (counts: Counts) => Counts['activeWork'],
  ) => ({
    set(fleet: Counts, providers: ReadonlyMap<string, Counts>) {
      byProvider.reset();
      for (const process of PROCESSES) {
        all.set({ process }, of(fleet)[process]);
        for (const [provider, counts] of providers) {
          byProvider.set({ provider, process }, of(counts)[process]);
        }
      }
    },
    zero() {
      byProvider.reset();
      for (const process of PROCESSES) all.set({ process }, 0);
    },
  });
  const work = perProcess(activeWork, (counts) => counts.activeWork);
  const backoffs = perProcess(activeBackoffs, (counts) => counts.activeBackoffs);

  const setMachines = (fleet: Counts, providers: ReadonlyMap<string, Counts>) => {
    for (const name of names) {
      const { all, byProvider } = conditions[name];
      all.set(fleet[name]);
      byProvider.reset();
      for (const [provider, counts] of providers) byProvider.set({ provider }, counts[name]);
    }
    families.installationsFailed.set(fleet.installationFailed);
  };
  const zero = () => {
    for (const name of names) {
      conditions[name].all.set(0);
      conditions[name].byProvider.reset();
    }
    families.installationsFailed.set(0);
    work.zero();
    backoffs.zero();
    setHardware(null);
  };
  zero();
  for (const query of [...STATISTICS_PARTS, 'hardware']) errors.inc({ query }, 0);
  return {
    statistics(part, { fleet, providers }) {
      if (part === 'machines') setMachines(fleet, providers);
      else (part === 'work' ? work : backoffs).set(fleet, providers);
    },
    hardware: setHardware,
    statisticsRead(query, atMs) {
      if (atMs === null) errors.inc({ query });
      else lastSuccess.set({ query }, atMs / 1_000);
    },
    statisticsLeft() {
      zero();
      lastSuccess.reset();
    },
  };
}

/** Null: nothing is known of the hardware, and nothing is exported. */
function hardwareSetter(registry: Registry): (sums: Hardware | null) => void {
  const { regionNodes, regionRam, regionThreads, ...totals } = hardwareFamilies(registry);
  return (sums) => {
    for (const gauge of [regionNodes, regionRam, regionThreads]) gauge.reset();
    for (const gauge of Object.values(totals)) gauge.remove();
    if (sums === null) return;
    for (const { provider, location, nodes, ramBytes, threads } of sums.regions) {
      regionNodes.set({ provider, location }, nodes);
      regionRam.set({ provider, location }, ramBytes);
      regionThreads.set({ provider, location }, threads);
    }
    const sum = (of: 'nodes' | 'ramBytes' | 'threads') =>
      sums.regions.reduce((total, region) => total + region[of], 0);
    totals.nodes.set(sum('nodes'));
    totals.ram.set(sum('ramBytes'));
    totals.threads.set(sum('threads'));
  };
}
type Hardware = Parameters<StatisticsMetrics['hardware']>[0];
