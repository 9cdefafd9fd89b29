import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** From a quick query to an installation that takes an hour, seconds. */
const WORK_BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const CALL_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** An operation may be many calls of an API, with waits between them. */
const DRIVER_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 180, 600];
/** Installing calls of the vendor may hang for minutes. */
const EQUINIX_BUCKETS = [...CALL_BUCKETS, 30, 60, 120, 180];

/** Registers every metric of the BMDB client. Names are those of the original, kept for dashboards. */
export const bmdbFamilies = (registry: Registry) => ({
  sessionsStarted: new Counter({
    name: 'bmdb_session_started',
    help: 'Sessions opened by this process.',
    labelNames: ['processor'],
    registers: [registry],
  }),
  transactionsExecuted: new Counter({
    name: 'bmdb_transaction_executed',
    help: 'Transactions begun, first attempts only.',
    labelNames: ['processor'],
    registers: [registry],
  }),
  transactionsRetried: new Counter({
    name: 'bmdb_transaction_retried',
    help: 'Attempts of transactions after the first.',
    labelNames: ['processor'],
    registers: [registry],
  }),
  transactionsFailed: new Counter({
    name: 'bmdb_transaction_failed',
    help: 'Transactions given up, not counting those that ended with a refusal.',
    labelNames: ['processor'],
    registers: [registry],
  }),
  workStarted: new Counter({
    name: 'bmdb_work_started',
    help: 'Work items claimed.',
    labelNames: ['processor', 'process'],
    registers: [registry],
  }),
  workFinished: new Counter({
    name: 'bmdb_work_finished',
    help: 'Work items ended, counted after the commit.',
    labelNames: ['processor', 'process', 'result'],
    registers: [registry],
  }),
  claimConflicts: new Counter({
    name: 'shepherd_claim_conflicts_total',
    help: 'Claims of work that another session held already.',
    labelNames: ['process'],
    registers: [registry],
  }),
  workLost: new Counter({
    name: 'shepherd_work_lost_total',
    help: 'Work items whose session expired, or that somebody else had, before they were ended.',
    labelNames: ['process'],
    registers: [registry],
  }),
  sessionsExpired: new Counter({
    name: 'shepherd_session_expired_total',
    help: 'Sessions of this process that passed their deadline, which stops all their work.',
    labelNames: ['processor'],
    registers: [registry],
  }),
});

/** Registers every metric that speaks of machines and of what is done to them. */
export const fleetFamilies = (registry: Registry) => ({
  machines: new Gauge({
    name: 'shepherd_machines',
    help: 'Machines per state and substate as this daemon sees them; the silent and late ones are in state Running.',
    labelNames: ['provider', 'state', 'substate'],
    registers: [registry],
  }),
  transitions: new Counter({
    name: 'shepherd_machine_transitions_total',
    help: 'Changes of a machine from one state to another.',
    labelNames: ['provider', 'from', 'to'],
    registers: [registry],
  }),
  heartbeats: new Counter({
    name: 'shepherd_heartbeats_total',
    help: 'Heartbeat calls of agents by outcome.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  agentStartFailures: new Counter({
    name: 'shepherd_agent_start_failures_total',
    help: 'Agent starts that failed, by the step that failed.',
    labelNames: ['class'],
    registers: [registry],
  }),
  insecureConnections: new Counter({
    name: 'shepherd_ssh_insecure_connections_total',
    help: 'Connections to machines whose host key was not verified, as the policy has it.',
    labelNames: ['provider'],
    registers: [registry],
  }),
  reboots: new Counter({
    name: 'shepherd_reboots_total',
    help: 'Reboots asked of a provider.',
    labelNames: ['provider', 'outcome'],
    registers: [registry],
  }),
  adapterCalls: new Counter({
    name: 'shepherd_adapter_calls_total',
    help: 'Calls of adapters to outside systems, by error code or ok.',
    labelNames: ['adapter', 'op', 'code'],
    registers: [registry],
  }),
  actorCrashes: new Counter({
    name: 'shepherd_actor_crashes_total',
    help: 'Machine actors that crashed and were reported for a restart.',
    registers: [registry],
  }),
  stateMismatches: new Counter({
    name: 'shepherd_state_mismatch_total',
    help: 'Machines whose actor, at rest, showed another state than their rows.',
    registers: [registry],
  }),
  serviceCrashes: new Counter({
    name: 'shepherd_service_crashes_total',
    help: 'Services beside the machines that crashed and were rebuilt.',
    labelNames: ['service'],
    registers: [registry],
  }),
  needHuman: new Gauge({
    name: 'shepherd_machines_need_human',
    help: 'Machines that need a person: nothing is done about them until somebody decides, or they are silent or out of reach for too long.',
    labelNames: ['provider'],
    registers: [registry],
  }),
});

