import type { PlaceCount } from '../../actors/fleet-state.ts';
import { provisionerJob } from '../../actors/leases.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { GaugeName, Metrics } from '../../adapters/metrics/port.ts';
import type { HealthReport } from '../../console/port.ts';
import { conditionCounts } from '../../domain/conditions.ts';
import {
  DAEMON_ROLES,
  needsMirror,
  type DaemonRoles,
  type LoopSummary,
} from '../../domain/daemons.ts';
import type { ProviderName } from '../../domain/ids.ts';
import type { DaemonParts } from '../parts.ts';
import { overdueCounts } from './overdue.ts';

export interface StateGaugesDeps {
  readonly health: () => Promise<HealthReport>;
  /** End of the console's certificate, epoch ms; null: none. */
  readonly consoleNotAfterMs: () => number | null;
}

/** Replaces the gauges of the daemon and of its view of the fleet. Call it before each scrape. */
export function createStateGauges(
  parts: DaemonParts,
  { health, consoleNotAfterMs }: StateGaugesDeps,
): () => Promise<void> {
  const { clock, metrics, keeper, loops, mirror, taskPool } = parts;
  const has = (job: string) =>
    parts.leases.held(job) !== null ||
    parts.statisticsLeases.held(job) !== null ||
    parts.rollLeases.held(job) !== null;
  const loopTime = createLoopTimes({ roles: parts.roles, has, clock, nowMs: mirror.nowMs });
  const tellProviders = providersTeller(parts);
  return async () => {
    const { checks } = await health();
    for (const gauge of REPLACED) metrics.clear(gauge);
    for (const [check, { ok }] of Object.entries(checks)) {
      metrics.set('shepherd_ready', { check }, ok ? 1 : 0);
    }
    for (const role of DAEMON_ROLES) {
      metrics.set('shepherd_role', { role }, parts.roles.has(role) ? 1 : 0);
    }
    const remainingMs = Math.max(0, keeper.current()?.remainingMs() ?? 0);
    metrics.set(
      'shepherd_session_deadline_remaining_seconds',
      { processor: 'shepherd' },
      remainingMs / 1_000,
    );
    metrics.set('shepherd_events_waiting_seconds', {}, parts.bmdb.events.waitingMs() / 1_000);
    for (const loop of ['agentStart', 'recovery', 'deprovision'] as const) {
      metrics.set('shepherd_loop_workers', { loop }, taskPool.busyOf(loop));
    }
    for (const each of loops.all()) {
      const { name: loop } = each;
      const lastMs = loopTime(each);
      metrics.count('shepherd_loop_errors_total', { loop }, 0);
      if (lastMs === null) continue;
      metrics.set('shepherd_loop_last_success_timestamp_seconds', { loop }, lastMs / 1_000);
    }
    const certificates = {
      console: consoleNotAfterMs(),
      'agent-server': parts.certificateNotAfterMs(),
    };
    for (const [name, atMs] of Object.entries(certificates)) {
      if (atMs !== null) metrics.set('tls_certificate_not_after_seconds', { name }, atMs / 1_000);
    }
    tellMachines(parts);
    tellProviders();
  };
}

const REPLACED: readonly GaugeName[] = [
  'shepherd_ready',
  'shepherd_loop_workers',
  'shepherd_loop_last_success_timestamp_seconds',
  'shepherd_machines',
  'shepherd_machines_need_human',
  'shepherd_machines_chronic',
  'shepherd_machines_overdue',
  'shepherd_machines_retired',
  'shepherd_machine_conditions',
  'shepherd_guard_permits',
  'shepherd_guard_budget',
  'shepherd_provision_intent_oldest_seconds',
  'shepherd_listing_age_seconds',
];

export function tellCensus(metrics: Metrics, places: readonly PlaceCount[]): void {
  for (const { count, needHuman, ...labels } of places) {
    metrics.set('shepherd_machines', labels, count);
    metrics.count('shepherd_machines_need_human', { provider: labels.provider }, needHuman);
  }
}

