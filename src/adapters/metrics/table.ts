import { absentGauges, counters, counts, gauges, histograms } from './families.ts';
import { MEMBER_STATES } from '../../domain/balancing/members.ts';
import { OBJECT_KINDS } from '../../domain/balancing/objects.ts';
import { POOL_STATES } from '../../domain/balancing/pool-row.ts';
import { DAEMON_ROLES } from '../../domain/daemons.ts';
import { PROCESSORS } from '../../domain/processor.ts';
import { CREATION_OUTCOMES } from '../../domain/provisioning/provider-tags.ts';
import { RUNGS } from '../../domain/recovery/rungs.ts';
import { GUARD_STATES } from '../../domain/recovery/guard-status.ts';
import { STATISTICS_PARTS } from '../../domain/statistics.ts';

const POOL = ['driver', 'lb', 'pool'] as const;
const BALANCER_CALL = ['driver', 'lb', 'resource', 'method'] as const;

/** Result of an agent's heartbeat call. */
export const HEARTBEAT_ENDS = [
  'ok',
  'unauthenticated',
  'invalid',
  'unavailable',
  'limited',
] as const;
export type HeartbeatEnd = (typeof HEARTBEAT_ENDS)[number];
/** Result of a delivery attempt. */
export const WEBHOOK_OUTCOMES = ['delivered', 'failed', 'dead', 'disabled'] as const;
/** Result of a creation at Equinix; `adopted`: a lost request had created the device. */
export const EQUINIX_OUTCOMES = [
  'created',
  'adopted',
  'race_lost',
  'capacity',
  'rejected',
  'unknown',
] as const;
/** Machines and slots of a provider. */
export const CAPACITIES = ['bmdb', 'used', 'free', 'penalised', 'managed', 'max'] as const;
/** Machines about which provider and BMDB disagree. */
export const DISCREPANCIES = ['orphan', 'missing', 'failed'] as const;
/** Rows that the janitor deletes. */
export const JANITOR_KINDS = ['session', 'work', 'permit', 'history'] as const;

/** Buckets in seconds: from a quick query to an installation of an hour. */
const WORK = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const POKE = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const CALL = [...POKE, 10];
/** An operation may take many API calls, with waits between them. */
const DRIVER = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 180, 600];
/** Calls that install a machine may take minutes. */
const VENDOR = [...CALL, 30, 60, 120, 180];
/** Few, because each route has its own series. */
const HTTP = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
/** Attempts, not seconds. Conflicts are rare; fifty attempts are the maximum. */
const ATTEMPTS = [1, 2, 3, 5, 10, 20, 50];
/** Seconds. A balancer's objects become ready at once, or within a quarter of an hour. */
const OBJECTS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** Kinds of work of daemons; tests have others. */
const WORKS = [
  'ShepherdAgentStart',
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
] as const;
/** Counted kinds of work. Only the original did the first; its dashboards show it. */
export const COUNTED_PROCESSES = ['ShepherdAccess', ...WORKS] as const;

/**
 * Every metric of ours with its help and labels. The document, the test doubles and the port's
 * types follow from this table. No label ever names a machine. Names that begin with `bmdb_` or
 * `equinix_` are mostly the original's, kept for its dashboards.
 */
