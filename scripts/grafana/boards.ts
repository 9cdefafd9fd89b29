import type { Board, Figure } from './panel.ts';

/*
 * One line per panel: title, purpose, and optionally `in UNIT` (of Grafana), `now` (single numbers,
 * no history), `see RUNBOOK` (of its alert). The indented lines below it hold each legend and its
 * Prometheus expression.
 */
const FLEET = `
Machines by state | Every daemon sees the whole fleet, so one of them is enough.
  {{state}} | sum by (state) (max by (provider, state, substate) (shepherd_machines))
Machines that need a human | Nothing is done about them until somebody decides. | now, see need-human
  {{provider}} | max by (provider) (shepherd_machines_need_human)
Chronic machines | They were recovered too often; a person must act. | now, see machines-chronic
  {{provider}} | max by (provider) (shepherd_machines_chronic)
Conditions | Machines with which something is wrong. | see machine-conditions
  {{provider}} {{type}} {{status}} | max by (provider, type, status) (shepherd_machine_conditions)
Share of lost machines | Above two percent it is a fault that they share. | in percentunit, see machines-lost
  {{scope}} | max by (scope) (shepherd_guard_silent_machines) / max by (scope) (shepherd_guard_started_machines)
Recovery: permits and budget | How many are being recovered, and how many may be. | see budget-spent
  recovered: {{scope}} | max by (scope) (shepherd_guard_permits)
  budget: {{scope}} | max by (scope) (shepherd_guard_budget)
Frozen | Is 1 while nothing is recovered in the scope. | see guard-frozen
  {{scope}} | max by (scope) (shepherd_guard_frozen)
Overdue machines | They take far longer than their step may. | see machines-overdue
  {{provider}} {{state}} | max by (provider, state) (shepherd_machines_overdue)
Changes of state | Each daemon counts the same changes, so the busiest one is told.
  to {{to}} | sum by (to) (increase(shepherd_machine_transitions_total[5m])) / count(count by (instance) (shepherd_build_info))
Attempts to bring machines back | By rung of the ladder and by how the attempt went on. | see reinstalls-many
  {{rung}} {{outcome}} | sum by (rung, outcome) (increase(shepherd_ladder_attempts_total[5m]))
Work and waits | Counted in the database by the daemon that has the job.
  work: {{process}} | max by (process) (bmdb_stats_active_work)
  wait: {{process}} | max by (process) (bmdb_stats_active_backoffs)
Installations of operating systems | How they ended, and how many are failed now.
  {{result}}, last hour | sum by (result) (increase(shepherd_installations_total[1h]))
  failed now | max(shepherd_installations_failed)
Machines by place | Those whose agent told what they are made of. | now
  {{provider}} {{location}} | max by (provider, location) (bmdb_hwstats_region_nodes)
Hardware in all | Installed memory, and hardware threads of all processors. | now
  TiB of memory | max(bmdb_hwstats_ram_bytes) / 2^40
  threads | max(bmdb_hwstats_cpu_threads)
`;

const PROVIDERS = `
Capacity | Machines and slots in the last iteration of the provisioner.
  {{provider}} {{kind}} | max by (provider, kind) (shepherd_provider_capacity)
Age of the last listing | Of the daemon that has the oldest. | in s, see listing-old
  {{provider}} | max by (provider) (shepherd_listing_age_seconds)
Discrepancies | Machines of which provider and database say different things. | see orphans
  {{provider}} {{kind}} | max by (provider, kind) (shepherd_provider_discrepancies)
Listings that are not believed | Is 1 while nothing is created by the listing. | see circuit-open
  {{provider}} | max by (provider) (shepherd_provider_circuit_open)
Creations | By how they ended.
  {{provider}} {{outcome}} | sum by (provider, outcome) (increase(shepherd_provision_outcomes_total[5m]))
Oldest creation that is not settled | After an hour somebody should look. | in s, see creation-unsettled
  {{provider}} | max by (provider) (shepherd_provision_intent_oldest_seconds)
Calls that fail | Of the drivers, by operation. | in reqps
  {{provider}} {{operation}} | sum by (provider, operation) (rate(driver_operations{error="1"}[5m]))
Time of calls, 95th percentile | Without their wait for a turn. | in s
  {{provider}} {{operation}} | histogram_quantile(0.95, sum by (le, provider, operation) (rate(shepherd_driver_operation_seconds_bucket[5m])))
Reboots and reinstallations | Asked of the provider within the hour. | see reinstalls-many
  reboot: {{provider}} {{outcome}} | sum by (provider, outcome) (increase(shepherd_reboots_total[1h]))
  reinstall: {{provider}} {{outcome}} | sum by (provider, outcome) (increase(shepherd_reinstalls_total[1h]))
Agent starts that fail | By the step that failed. | in reqps
  {{class}} | sum by (class) (rate(shepherd_agent_start_failures_total[5m]))
Host keys | Keys that changed, and hosts that nobody verified, within the hour. | see host-key-changed
  changed: {{provider}} | sum by (provider) (increase(shepherd_ssh_hostkey_changes_total[1h]))
  not verified: {{provider}} | sum by (provider) (increase(shepherd_ssh_insecure_connections_total[1h]))
Machines that do not go away | After many requests to their provider. | see deprovision-stuck
  {{provider}} | sum by (provider) (increase(shepherd_deprovisions_stuck_total[1h]))
`;

