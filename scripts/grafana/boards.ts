import type { Board } from './panel.ts';

const fleet: Board = {
  uid: 'shepherd-fleet',
  title: 'Shepherd: fleet',
  figures: [
    {
      title: 'Machines by state',
      says: 'Every daemon sees the whole fleet, so one of them is enough.',
      queries: [
        ['sum by (state) (max by (provider, state, substate) (shepherd_machines))', '{{state}}'],
      ],
    },
    {
      title: 'Machines that need a human',
      says: 'Nothing is done about them until somebody decides.',
      queries: [['max by (provider) (shepherd_machines_need_human)', '{{provider}}']],
      isNow: true,
      runbook: 'need-human',
    },
    {
      title: 'Share of lost machines',
      says: 'Above two percent it is a fault that they share.',
      queries: [
        [
          'max by (scope) (shepherd_guard_silent_machines) / max by (scope) (shepherd_guard_started_machines)',
          '{{scope}}',
        ],
      ],
      unit: 'percentunit',
      runbook: 'machines-lost',
    },
    {
      title: 'Recovery: permits and budget',
      says: 'How many are being recovered, and how many may be.',
      queries: [
        ['max by (scope) (shepherd_guard_permits)', 'recovered: {{scope}}'],
        ['max by (scope) (shepherd_guard_budget)', 'budget: {{scope}}'],
      ],
      runbook: 'budget-spent',
    },
    {
      title: 'Frozen',
      says: 'Is 1 while nothing is recovered in the scope.',
      queries: [['max by (scope) (shepherd_guard_frozen)', '{{scope}}']],
      runbook: 'guard-frozen',
    },
    {
      title: 'Overdue machines',
      says: 'They take far longer than their step may.',
      queries: [['max by (provider, state) (shepherd_machines_overdue)', '{{provider}} {{state}}']],
      runbook: 'machines-overdue',
    },
    {
      title: 'Changes of state',
      says: 'Each daemon counts the same changes, so the busiest one is told.',
      queries: [
        [
          'sum by (to) (increase(shepherd_machine_transitions_total[5m])) / count(count by (instance) (shepherd_build_info))',
          'to {{to}}',
        ],
      ],
    },
    {
      title: 'Attempts to bring machines back',
      says: 'By rung of the ladder and by how the attempt went on.',
      queries: [
        [
          'sum by (rung, outcome) (increase(shepherd_ladder_attempts_total[5m]))',
          '{{rung}} {{outcome}}',
        ],
      ],
      runbook: 'reinstalls-many',
    },
    {
      title: 'Work and waits',
      says: 'Counted in the database by the daemon that has the job.',
      queries: [
        ['max by (process) (bmdb_stats_active_work)', 'work: {{process}}'],
        ['max by (process) (bmdb_stats_active_backoffs)', 'wait: {{process}}'],
      ],
    },
    {
      title: 'Installations of operating systems',
      says: 'How they ended, and how many are failed now.',
      queries: [
        ['sum by (result) (increase(shepherd_installations_total[1h]))', '{{result}}, last hour'],
        ['max(shepherd_installations_failed)', 'failed now'],
      ],
    },
    {
      title: 'Machines by place',
      says: 'Those whose agent told what they are made of.',
      queries: [
        ['max by (provider, location) (bmdb_hwstats_region_nodes)', '{{provider}} {{location}}'],
      ],
      isNow: true,
    },
    {
      title: 'Hardware in all',
      says: 'Installed memory, and hardware threads of all processors.',
      queries: [
        ['max(bmdb_hwstats_ram_bytes) / 2^40', 'TiB of memory'],
        ['max(bmdb_hwstats_cpu_threads)', 'threads'],
      ],
      isNow: true,
    },
  ],
};

