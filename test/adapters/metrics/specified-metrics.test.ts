import { describe, expect } from 'vitest';
import { createPromMetrics } from '../../../src/adapters/metrics/prom-metrics.ts';
import { touchAll } from './every-metric.ts';
import { testRows } from '../../support/rows.ts';

/**
 * The scrape beside what was agreed: names, types and labels as dashboards and alerts have them. The
 * recorded scrape can be recorded anew by mistake; this table is changed by hand only.
 */
const SPECIFIED: Readonly<Record<string, readonly [type: string, ...labels: string[]]>> = {
  bmdb_session_started: ['counter', 'processor'],
  bmdb_transaction_executed: ['counter', 'processor'],
  bmdb_transaction_retried: ['counter', 'processor'],
  bmdb_transaction_failed: ['counter', 'processor'],
  bmdb_work_started: ['counter', 'processor', 'process'],
  bmdb_work_finished: ['counter', 'processor', 'process', 'result'],
  redfish_bmc_unresponsive: ['gauge', 'provider'],
  equinix_api_latency: ['histogram', 'endpoint', 'status_code'],
  equinix_api_waiting: ['gauge'],
  equinix_api_in_flight: ['gauge'],
  shepherd_machines: ['gauge', 'provider', 'state', 'substate'],
  shepherd_machine_transitions_total: ['counter', 'provider', 'from', 'to'],
  shepherd_work_duration_seconds: ['histogram', 'process', 'result'],
  shepherd_work_queue_wait_seconds: ['histogram', 'process', 'result'],
  shepherd_claim_conflicts_total: ['counter', 'process'],
  shepherd_work_lost_total: ['counter', 'process'],
  shepherd_session_expired_total: ['counter', 'processor'],
  shepherd_provider_discrepancies: ['gauge', 'provider', 'kind'],
  shepherd_provider_circuit_open: ['gauge', 'provider'],
  shepherd_provision_intents_open: ['gauge', 'provider'],
  shepherd_provision_over_limit: ['gauge', 'provider'],
  shepherd_reboots_total: ['counter', 'provider', 'outcome'],
  shepherd_reinstalls_total: ['counter', 'provider', 'outcome'],
  shepherd_escalations_total: ['counter', 'provider', 'rung'],
  shepherd_guard_frozen: ['gauge', 'scope'],
  shepherd_guard_budget: ['gauge', 'scope'],
  shepherd_guard_permits: ['gauge', 'scope'],
  shepherd_adapter_calls_total: ['counter', 'adapter', 'op', 'code'],
  shepherd_agent_start_failures_total: ['counter', 'class'],
  shepherd_ssh_insecure_connections_total: ['counter', 'provider'],
  shepherd_heartbeats_total: ['counter', 'outcome'],
  shepherd_heartbeat_seconds: ['histogram', 'outcome'],
  shepherd_lb_reconcile_total_duration_seconds: ['histogram', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_create_resources_duration_seconds: ['histogram', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_create_errors_total: ['counter', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_delete_errors_total: ['counter', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_delete_retries_total: ['counter', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_created_total: ['counter', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_deleted_total: ['counter', 'driver', 'lb', 'pool'],
  shepherd_lb_reconcile_resources_pending: ['gauge', 'driver', 'lb', 'pool', 'operation'],
  shepherd_lb_reconcile_retrieved_resources_total: ['counter', 'driver', 'lb', 'pool', 'type'],
  shepherd_lb_http_client_requests_total: [
    'counter',
    'driver',
    'lb',
    'resource',
    'method',
    'status',
  ],
  shepherd_lb_http_client_requests_in_flight: ['gauge', 'driver', 'lb', 'resource', 'method'],
  shepherd_lb_members: ['gauge', 'driver', 'lb', 'pool', 'state'],
  shepherd_lb_drain_duration_seconds: ['histogram', 'driver', 'lb', 'pool'],
  shepherd_lb_last_settled_timestamp_seconds: ['gauge', 'driver', 'lb', 'pool'],
  shepherd_lb_state: ['gauge', 'driver', 'lb', 'pool', 'state'],
  shepherd_lb_frozen: ['gauge', 'driver', 'lb', 'pool'],
  shepherd_build_info: ['gauge', 'version', 'commit', 'schema'],
  shepherd_session_poke_seconds: ['histogram', 'processor'],
  shepherd_session_deadline_remaining_seconds: ['gauge', 'processor'],
  shepherd_transaction_attempts: ['histogram', 'processor'],
  shepherd_transaction_ambiguous_total: ['counter', 'processor'],
  shepherd_janitor_removed_total: ['counter', 'kind'],
  shepherd_janitor_last_success_timestamp_seconds: ['gauge', 'kind'],
  shepherd_loop_last_success_timestamp_seconds: ['gauge', 'loop'],
  shepherd_loop_errors_total: ['counter', 'loop'],
  shepherd_loop_workers: ['gauge', 'loop'],
  shepherd_ssh_hostkey_changes_total: ['counter', 'provider'],
  shepherd_installations_total: ['counter', 'result'],
  shepherd_installations_failed: ['gauge'],
  shepherd_ready: ['gauge', 'check'],
  shepherd_role: ['gauge', 'role'],
  shepherd_machines_overdue: ['gauge', 'provider', 'state'],
  shepherd_guard_started_machines: ['gauge', 'scope'],
  shepherd_provision_intent_oldest_seconds: ['gauge', 'provider'],
  shepherd_listing_age_seconds: ['gauge', 'provider'],
  shepherd_events_waiting_seconds: ['gauge'],
  tls_certificate_not_after_seconds: ['gauge', 'name'],
  shepherd_requests_total: ['counter', 'verb', 'via', 'outcome'],
  shepherd_http_request_seconds: ['histogram', 'route', 'method', 'status'],
  shepherd_webhook_deliveries_total: ['counter', 'webhook', 'outcome'],
  shepherd_webhook_oldest_seconds: ['gauge', 'webhook'],
  shepherd_streams: ['gauge'],
  shepherd_streams_dropped_total: ['counter'],
  shepherd_log_suppressed_total: ['counter'],
  bmdb_stats_active_backoffs: ['gauge', 'process'],
  bmdb_stats_active_work: ['gauge', 'process'],
  bmdb_stats_machines: ['gauge'],
  bmdb_stats_machines_provided: ['gauge'],
  bmdb_stats_machines_heartbeating: ['gauge'],
  bmdb_stats_machines_pending_installation: ['gauge'],
  bmdb_stats_machines_installed: ['gauge'],
  bmdb_stats_machines_pending_agent_start: ['gauge'],
  bmdb_stats_machines_pending_agent_recovery: ['gauge'],
  bmdb_stats_machines_by_provider: ['gauge', 'provider'],
  bmdb_stats_active_work_by_provider: ['gauge', 'provider', 'process'],
  bmdb_stats_last_success_timestamp_seconds: ['gauge', 'query'],
  bmdb_stats_errors_total: ['counter', 'query'],
  bmdb_hwstats_region_nodes: ['gauge', 'provider', 'location'],
  bmdb_hwstats_region_ram_bytes: ['gauge', 'provider', 'location'],
  bmdb_hwstats_region_cpu_threads: ['gauge', 'provider', 'location'],
  bmdb_hwstats_nodes: ['gauge'],
};
/** Which values a label has, where that was agreed. */
const VALUES: Readonly<Record<string, readonly [label: string, ...values: string[]]>> = {
  shepherd_heartbeats_total: [
    'outcome',
    'invalid',
    'limited',
    'ok',
    'unauthenticated',
    'unavailable',
  ],
  shepherd_role: ['role', 'agent-server', 'balancer', 'console', 'janitor', 'loops', 'stats'],
  shepherd_provider_discrepancies: ['kind', 'failed', 'missing', 'orphan'],
  shepherd_lb_reconcile_resources_pending: ['operation', 'create', 'destroy'],
  shepherd_lb_members: ['state', 'active', 'drained', 'draining', 'joining', 'warming'],
};

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}
interface Family {
  readonly name: string;
  readonly type: string;
  readonly series: Series[];
}

/** What the text format says, read by its own rules and not by the library's. */
function read(body: string): readonly Family[] {
  const families: Family[] = [];
  for (const line of body.split('\n')) {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined) families.push({ name, type: type!, series: [] });
    const [, of, braces = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (of === undefined) continue;
    const family = families.at(-1)!;
    const suffix = family.type === 'histogram' ? /^(_bucket|_sum|_count)$/ : /^$/;
    expect(of.startsWith(family.name) && of.slice(family.name.length), line).toMatch(suffix);
    const pairs = [...braces.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key, text]) => [key, text]);
    family.series.push({ labels: Object.fromEntries(pairs), value: Number(value) });
  }
  return families.filter(({ name }) => !/^(process|nodejs)_/.test(name));
}

const metrics = createPromMetrics({
  ...{ version: '1.2.3', schema: '7', commit: 'abc1234' },
  suppressed: () => 21,
});
touchAll(metrics);
const families = read((await metrics.expose()).body);

describe('V52, B6: the scrape', () => {
  testRows(families.map((family) => [family.name, family] as const))(
    '%s is really counted, and each of its series is named alike',
    (_name, { type, series }) => {
      expect(series.some(({ value }) => value > 0)).toBe(true);
      const names = series.map(({ labels }) =>
        Object.keys(labels)
          .filter((name) => type !== 'histogram' || name !== 'le')
          .toSorted()
          .join(),
      );
      expect(new Set(names).size).toBe(1);
      const all = series.map(({ labels }) => JSON.stringify(labels));
      if (type !== 'histogram') expect(new Set(all).size).toBe(all.length);
    },
  );

  testRows(Object.entries(SPECIFIED))('%s has its type and its labels', (name, agreed) => {
    const [type, ...labels] = agreed;
    const family = families.find((each) => each.name === name)!;
    expect(family.type).toBe(type);
    for (const each of family.series) {
      const own = Object.keys(each.labels).filter((label) => label !== 'le');
      expect(own.toSorted()).toEqual(labels.toSorted());
    }
  });

  testRows(Object.entries(VALUES))('%s has the agreed values', (name, [label, ...values]) => {
    const family = families.find((each) => each.name === name)!;
    expect(family.series.map(({ labels }) => labels[label]).toSorted()).toEqual(values);
  });
});