/** Registers what is counted of webhooks. */
export const webhookFamilies = (registry: Registry) => ({
  deliveries: new Counter({
    name: 'shepherd_webhook_deliveries_total',
    help: 'Attempts to deliver an event to a webhook, by outcome; dead: none follows.',
    labelNames: ['webhook', 'outcome'],
    registers: [registry],
  }),
  oldest: new Gauge({
    name: 'shepherd_webhook_oldest_seconds',
    help: 'Age of the event that waits longest for a webhook, where this daemon delivers to it.',
    labelNames: ['webhook'],
    registers: [registry],
  }),
});

/** Registers every metric of the fleet guard, its budget, and the ladder it holds back. */
export const guardFamilies = (registry: Registry) => ({
  state: new Gauge({
    name: 'shepherd_guard_state',
    help: 'Is 1 for the state in which the guard of a scope is.',
    labelNames: ['scope', 'state'],
    registers: [registry],
  }),
  frozen: new Gauge({
    name: 'shepherd_guard_frozen',
    help: 'Is 1 while recovery of a scope is frozen.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  frozenSeconds: new Counter({
    name: 'shepherd_guard_frozen_seconds_total',
    help: 'Time during which recovery of a scope was seen frozen.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  silent: new Gauge({
    name: 'shepherd_guard_silent_machines',
    help: 'Machines that are lost, or were lost and are not back for certain.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  started: new Gauge({
    name: 'shepherd_guard_started_machines',
    help: 'Machines that the guard watches, as their agent was started.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  permits: new Gauge({
    name: 'shepherd_guard_permits',
    help: 'Machines that recovery interrupts now, over all daemons.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  budget: new Gauge({
    name: 'shepherd_guard_budget',
    help: 'Machines that recovery may interrupt at once.',
    labelNames: ['scope'],
    registers: [registry],
  }),
  ladderAttempts: new Counter({
    name: 'shepherd_ladder_attempts_total',
    help: 'Steps of attempts to bring machines back, by rung of the ladder and outcome.',
    labelNames: ['provider', 'rung', 'outcome'],
    registers: [registry],
  }),
  escalations: new Counter({
    name: 'shepherd_escalations_total',
    help: 'Machines that went up the ladder of recovery, by the rung that they came to.',
    labelNames: ['provider', 'rung'],
    registers: [registry],
  }),
  reinstalls: new Counter({
    name: 'shepherd_reinstalls_total',
    help: 'Reinstallations asked of a provider.',
    labelNames: ['provider', 'outcome'],
    registers: [registry],
  }),
});

/** Registers every histogram of ours and the build's constant. */
export const timingFamilies = (registry: Registry) => ({
  work_duration_seconds: new Histogram({
    name: 'shepherd_work_duration_seconds',
    help: 'Time from the claim of a work item to its end.',
    labelNames: ['process', 'result'],
    buckets: WORK_BUCKETS,
    registers: [registry],
  }),
  work_queue_wait_seconds: new Histogram({
    name: 'shepherd_work_queue_wait_seconds',
    help: 'Time from a machine being eligible for a work item to its claim.',
    labelNames: ['process', 'result'],
    buckets: WORK_BUCKETS,
    registers: [registry],
  }),
  heartbeat_seconds: new Histogram({
    name: 'shepherd_heartbeat_seconds',
    help: 'Time to answer a heartbeat call of an agent.',
    labelNames: ['outcome'],
    buckets: CALL_BUCKETS,
    registers: [registry],
  }),
  buildInfo: new Gauge({
    name: 'shepherd_build_info',
    help: 'Always 1; the labels name the program and the schema of its database.',
    labelNames: ['version', 'commit', 'schema'],
    registers: [registry],
  }),
});