export const METRICS = {
  ...histograms(WORK, ['process', 'result'], {
    shepherd_work_duration_seconds: 'Time from the claim of a work item to its end.',
    shepherd_work_queue_wait_seconds:
      'Time that a machine waited for a free task before its work item was claimed.',
  }),
  ...histograms(CALL, [['outcome', HEARTBEAT_ENDS]], {
    shepherd_heartbeat_seconds: 'Time to answer a heartbeat call of an agent.',
  }),
  ...gauges('each', ['version', 'commit', 'schema'], {
    shepherd_build_info: 'Always 1; the labels name the versions of program and schema.',
  }),
  ...gauges('fleet', ['provider', 'state', 'substate'], {
    shepherd_machines:
      'Machines by state and substate, as this daemon sees them; silent and late machines have the state Running.',
  }),
  ...counters(['provider', 'from', 'to'], {
    shepherd_machine_transitions_total: 'Changes of a machine from one state to another.',
  }),
  ...counters([['outcome', HEARTBEAT_ENDS]], {
    shepherd_heartbeats_total: 'Heartbeat calls of agents by outcome.',
  }),
  ...counters(['class'], {
    shepherd_agent_start_failures_total: 'Agent starts that failed, by the step that failed.',
  }),
  ...counters(['provider'], {
    shepherd_ssh_insecure_connections_total:
      'Connections to machines whose host key was not verified, by policy insecure.',
    shepherd_deprovisions_stuck_total:
      'Machines that still existed after many deprovision requests to their provider.',
    shepherd_ssh_hostkey_changes_total:
      'Connections refused because the machine showed another host key than the known one.',
  }),
  ...counters(['provider', 'outcome'], {
    shepherd_reboots_total: 'Reboots requested from a provider.',
    shepherd_reinstalls_total: 'Reinstallations requested from a provider.',
  }),
  ...counters(['adapter', 'op', 'code'], {
    shepherd_adapter_calls_total: 'Calls of outside systems, by error code or ok.',
  }),
  ...counters([], {
    shepherd_actor_crashes_total: 'Machine actors that crashed.',
    shepherd_state_mismatch_total:
      'Machines whose settled actor showed another state than their rows.',
    shepherd_streams_dropped_total: 'Streams closed because their reader did not read.',
    shepherd_log_suppressed_total: 'Repeated log lines that were counted instead of written.',
  }),
  ...counters([['service', ['guard', 'pool', 'supervisor']]], {
    shepherd_service_crashes_total: 'Services that crashed and were restarted.',
  }),
  ...gauges('fleet', ['provider'], {
    shepherd_machines_need_human:
      'Machines that need a person: somebody must decide, or they have been silent or unreachable for too long.',
    shepherd_machines_chronic:
      'Machines that were recovered too often and are left alone until a person acts.',
    shepherd_provider_circuit_open:
      'Is 1 while the listing of the provider is not believed and nothing is created.',
    shepherd_provision_intents_open: 'Unfinished creations.',
    shepherd_provision_over_limit:
      'Managed machines above the limit of the provider; they are kept.',
    shepherd_provision_below_target:
      'Machines in service that are missing to the target of the provider.',
    shepherd_provision_replacements_today:
      'Machines that were created in 24 hours in place of retired ones or ones that need a person.',
    shepherd_machines_retired: 'Slots that are retired, with or without a machine.',
    shepherd_provision_intent_oldest_seconds: 'Age of the oldest unfinished creation, or 0.',
    redfish_bmc_unresponsive: 'BMCs that accept connections but have not answered for 15 minutes.',
  }),
  ...gauges('fleet', ['provider', 'type', ['status', ['True', 'Unknown']]], {
    shepherd_machine_conditions:
      'Machines with a condition, by type and status; of more than 50 types, the last by name are together as other.',
  }),
  ...gauges('fleet', ['scope', ['state', GUARD_STATES]], {
    shepherd_guard_state: 'Is 1 for the current state of the guard of the scope.',
  }),
  ...gauges('fleet', ['scope'], {
    shepherd_guard_frozen: 'Is 1 while recovery of the scope is frozen.',
    shepherd_guard_silent_machines: 'Silent machines, including those not yet certainly back.',
    shepherd_guard_started_machines: 'Machines with a started agent, which the guard watches.',
    shepherd_guard_permits: 'Machines that recovery interrupts now, all daemons together.',
    shepherd_guard_budget: 'Maximum machines that recovery may interrupt at once.',
  }),
  ...counters(['scope'], {
    shepherd_guard_frozen_seconds_total: 'Time during which recovery of the scope was frozen.',
  }),
  ...counters(['provider', ['rung', RUNGS], 'outcome'], {
    shepherd_ladder_attempts_total: 'Recovery attempts, by rung and outcome.',
  }),
  ...counters(['provider', ['rung', RUNGS]], {
    shepherd_escalations_total: 'Escalations of recovery, by the new rung.',
  }),
  ...gauges('fleet', ['provider', ['kind', CAPACITIES]], {
    shepherd_provider_capacity:
      'Machines and slots of a provider in the last pass of its provisioner, by kind.',
  }),
  ...gauges('fleet', ['provider', ['kind', DISCREPANCIES]], {
    shepherd_provider_discrepancies:
      'Machines about which provider and database disagree, by kind.',
  }),
  ...counters(['provider', ['outcome', CREATION_OUTCOMES]], {
    shepherd_provision_outcomes_total: 'Creations of machines, by outcome.',
  }),
  ...counters(['state'], {
    shepherd_instances_disappeared:
      'Machines that their provider no longer knows, by earlier state.',
  }),
  ...histograms(POKE, ['processor'], {
    shepherd_session_poke_seconds: 'Time to renew the session.',
  }),
  ...gauges('each', ['processor'], {
    shepherd_session_deadline_remaining_seconds:
      'Time until the session of this daemon expires, or 0 without a session.',
  }),
  ...histograms(ATTEMPTS, ['processor'], {
    shepherd_transaction_attempts: 'Attempts per transaction, successful or given up.',
  }),
  ...counters([['processor', PROCESSORS]], {
    shepherd_transaction_ambiguous_total:
      'Transactions whose commit had an unknown outcome at first.',
    bmdb_transaction_executed: 'Transactions begun, without repeated attempts.',
    bmdb_transaction_retried: 'Repeated attempts of transactions.',
    bmdb_transaction_failed: 'Transactions given up; refusals do not count.',
  }),
  ...counters([['kind', [...JANITOR_KINDS, 'intent']]], {
    shepherd_janitor_removed_total: 'Unneeded rows that this daemon deleted.',
  }),
  ...gauges('each', ['kind'], {
    shepherd_janitor_last_success_timestamp_seconds:
      'Time of the last complete run of the janitor of this daemon, in seconds since 1970.',
  }),
  ...gauges('each', ['loop'], {
    shepherd_loop_last_success_timestamp_seconds:
      'Time of the last success of a loop of this daemon, or of its start, in seconds since 1970.',
  }),
  ...counters(['loop'], { shepherd_loop_errors_total: 'Runs of loops that failed.' }),
  ...gauges('daemon', ['loop'], {
    shepherd_loop_workers: 'Tasks in progress in a loop of this daemon.',
  }),
  ...counters([['result', ['Success', 'Error']]], {
    shepherd_installations_total:
      'Installations of operating systems that agents reported as ended.',
  }),
  ...gauges('each', ['check'], {
    shepherd_ready: 'Is 1 while this readiness check of the daemon passes.',
  }),
  ...gauges('each', [['role', DAEMON_ROLES]], {
    shepherd_role: 'Is 1 if this daemon has the role, otherwise 0.',
  }),
  ...gauges('fleet', ['provider', 'state'], {
    shepherd_machines_overdue: 'Machines that exceed the limit of their step and the usual time.',
  }),
  ...gauges('each', ['provider'], {
    shepherd_listing_age_seconds: 'Age of the last complete listing of a provider by this daemon.',
  }),
  ...gauges('each', [], {
    shepherd_events_waiting_seconds: 'How long an open transaction has delayed events, or 0.',
  }),
  ...gauges('each', ['name'], {
    tls_certificate_not_after_seconds:
      'Expiry time of a certificate of this daemon, in seconds since 1970.',
  }),
  ...counters([['processor', ['shepherd']]], {
    bmdb_session_started: 'Sessions opened by this process.',
    shepherd_session_expired_total:
      'Sessions of this process that expired, which stops all their work.',
  }),
  ...counters(['processor', 'process'], { bmdb_work_started: 'Work items claimed.' }),
  ...counters(['processor', 'process', 'result'], {
    bmdb_work_finished: 'Work items ended, counted after the commit.',
  }),
  ...counters(['process'], {
    shepherd_claim_conflicts_total: 'Claims of work that another session already held.',
  }),
  ...counters([['process', WORKS as readonly string[]]], {
    shepherd_work_lost_total:
      'Work items lost before their end, by an expired session or to another session.',
  }),
  ...counters(['webhook', ['outcome', WEBHOOK_OUTCOMES]], {
    shepherd_webhook_deliveries_total:
      'Attempts to deliver an event to a webhook, by outcome; dead: the last attempt.',
  }),
  ...gauges('fleet', ['webhook'], {
    shepherd_webhook_oldest_seconds:
      'Age of the oldest event that waits for a webhook of this daemon.',
  }),
  ...histograms(VENDOR, ['endpoint', 'status_code'], {
    equinix_api_latency: 'Duration of calls of the Equinix API, in seconds.',
  }),
  ...gauges('daemon', [], {
    equinix_api_waiting: 'Calls of the Equinix API that wait for their turn.',
    equinix_api_in_flight: 'Calls of the Equinix API in progress.',
    shepherd_streams: 'Open streams of this console.',
  }),
  ...counters(['endpoint', 'reason'], {
    equinix_api_retries_total: 'Repeated calls of the Equinix API, by reason.',
  }),
  ...counters(['reason'], {
    equinix_api_paused_seconds_total: 'Time during which the Equinix client paused all calls.',
  }),
  ...counters([['outcome', EQUINIX_OUTCOMES]], {
    equinix_create_outcomes_total: 'Creations of devices, by outcome.',
  }),
  ...gauges('fleet', ['class'], {
    equinix_reservations: 'Hardware reservations by class, as last read.',
  }),
  ...counters(['list', ['consistent', ['true', 'false']]], {
    equinix_listing_walks_total: 'Listings, by whether their pages agreed with each other.',
  }),
  ...counters(['verb', 'via', 'outcome'], {
    shepherd_requests_total: 'Requests of people and programs, by outcome.',
  }),
  ...histograms(HTTP, ['route', 'method', 'status'], {
    shepherd_http_request_seconds: 'Time to answer a request to the console; streams do not count.',
  }),
  ...counts([], {
    bmdb_stats_machines: 'Machines in the BMDB.',
    bmdb_stats_machines_provided: 'Machines with hardware of a provider.',
    bmdb_stats_machines_heartbeating: 'Machines whose agent is heard.',
    bmdb_stats_machines_pending_installation:
      'Machines whose requested operating system is not installed yet.',
    bmdb_stats_machines_installed: 'Machines whose operating system was installed with success.',
    bmdb_stats_machines_installation_failed: 'Machines whose requested installation failed.',
    bmdb_stats_machines_pending_agent_start: 'Machines whose agent may be started now.',
    bmdb_stats_machines_pending_agent_recovery:
      'Machines to recover, including those between two attempts.',
  }),
  ...counts([['process', COUNTED_PROCESSES]], {
    bmdb_stats_active_work: 'Work items of live sessions.',
    bmdb_stats_active_backoffs: 'Pauses after failures that have not ended.',
  }),
  ...gauges('fleet', ['query'], {
    bmdb_stats_last_success_timestamp_seconds:
      'Time of the last successful statistics query of this daemon, in seconds since 1970.',
  }),
  ...counters([['query', [...STATISTICS_PARTS, 'hardware']]], {
    bmdb_stats_errors_total: 'Statistics queries that failed.',
  }),
  ...gauges('fleet', [], {
    shepherd_installations_failed: 'Machines whose requested installation failed, as last counted.',
  }),
  ...gauges('fleet', ['provider', 'location'], {
    bmdb_hwstats_region_nodes: 'Machines with a hardware report, by location.',
    bmdb_hwstats_region_ram_bytes: 'Installed memory of machines, by location.',
    bmdb_hwstats_region_cpu_threads: 'Hardware threads of machines by location.',
  }),
  ...absentGauges({
    bmdb_hwstats_nodes: 'Machines with a hardware report.',
    bmdb_hwstats_ram_bytes: 'Installed memory of all machines.',
    bmdb_hwstats_cpu_threads: 'Hardware threads of all machines.',
  }),
  ...counters(['provider', 'operation', ['error', ['0', '1']]], {
    driver_operations: 'Calls of provider drivers; error is 1 for failed calls.',
  }),
  ...histograms(DRIVER, ['provider', 'operation'], {
    shepherd_driver_operation_seconds:
      'Duration of calls of provider drivers, without waiting time.',
  }),
  ...histograms(OBJECTS, POOL, {
    shepherd_lb_reconcile_total_duration_seconds:
      'Duration of one pass over a pool: reading and changes.',
    shepherd_lb_reconcile_create_resources_duration_seconds:
      'Time from the creation of an object until it was ready.',
    shepherd_lb_drain_duration_seconds: 'Time from the start of a drain to the last connection.',
  }),
  ...counters(POOL, {
    shepherd_lb_reconcile_create_errors_total:
      'Creations of objects that were given up, including waits for them.',
    shepherd_lb_reconcile_delete_errors_total: 'Removals of objects that were given up for now.',
    shepherd_lb_reconcile_delete_retries_total: 'Failed attempts to remove an object.',
    shepherd_lb_reconcile_created_total: 'Created objects.',
    shepherd_lb_reconcile_deleted_total: 'Removed objects.',
  }),
  ...gauges('fleet', [...POOL, ['operation', ['create', 'destroy']]], {
    shepherd_lb_reconcile_resources_pending: 'Objects still to create or remove, by the last plan.',
  }),
  ...counters([...POOL, ['type', OBJECT_KINDS]], {
    shepherd_lb_reconcile_retrieved_resources_total: 'Our objects read at balancers, by kind.',
  }),
  ...counters([...BALANCER_CALL, 'status'], {
    shepherd_lb_http_client_requests_total:
      'Requests to the API of a balancer, by status; -1: no answer.',
  }),
  ...gauges('daemon', BALANCER_CALL, {
    shepherd_lb_http_client_requests_in_flight: 'Requests to the API of a balancer in progress.',
  }),
  ...gauges('fleet', [...POOL, ['state', MEMBER_STATES]], {
    shepherd_lb_members: 'Members of the pool at the balancer, by state.',
  }),
  ...gauges('fleet', POOL, {
    shepherd_lb_last_settled_timestamp_seconds:
      'Time when the pool was last seen as desired, in seconds since 1970.',
    shepherd_lb_frozen: 'Is 1 while the panic guard freezes the pool.',
  }),
  ...gauges('fleet', [...POOL, ['state', POOL_STATES]], {
    shepherd_lb_state: 'Is 1 for the current state of the pool at the balancer.',
  }),
};
