import { absentGauges, counters, counts, gauges, histograms } from './families.ts';
import { MEMBER_STATES } from '../../domain/balancing/members.ts';
import { OBJECT_KINDS } from '../../domain/balancing/objects.ts';
import { POOL_STATES } from '../../domain/balancing/pool-row.ts';
import { DAEMON_ROLES } from '../../domain/daemons.ts';
import { PROCESSORS } from '../../domain/processor.ts';
import { CREATION_OUTCOMES } from '../../domain/provisioning/provider-tags.ts';
import { RUNGS } from '../../domain/recovery/rungs.ts';
import { GUARD_STATES } from '../../domain/recovery/standing.ts';
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
      'Time that a machine waited for a place among the tasks before its work item was claimed.',
  }),
  ...histograms(CALL, [['outcome', HEARTBEAT_ENDS]], {
    shepherd_heartbeat_seconds: 'Time to answer a heartbeat call of an agent.',
  }),
  ...gauges('each', ['version', 'commit', 'schema'], {
    shepherd_build_info: 'Always 1; the labels name the program and the schema of its database.',
  }),
  ...gauges('fleet', ['provider', 'state', 'substate'], {
    shepherd_machines:
      'Machines per state and substate as this daemon sees them; the silent and late ones are in state Running.',
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
      'Connections to machines whose host key was not verified, as the policy has it.',
    shepherd_deprovisions_stuck_total:
      'Machines that did not go away after many requests to their provider.',
    shepherd_ssh_hostkey_changes_total:
      'Machines that showed another host key than is known of them, and were not spoken to.',
  }),
  ...counters(['provider', 'outcome'], {
    shepherd_reboots_total: 'Reboots asked of a provider.',
    shepherd_reinstalls_total: 'Reinstallations asked of a provider.',
  }),
  ...counters(['adapter', 'op', 'code'], {
    shepherd_adapter_calls_total: 'Calls of adapters to outside systems, by error code or ok.',
  }),
  ...counters([], {
    shepherd_actor_crashes_total: 'Machine actors that crashed and were reported for a restart.',
    shepherd_state_mismatch_total:
      'Machines whose actor, at rest, showed another state than their rows.',
    shepherd_streams_dropped_total: 'Streams that were ended because their reader did not read.',
    shepherd_log_suppressed_total:
      'Lines of the log that were counted instead of written, as they repeat others.',
  }),
  ...counters([['service', ['guard', 'pool', 'supervisor']]], {
    shepherd_service_crashes_total: 'Services beside the machines that crashed and were rebuilt.',
  }),
  ...gauges('fleet', ['provider'], {
    shepherd_machines_need_human:
      'Machines that need a person: nothing is done about them until somebody decides, or they are silent or out of reach for too long.',
    shepherd_provider_circuit_open:
      'Is 1 while the listing of a provider is not believed, and nothing is created by it.',
    shepherd_provision_intents_open: 'Creations that were begun and are not settled.',
    shepherd_provision_over_limit:
      'Managed machines beyond the limit of the provider; they are never given up for it.',
    shepherd_provision_intent_oldest_seconds:
      'Age of the oldest creation that was begun and is not settled, 0 without one.',
    redfish_bmc_unresponsive:
      'BMCs that take connections and have answered nothing for a quarter of an hour.',
  }),
  ...gauges('fleet', ['scope', ['state', GUARD_STATES]], {
    shepherd_guard_state: 'Is 1 for the state in which the guard of a scope is.',
  }),
  ...gauges('fleet', ['scope'], {
    shepherd_guard_frozen: 'Is 1 while recovery of a scope is frozen.',
    shepherd_guard_silent_machines:
      'Machines that are lost, or were lost and are not back for certain.',
    shepherd_guard_started_machines: 'Machines that the guard watches, as their agent was started.',
    shepherd_guard_permits: 'Machines that recovery interrupts now, over all daemons.',
    shepherd_guard_budget: 'Machines that recovery may interrupt at once.',
  }),
  ...counters(['scope'], {
    shepherd_guard_frozen_seconds_total: 'Time during which recovery of a scope was seen frozen.',
  }),
  ...counters(['provider', ['rung', RUNGS], 'outcome'], {
    shepherd_ladder_attempts_total:
      'Steps of attempts to bring machines back, by rung of the ladder and outcome.',
  }),
  ...counters(['provider', ['rung', RUNGS]], {
    shepherd_escalations_total:
      'Machines that went up the ladder of recovery, by the rung that they came to.',
  }),
  ...gauges('fleet', ['provider', ['kind', CAPACITIES]], {
    shepherd_provider_capacity:
      'Machines and slots of a provider in the last iteration of its provisioner, by kind.',
  }),
  ...gauges('fleet', ['provider', ['kind', DISCREPANCIES]], {
    shepherd_provider_discrepancies:
      'Machines of which provider and BMDB say different things, by kind.',
  }),
  ...counters(['provider', ['outcome', CREATION_OUTCOMES]], {
    shepherd_provision_outcomes_total: 'Creations of machines, by how they ended.',
  }),
  ...counters(['state'], {
    shepherd_instances_disappeared:
      'Machines that their provider no longer knows, by the state they were in.',
  }),
  ...histograms(POKE, ['processor'], {
    shepherd_session_poke_seconds: 'Time to extend the session.',
  }),
  ...gauges('each', ['processor'], {
    shepherd_session_deadline_remaining_seconds:
      'Time until the session of this daemon counts as dead, 0 without one.',
  }),
  ...histograms(ATTEMPTS, ['processor'], {
    shepherd_transaction_attempts: 'Attempts that transactions of the BMDB took, given up or not.',
  }),
  ...counters([['processor', PROCESSORS]], {
    shepherd_transaction_ambiguous_total:
      'Transactions of which it was not known at first whether they were committed.',
    bmdb_transaction_executed: 'Transactions begun, first attempts only.',
    bmdb_transaction_retried: 'Attempts of transactions after the first.',
    bmdb_transaction_failed: 'Transactions given up, not counting those that ended with a refusal.',
  }),
  ...counters([['kind', [...JANITOR_KINDS, 'intent']]], {
    shepherd_janitor_removed_total: 'Rows that nobody needed any more, removed by this daemon.',
  }),
  ...gauges('each', ['kind'], {
    shepherd_janitor_last_success_timestamp_seconds:
      'When the janitor of this daemon last went through, in seconds since 1970.',
  }),
  ...gauges('each', ['loop'], {
    shepherd_loop_last_success_timestamp_seconds:
      'When a loop of this daemon last succeeded, or began if never, in seconds since 1970.',
  }),
  ...counters(['loop'], { shepherd_loop_errors_total: 'Runs of loops that failed.' }),
  ...gauges('daemon', ['loop'], {
    shepherd_loop_workers: 'Tasks under way in a loop of this daemon.',
  }),
  ...counters([['result', ['Success', 'Error']]], {
    shepherd_installations_total: 'Installations of operating systems that agents told the end of.',
  }),
  ...gauges('each', ['check'], {
    shepherd_ready: 'Is 1 while a check of readiness of this daemon is passed.',
  }),
  ...gauges('each', [['role', DAEMON_ROLES]], {
    shepherd_role: 'Is 1 if this daemon has the role, else 0.',
  }),
  ...gauges('fleet', ['provider', 'state'], {
    shepherd_machines_overdue:
      'Machines that take far longer than their step may, and than others took.',
  }),
  ...gauges('each', ['provider'], {
    shepherd_listing_age_seconds: 'Age of the last complete listing of a provider by this daemon.',
  }),
  ...gauges('each', [], {
    shepherd_events_waiting_seconds:
      'How long events wait to be told for a transaction that stays open, 0 where none does.',
  }),
  ...gauges('each', ['name'], {
    tls_certificate_not_after_seconds:
      'When a certificate that this daemon shows ends, in seconds since 1970.',
  }),
  ...counters([['processor', ['shepherd']]], {
    bmdb_session_started: 'Sessions opened by this process.',
    shepherd_session_expired_total:
      'Sessions of this process that passed their deadline, which stops all their work.',
  }),
  ...counters(['processor', 'process'], { bmdb_work_started: 'Work items claimed.' }),
  ...counters(['processor', 'process', 'result'], {
    bmdb_work_finished: 'Work items ended, counted after the commit.',
  }),
  ...counters(['process'], {
    shepherd_claim_conflicts_total: 'Claims of work that another session held already.',
  }),
  ...counters([['process', WORKS as readonly string[]]], {
    shepherd_work_lost_total:
      'Work items whose session expired, or that somebody else had, before they were ended.',
  }),
  ...counters(['webhook', ['outcome', WEBHOOK_OUTCOMES]], {
    shepherd_webhook_deliveries_total:
      'Attempts to deliver an event to a webhook, by outcome; dead: none follows.',
  }),
  ...gauges('fleet', ['webhook'], {
    shepherd_webhook_oldest_seconds:
      'Age of the event that waits longest for a webhook, where this daemon delivers to it.',
  }),
  ...histograms(VENDOR, ['endpoint', 'status_code'], {
    equinix_api_latency: 'Time of HTTP attempts against the Equinix API, in seconds.',
  }),
  ...gauges('daemon', [], {
    equinix_api_waiting: 'Attempts against the Equinix API that wait for a slot.',
    equinix_api_in_flight: 'Attempts against the Equinix API in progress.',
    shepherd_streams: 'Streams that are open at this console.',
  }),
  ...counters(['endpoint', 'reason'], {
    equinix_api_retries_total:
      'Attempts against the Equinix API that repeat an earlier one, by what made them.',
  }),
  ...counters(['reason'], {
    equinix_api_paused_seconds_total:
      'Time during which the whole Equinix client was kept from calling.',
  }),
  ...counters([['outcome', EQUINIX_OUTCOMES]], {
    equinix_create_outcomes_total: 'Creations of devices, by how they ended.',
  }),
  ...gauges('fleet', ['class'], {
    equinix_reservations: 'Hardware reservations per class when they were last read.',
  }),
  ...counters(['list', ['consistent', ['true', 'false']]], {
    equinix_listing_walks_total:
      'Walks through the pages of a listing, by whether the pages agreed with each other.',
  }),
  ...counters(['verb', 'via', 'outcome'], {
    shepherd_requests_total: 'What people asked for, by how the asking ended.',
  }),
  ...histograms(HTTP, ['route', 'method', 'status'], {
    shepherd_http_request_seconds: 'Time to answer calls of the console, streams left out.',
  }),
  ...counts([], {
    bmdb_stats_machines: 'Machines in the BMDB.',
    bmdb_stats_machines_provided: 'Machines with hardware of a provider.',
    bmdb_stats_machines_heartbeating: 'Machines whose agent is heard.',
    bmdb_stats_machines_pending_installation:
      'Machines on which an operating system is asked for and not installed yet.',
    bmdb_stats_machines_installed: 'Machines whose operating system was installed with success.',
    bmdb_stats_machines_installation_failed:
      'Machines on which the installation that is asked for failed.',
    bmdb_stats_machines_pending_agent_start: 'Machines whose agent may be started now.',
    bmdb_stats_machines_pending_agent_recovery:
      'Machines that are to be recovered, those between two attempts among them.',
  }),
  ...counts([['process', COUNTED_PROCESSES]], {
    bmdb_stats_active_work: 'Work items that are held by a live session.',
    bmdb_stats_active_backoffs: 'Waits after failures that have not ended.',
  }),
  ...gauges('fleet', ['query'], {
    bmdb_stats_last_success_timestamp_seconds:
      'When a query of the statistics last succeeded here, in seconds since 1970.',
  }),
  ...counters([['query', [...STATISTICS_PARTS, 'hardware']]], {
    bmdb_stats_errors_total: 'Queries of the statistics that failed.',
  }),
  ...gauges('fleet', [], {
    shepherd_installations_failed:
      'Machines on which the installation that is asked for failed, as last counted.',
  }),
  ...gauges('fleet', ['provider', 'location'], {
    bmdb_hwstats_region_nodes: 'Machines with a hardware report, by place.',
    bmdb_hwstats_region_ram_bytes: 'Installed memory of machines, by place.',
    bmdb_hwstats_region_cpu_threads:
      'Hardware threads of machines by place, of all their processors.',
  }),
  ...absentGauges({
    bmdb_hwstats_nodes: 'Machines with a hardware report, at all places.',
    bmdb_hwstats_ram_bytes: 'Installed memory of machines, at all places.',
    bmdb_hwstats_cpu_threads: 'Hardware threads of machines, at all places.',
  }),
  ...counters(['provider', 'operation', ['error', ['0', '1']]], {
    driver_operations: 'Calls of the drivers of providers; error is 1 of those that failed.',
  }),
  ...histograms(DRIVER, ['provider', 'operation'], {
    shepherd_driver_operation_seconds:
      'Time of calls of the drivers of providers, without their wait for a turn.',
  }),
  ...histograms(OBJECTS, POOL, {
    shepherd_lb_reconcile_total_duration_seconds:
      'Time of one pass over a pool: reading what is there, and what followed of it.',
    shepherd_lb_reconcile_create_resources_duration_seconds:
      'Time that objects took to get ready after they were created.',
    shepherd_lb_drain_duration_seconds:
      'Time from the moment a member gets no new connections to its last one.',
  }),
  ...counters(POOL, {
    shepherd_lb_reconcile_create_errors_total:
      'Creations, and waits for what was created, that were given up.',
    shepherd_lb_reconcile_delete_errors_total: 'Objects whose removal was given up for the moment.',
    shepherd_lb_reconcile_delete_retries_total: 'Attempts to remove an object that failed.',
    shepherd_lb_reconcile_created_total: 'Objects that were created.',
    shepherd_lb_reconcile_deleted_total: 'Objects that were removed.',
  }),
  ...gauges('fleet', [...POOL, ['operation', ['create', 'destroy']]], {
    shepherd_lb_reconcile_resources_pending:
      'Objects that are still to be created or removed, as the last plan has it.',
  }),
  ...counters([...POOL, ['type', OBJECT_KINDS]], {
    shepherd_lb_reconcile_retrieved_resources_total:
      'Objects of ours that were read at balancers, by kind.',
  }),
  ...counters([...BALANCER_CALL, 'status'], {
    shepherd_lb_http_client_requests_total:
      'Requests to the API of a balancer, by status; -1 is no answer.',
  }),
  ...gauges('daemon', BALANCER_CALL, {
    shepherd_lb_http_client_requests_in_flight:
      'Requests to the API of a balancer that wait for their answer.',
  }),
  ...gauges('fleet', [...POOL, ['state', MEMBER_STATES]], {
    shepherd_lb_members: 'Machines in a pool at a balancer, by state.',
  }),
  ...gauges('fleet', POOL, {
    shepherd_lb_last_settled_timestamp_seconds:
      'When all of a pool was last seen to be as desired, in seconds since 1970.',
    shepherd_lb_frozen: 'Is 1 while the panic guard keeps members of a pool from being dropped.',
  }),
  ...gauges('fleet', [...POOL, ['state', POOL_STATES]], {
    shepherd_lb_state: 'Is 1 for the state in which a pool at a balancer is.',
  }),
};