/** Registers every metric of the Equinix client. The first three are the original's. */
export const equinixFamilies = (registry: Registry) => ({
  equinixLatency: new Histogram({
    name: 'equinix_api_latency',
    help: 'Time of HTTP attempts against the Equinix API, in seconds.',
    labelNames: ['endpoint', 'status_code'],
    buckets: EQUINIX_BUCKETS,
    registers: [registry],
  }),
  equinixWaiting: new Gauge({
    name: 'equinix_api_waiting',
    help: 'Attempts against the Equinix API that wait for a slot.',
    registers: [registry],
  }),
  equinixInFlight: new Gauge({
    name: 'equinix_api_in_flight',
    help: 'Attempts against the Equinix API in progress.',
    registers: [registry],
  }),
  equinixRetries: new Counter({
    name: 'equinix_api_retries_total',
    help: 'Attempts against the Equinix API that repeat an earlier one, by what made them.',
    labelNames: ['endpoint', 'reason'],
    registers: [registry],
  }),
  equinixPaused: new Counter({
    name: 'equinix_api_paused_seconds_total',
    help: 'Time during which the whole Equinix client was kept from calling.',
    labelNames: ['reason'],
    registers: [registry],
  }),
  equinixCreates: new Counter({
    name: 'equinix_create_outcomes_total',
    help: 'Creations of devices, by how they ended.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  equinixReservations: new Gauge({
    name: 'equinix_reservations',
    help: 'Hardware reservations per class when they were last read.',
    labelNames: ['class'],
    registers: [registry],
  }),
  equinixWalks: new Counter({
    name: 'equinix_listing_walks_total',
    help: 'Walks through the pages of a listing, by whether the pages agreed with each other.',
    labelNames: ['list', 'consistent'],
    registers: [registry],
  }),
});

/** Registers every metric of the drivers of providers. */
export const driverFamilies = (registry: Registry) => ({
  operations: new Counter({
    name: 'driver_operations',
    help: 'Calls of the drivers of providers; error is 1 of those that failed.',
    labelNames: ['provider', 'operation', 'error'],
    registers: [registry],
  }),
  latency: new Histogram({
    name: 'shepherd_driver_operation_seconds',
    help: 'Time of calls of the drivers of providers, without their wait for a turn.',
    labelNames: ['provider', 'operation'],
    buckets: DRIVER_BUCKETS,
    registers: [registry],
  }),
  bmcUnresponsive: new Gauge({
    name: 'redfish_bmc_unresponsive',
    help: 'BMCs that take connections and have answered nothing for a quarter of an hour.',
    labelNames: ['provider'],
    registers: [registry],
  }),
});

/** Registers every metric of provisioning and of giving machines back. */
export const provisionerFamilies = (registry: Registry) => ({
  capacity: new Gauge({
    name: 'shepherd_provider_capacity',
    help: 'Machines and slots of a provider in the last iteration of its provisioner, by kind.',
    labelNames: ['provider', 'kind'],
    registers: [registry],
  }),
  discrepancies: new Gauge({
    name: 'shepherd_provider_discrepancies',
    help: 'Machines of which provider and BMDB say different things, by kind.',
    labelNames: ['provider', 'kind'],
    registers: [registry],
  }),
  circuitOpen: new Gauge({
    name: 'shepherd_provider_circuit_open',
    help: 'Is 1 while the listing of a provider is not believed, and nothing is created by it.',
    labelNames: ['provider'],
    registers: [registry],
  }),
  intentsOpen: new Gauge({
    name: 'shepherd_provision_intents_open',
    help: 'Creations that were begun and are not settled.',
    labelNames: ['provider'],
    registers: [registry],
  }),
  overLimit: new Gauge({
    name: 'shepherd_provision_over_limit',
    help: 'Managed machines beyond the limit of the provider; they are never given up for it.',
    labelNames: ['provider'],
    registers: [registry],
  }),
  outcomes: new Counter({
    name: 'shepherd_provision_outcomes_total',
    help: 'Creations of machines, by how they ended.',
    labelNames: ['provider', 'outcome'],
    registers: [registry],
  }),
  disappeared: new Counter({
    name: 'shepherd_instances_disappeared',
    help: 'Machines that their provider no longer knows, by the state they were in.',
    labelNames: ['state'],
    registers: [registry],
  }),
  stuck: new Counter({
    name: 'shepherd_deprovisions_stuck_total',
    help: 'Machines that did not go away after many requests to their provider.',
    labelNames: ['provider'],
    registers: [registry],
  }),
});