const providers: Board = {
  uid: 'shepherd-providers',
  title: 'Shepherd: providers',
  figures: [
    {
      title: 'Capacity',
      says: 'Machines and slots in the last iteration of the provisioner.',
      queries: [['max by (provider, kind) (shepherd_provider_capacity)', '{{provider}} {{kind}}']],
    },
    {
      title: 'Age of the last listing',
      says: 'Of the daemon that has the oldest.',
      queries: [['max by (provider) (shepherd_listing_age_seconds)', '{{provider}}']],
      unit: 's',
      runbook: 'listing-old',
    },
    {
      title: 'Discrepancies',
      says: 'Machines of which provider and database say different things.',
      queries: [
        ['max by (provider, kind) (shepherd_provider_discrepancies)', '{{provider}} {{kind}}'],
      ],
      runbook: 'orphans',
    },
    {
      title: 'Listings that are not believed',
      says: 'Is 1 while nothing is created by the listing.',
      queries: [['max by (provider) (shepherd_provider_circuit_open)', '{{provider}}']],
      runbook: 'circuit-open',
    },
    {
      title: 'Creations',
      says: 'By how they ended.',
      queries: [
        [
          'sum by (provider, outcome) (increase(shepherd_provision_outcomes_total[5m]))',
          '{{provider}} {{outcome}}',
        ],
      ],
    },
    {
      title: 'Oldest creation that is not settled',
      says: 'After an hour somebody should look.',
      queries: [['max by (provider) (shepherd_provision_intent_oldest_seconds)', '{{provider}}']],
      unit: 's',
      runbook: 'creation-unsettled',
    },
    {
      title: 'Calls that fail',
      says: 'Of the drivers, by operation.',
      queries: [
        [
          'sum by (provider, operation) (rate(driver_operations{error="1"}[5m]))',
          '{{provider}} {{operation}}',
        ],
      ],
      unit: 'reqps',
    },
    {
      title: 'Time of calls, 95th percentile',
      says: 'Without their wait for a turn.',
      queries: [
        [
          'histogram_quantile(0.95, sum by (le, provider, operation) (rate(shepherd_driver_operation_seconds_bucket[5m])))',
          '{{provider}} {{operation}}',
        ],
      ],
      unit: 's',
    },
    {
      title: 'Reboots and reinstallations',
      says: 'Asked of the provider within the hour.',
      queries: [
        [
          'sum by (provider, outcome) (increase(shepherd_reboots_total[1h]))',
          'reboot: {{provider}} {{outcome}}',
        ],
        [
          'sum by (provider, outcome) (increase(shepherd_reinstalls_total[1h]))',
          'reinstall: {{provider}} {{outcome}}',
        ],
      ],
      runbook: 'reinstalls-many',
    },
    {
      title: 'Agent starts that fail',
      says: 'By the step that failed.',
      queries: [['sum by (class) (rate(shepherd_agent_start_failures_total[5m]))', '{{class}}']],
      unit: 'reqps',
    },
    {
      title: 'Host keys',
      says: 'Keys that changed, and hosts that nobody verified, within the hour.',
      queries: [
        [
          'sum by (provider) (increase(shepherd_ssh_hostkey_changes_total[1h]))',
          'changed: {{provider}}',
        ],
        [
          'sum by (provider) (increase(shepherd_ssh_insecure_connections_total[1h]))',
          'not verified: {{provider}}',
        ],
      ],
      runbook: 'host-key-changed',
    },
    {
      title: 'Machines that do not go away',
      says: 'After many requests to their provider.',
      queries: [
        ['sum by (provider) (increase(shepherd_deprovisions_stuck_total[1h]))', '{{provider}}'],
      ],
      runbook: 'deprovision-stuck',
    },
  ],
};