function tellMachines({
  metrics,
  board,
  isOverdue,
  mirror,
  permits,
  providers,
}: DaemonParts): void {
  tellCensus(metrics, board.census());
  for (const { view } of board.entries.values()) {
    const { provider, cause } = view;
    if (cause === 'chronic') metrics.count('shepherd_machines_chronic', { provider }, 1);
  }
  for (const { count, ...labels } of overdueCounts(
    board.entries.values(),
    isOverdue,
    mirror.nowMs(),
  )) {
    metrics.set('shepherd_machines_overdue', labels, count);
  }
  const retired = (mirror.known()?.holds ?? []).filter(({ kind }) => kind === 'retired');
  for (const provider of providers.keys())
    metrics.set('shepherd_machines_retired', { provider }, 0);
  for (const { provider } of retired) metrics.count('shepherd_machines_retired', { provider });
  const conditions = [...mirror.facts().values()].flatMap((facts) => facts.conditions);
  for (const { machines, ...labels } of conditionCounts(conditions, mirror.nowMs())) {
    metrics.set('shepherd_machine_conditions', labels, machines);
  }
  for (const use of permits.use()) {
    metrics.set('shepherd_guard_permits', { scope: use.scope }, use.permits);
    metrics.set('shepherd_guard_budget', { scope: use.scope }, use.budget);
  }
}

function providersTeller(parts: DaemonParts): () => void {
  const { clock, metrics } = parts;
  const startedAtMs = clock.monotonic();
  const lists = needsMirror(parts.roles);
  return () => {
    for (const provider of parts.providers.keys()) {
      // Starts each counter at 0, so that its first event is visible.
      metrics.count('shepherd_ssh_insecure_connections_total', { provider }, 0);
      metrics.count('shepherd_ssh_hostkey_changes_total', { provider }, 0);
      metrics.count('shepherd_deprovisions_stuck_total', { provider }, 0);
      metrics.count('shepherd_reinstalls_total', { provider, outcome: 'asked' }, 0);
      const { beganAtMs = startedAtMs } = parts.listings.last(provider) ?? {};
      const seconds = (clock.monotonic() - beganAtMs) / 1_000;
      if (lists) metrics.set('shepherd_listing_age_seconds', { provider }, seconds);
      const oldest = oldestIntentSeconds(parts, provider);
      metrics.set('shepherd_provision_intent_oldest_seconds', { provider }, oldest);
      // Another daemon provisions it now: figures from here no longer count.
      if (parts.leases.held(provisionerJob(provider)) !== null) continue;
      for (const gauge of OF_PROVISIONER) metrics.clear(gauge, { provider });
    }
  };
}

const OF_PROVISIONER = [
  'shepherd_provider_capacity',
  'shepherd_provider_discrepancies',
  'shepherd_provider_circuit_open',
  'shepherd_provision_intents_open',
  'shepherd_provision_over_limit',
  'shepherd_provision_below_target',
  'shepherd_provision_replacements_today',
] as const;

function oldestIntentSeconds({ mirror }: DaemonParts, provider: ProviderName): number {
  const ages = (mirror.intents() ?? [])
    .filter((intent) => intent.provider === provider)
    .map(({ createdAtMs }) => (mirror.nowMs() - createdAtMs) / 1_000);
  return Math.max(0, ...ages);
}

export interface LoopTimesDeps {
  readonly roles: DaemonRoles;
  /** Whether this daemon holds a job now. */
  readonly has: (job: string) => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
}

/**
 * Last success of each loop, for monitoring. A loop without success counts from when this daemon
 * had to run it, so that its absence is noticed; null: it does not run here.
 */
export function createLoopTimes({ roles, has, clock, nowMs }: LoopTimesDeps) {
  const startedAt = clock.monotonic();
  /** Since when this daemon was seen to hold a loop's job. */
  const hadSince = new Map<string, number>();
  const since = ({ name, job }: Pick<LoopSummary, 'name' | 'job'>): number | null => {
    if (job === null) return runsWith(roles, name) ? startedAt : null;
    if (!has(job)) {
      hadSince.delete(name);
      return null;
    }
    const at = hadSince.get(name) ?? clock.monotonic();
    hadSince.set(name, at);
    return at;
  };
  return (loop: LoopSummary): number | null => {
    const at = since(loop);
    if (loop.lastSuccessAtMs !== null || at === null) return loop.lastSuccessAtMs;
    return nowMs() - (clock.monotonic() - at);
  };
}

/** All daemons know some loops that only daemons with the role run. */
function runsWith(roles: DaemonRoles, loop: string): boolean {
  if (loop === 'sweep') return roles.has('janitor');
  return loop === 'rows' || loop.startsWith('listing ') ? needsMirror(roles) : true;
}