const DAEMON = `
Checks of readiness | Is 1 while it is passed. | see not-ready
  {{instance}} {{check}} | min by (instance, check) (shepherd_ready)
Roles with a live session | How many daemons have each; with 0 of loops, or of agent-server, nobody is recovered. | now, see no-live-session
  {{role}} | sum by (role) (shepherd_role * ignoring (role, check) group_left () shepherd_ready{check="session"})
Time until the session is dead | It comes near 0 where a daemon or the database stalls. | in s, see work-lost
  {{instance}} | min by (instance) (shepherd_session_deadline_remaining_seconds)
Heartbeats | Calls of agents, by outcome. | in reqps, see heartbeats-refused
  {{outcome}} | sum by (outcome) (rate(shepherd_heartbeats_total[5m]))
Time to answer a heartbeat, 99th percentile | Of each daemon. | in s
  {{instance}} | histogram_quantile(0.99, sum by (le, instance) (rate(shepherd_heartbeat_seconds_bucket[5m])))
Transactions | Begun, repeated and given up. | in reqps, see database-failing
  begun: {{processor}} | sum by (processor) (rate(bmdb_transaction_executed[5m]))
  repeated: {{processor}} | sum by (processor) (rate(bmdb_transaction_retried[5m]))
  failed: {{processor}} | sum by (processor) (rate(bmdb_transaction_failed[5m]))
Work | How it ended, and how long it took, 95th percentile. | see work-lost
  {{process}} {{result}} | sum by (process, result) (rate(bmdb_work_finished[5m]))
  seconds: {{process}} | histogram_quantile(0.95, sum by (le, process) (rate(shepherd_work_duration_seconds_bucket[5m])))
Since loops last succeeded | In whichever daemon was the last. | in s, see loop-stalled
  {{loop}} | time() - max by (loop) (shepherd_loop_last_success_timestamp_seconds)
Tasks under way | Over all daemons.
  {{loop}} | sum by (loop) (shepherd_loop_workers)
Event loop, 99th percentile of its delay | Above half a second a daemon is too busy. | in s, see event-loop-slow
  {{instance}} | max by (instance) (nodejs_eventloop_lag_p99_seconds)
Memory | Resident, of each daemon. | in bytes
  {{instance}} | max by (instance) (process_resident_memory_bytes)
Console: answers | By status.
  {{status}} | sum by (status) (rate(shepherd_http_request_seconds_count[5m]))
  open streams | sum(shepherd_streams)
Deliveries to webhooks | Within the hour, by how they ended. | see webhook-dead-letters
  {{webhook}} {{outcome}} | sum by (webhook, outcome) (increase(shepherd_webhook_deliveries_total[1h]))
Events wait to be told | For how long a transaction that stays open has held them up. | in s, see events-waiting
  {{instance}} | max by (instance) (shepherd_events_waiting_seconds)
What people asked for | Within the hour, by how the asking ended.
  {{verb}} {{outcome}} | sum by (verb, outcome) (increase(shepherd_requests_total[1h]))
Certificates end in | Those that daemons show. | in s, now, see certificate-expiring
  {{instance}} {{name}} | min by (instance, name) (tls_certificate_not_after_seconds) - time()
Versions | Daemons of each. | now, see version-skew
  {{version}} {{commit}} | count by (version, commit) (shepherd_build_info)
`;

const figuresOf = (text: string): Figure[] =>
  text
    .trim()
    .split(/\n(?! )/)
    .map((block) => {
      const [head = '', ...queries] = block.split('\n');
      const [title = '', says = '', flags = ''] = head.split(' | ');
      const [, unit] = /\bin (\w+)/.exec(flags) ?? [];
      const [, runbook] = /\bsee ([\w-]+)/.exec(flags) ?? [];
      return {
        title,
        says,
        queries: queries.map((query) => {
          const [legend = '', expression = ''] = query.trim().split(' | ');
          return [expression, legend] as const;
        }),
        ...(unit !== undefined && { unit }),
        ...(/\bnow\b/.test(flags) && { isNow: true }),
        ...(runbook !== undefined && { runbook }),
      };
    });

const board = (name: string, title: string, text: string): Board => ({
  ...{ uid: `shepherd-${name}`, title: `Shepherd: ${title}`, figures: figuresOf(text) },
});

/** All dashboards, by file name in `deploy/grafana/`. */
export const BOARDS: Readonly<Record<string, Board>> = {
  fleet: board('fleet', 'fleet', FLEET),
  providers: board('providers', 'providers', PROVIDERS),
  daemon: board('daemon', 'daemons', DAEMON),
};
