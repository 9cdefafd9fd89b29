import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Counts } from '../../domain/statistics.ts';

/** What is counted of machines: the name at `/metrics`, and what it says. */
const CONDITIONS = {
  machines: ['machines', 'Machines in the BMDB.'],
  provided: ['machines_provided', 'Machines with hardware of a provider.'],
  heartbeating: ['machines_heartbeating', 'Machines whose agent is heard.'],
  installationPending: [
    'machines_pending_installation',
    'Machines on which an operating system is asked for and not installed yet.',
  ],
  installed: ['machines_installed', 'Machines whose operating system was installed with success.'],
  installationFailed: [
    'machines_installation_failed',
    'Machines on which the installation that is asked for failed.',
  ],
  pendingAgentStart: ['machines_pending_agent_start', 'Machines whose agent may be started now.'],
  pendingRecovery: [
    'machines_pending_agent_recovery',
    'Machines that are to be recovered, those between two attempts among them.',
  ],
} as const satisfies Partial<Record<keyof Counts, readonly [string, string]>>;
export type Condition = keyof typeof CONDITIONS;

const PER_PROCESS = {
  activeWork: ['active_work', 'Work items that are held by a live session.'],
  activeBackoffs: ['active_backoffs', 'Waits after failures that have not ended.'],
} as const;

/** Registers the counts of the fleet. Names without `_by_provider` are those of the original. */
export function statisticsFamilies(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Gauge({ name: `bmdb_${name}`, help, labelNames: labels, registers: [registry] });
  const pair = <Label extends string>([name, help]: readonly [string, string], label: Label[]) => ({
    all: gauge(`stats_${name}`, help, label),
    byProvider: gauge(`stats_${name}_by_provider`, `${help.slice(0, -1)}, by provider.`, [
      'provider',
      ...label,
    ]),
  });
  const entries = Object.entries(CONDITIONS).map(([key, said]) => [key, pair(said, [])]);
  return {
    conditions: Object.fromEntries(entries) as Record<Condition, ReturnType<typeof pair<never>>>,
    activeWork: pair(PER_PROCESS.activeWork, ['process']),
    activeBackoffs: pair(PER_PROCESS.activeBackoffs, ['process']),
    lastSuccess: gauge(
      'stats_last_success_timestamp_seconds',
      'When a query of the statistics last succeeded here, in seconds since 1970.',
      ['query'],
    ),
    errors: new Counter({
      name: 'bmdb_stats_errors_total',
      help: 'Queries of the statistics that failed.',
      labelNames: ['query'],
      registers: [registry],
    }),
    installationsFailed: new Gauge({
      name: 'shepherd_installations_failed',
      help: 'Machines on which the installation that is asked for failed, as last counted.',
      registers: [registry],
    }),
  };
}

const REGION = ['provider', 'location'] as const;

/** Registers what machines are made of, as their agents told. The first three are the original's. */
export function hardwareFamilies(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new Gauge({ name: `bmdb_hwstats_${name}`, help, labelNames: labels, registers: [registry] });
  return {
    regionNodes: gauge('region_nodes', 'Machines with a hardware report, by place.', REGION),
    regionRam: gauge('region_ram_bytes', 'Installed memory of machines, by place.', REGION),
    regionThreads: gauge(
      'region_cpu_threads',
      'Hardware threads of machines by place, of all their processors.',
      REGION,
    ),
    nodes: gauge('nodes', 'Machines with a hardware report, at all places.', []),
    ram: gauge('ram_bytes', 'Installed memory of machines, at all places.', []),
    threads: gauge('cpu_threads', 'Hardware threads of machines, at all places.', []),
  };
}