const daemon: Board = {
  uid: 'shepherd-daemon',
  title: 'Shepherd: daemons',
  figures: [
    {
      title: 'Checks of readiness',
      says: 'Is 1 while it is passed.',
      queries: [['min by (instance, check) (shepherd_ready)', '{{instance}} {{check}}']],
      runbook: 'not-ready',
    },
    {
      title: 'Roles with a live session',
      says: 'How many daemons have each; with 0 of loops, or of agent-server, nobody is recovered.',
      queries: [
        [
          'sum by (role) (shepherd_role * ignoring (role, check) group_left () shepherd_ready{check="session"})',
          '{{role}}',
        ],
      ],
      isNow: true,
      runbook: 'no-live-session',
    },
    {
      title: 'Time until the session is dead',
      says: 'It comes near 0 where a daemon or the database stalls.',
      queries: [
        ['min by (instance) (shepherd_session_deadline_remaining_seconds)', '{{instance}}'],
      ],
      unit: 's',
      runbook: 'work-lost',
    },
    {
      title: 'Heartbeats',
      says: 'Calls of agents, by outcome.',
      queries: [['sum by (outcome) (rate(shepherd_heartbeats_total[5m]))', '{{outcome}}']],
      unit: 'reqps',
      runbook: 'heartbeats-refused',
    },
    {
      title: 'Time to answer a heartbeat, 99th percentile',
      says: 'Of each daemon.',
      queries: [
        [
          'histogram_quantile(0.99, sum by (le, instance) (rate(shepherd_heartbeat_seconds_bucket[5m])))',
          '{{instance}}',
        ],
      ],
      unit: 's',
    },
    {
      title: 'Transactions',
      says: 'Begun, repeated and given up.',
      queries: [
        ['sum by (processor) (rate(bmdb_transaction_executed[5m]))', 'begun: {{processor}}'],
        ['sum by (processor) (rate(bmdb_transaction_retried[5m]))', 'repeated: {{processor}}'],
        ['sum by (processor) (rate(bmdb_transaction_failed[5m]))', 'failed: {{processor}}'],
      ],
      unit: 'reqps',
      runbook: 'database-failing',
    },
    {
      title: 'Work',
      says: 'How it ended, and how long it took, 95th percentile.',
      queries: [
        ['sum by (process, result) (rate(bmdb_work_finished[5m]))', '{{process}} {{result}}'],
        [
          'histogram_quantile(0.95, sum by (le, process) (rate(shepherd_work_duration_seconds_bucket[5m])))',
          'seconds: {{process}}',
        ],
      ],
      runbook: 'work-lost',
    },
    {
      title: 'Since loops last succeeded',
      says: 'In whichever daemon was the last.',
      queries: [
        ['time() - max by (loop) (shepherd_loop_last_success_timestamp_seconds)', '{{loop}}'],
      ],
      unit: 's',
      runbook: 'loop-stalled',
    },
    {
      title: 'Tasks under way',
      says: 'Over all daemons.',
      queries: [['sum by (loop) (shepherd_loop_workers)', '{{loop}}']],
    },
    {
      title: 'Event loop, 99th percentile of its delay',
      says: 'Above half a second a daemon is too busy.',
      queries: [['max by (instance) (nodejs_eventloop_lag_p99_seconds)', '{{instance}}']],
      unit: 's',
      runbook: 'event-loop-slow',
    },
    {
      title: 'Memory',
      says: 'Resident, of each daemon.',
      queries: [['max by (instance) (process_resident_memory_bytes)', '{{instance}}']],
      unit: 'bytes',
    },
    {
      title: 'Console: answers',
      says: 'By status.',
      queries: [
        ['sum by (status) (rate(shepherd_http_request_seconds_count[5m]))', '{{status}}'],
        ['sum(shepherd_streams)', 'open streams'],
      ],
    },
    {
      title: 'Deliveries to webhooks',
      says: 'Within the hour, by how they ended.',
      queries: [
        [
          'sum by (webhook, outcome) (increase(shepherd_webhook_deliveries_total[1h]))',
          '{{webhook}} {{outcome}}',
        ],
      ],
      runbook: 'webhook-dead-letters',
    },
    {
      title: 'Events wait to be told',
      says: 'For how long a transaction that stays open has held them up.',
      queries: [['max by (instance) (shepherd_events_waiting_seconds)', '{{instance}}']],
      unit: 's',
      runbook: 'events-waiting',
    },
    {
      title: 'What people asked for',
      says: 'Within the hour, by how the asking ended.',
      queries: [
        ['sum by (verb, outcome) (increase(shepherd_requests_total[1h]))', '{{verb}} {{outcome}}'],
      ],
    },
    {
      title: 'Certificates end in',
      says: 'Those that daemons show.',
      queries: [
        [
          'min by (instance, name) (tls_certificate_not_after_seconds) - time()',
          '{{instance}} {{name}}',
        ],
      ],
      unit: 's',
      isNow: true,
      runbook: 'certificate-expiring',
    },
    {
      title: 'Versions',
      says: 'Daemons of each.',
      queries: [['count by (version, commit) (shepherd_build_info)', '{{version}} {{commit}}']],
      isNow: true,
      runbook: 'version-skew',
    },
  ],
};

/** Every dashboard, by the name of its file in `deploy/grafana/`. */
export const BOARDS: Readonly<Record<string, Board>> = { fleet, providers, daemon };
