/**
 * Whose each gauge is. `fleet`: every daemon that knows it exports the same, so it is taken once.
 * `daemon`: each has its part, so parts are added. `each`: it is told of one daemon, and no sum of it
 * means anything.
 */
export type GaugeScope = 'fleet' | 'daemon' | 'each';

const names = (prefix: string, ...rest: readonly string[]) => rest.map((each) => prefix + each);
const CONDITIONS = ['', '_provided', '_heartbeating', '_installed', '_installation_failed'];
const PENDING = ['_installation', '_agent_start', '_agent_recovery'];
const COUNTED = [
  ...[...CONDITIONS, ...PENDING.map((each) => `_pending${each}`)].map((each) => `machines${each}`),
  'active_work',
  'active_backoffs',
];

const FLEET = [
  ...names('bmdb_stats_', ...COUNTED, ...COUNTED.map((each) => `${each}_by_provider`)),
  ...names('bmdb_stats_', 'last_success_timestamp_seconds'),
  ...names('bmdb_hwstats_', 'nodes', 'ram_bytes', 'cpu_threads'),
  ...names('bmdb_hwstats_region_', 'nodes', 'ram_bytes', 'cpu_threads'),
  ...names('shepherd_machines', '', '_need_human', '_overdue'),
  'shepherd_webhook_oldest_seconds',
  ...names('shepherd_guard_', 'state', 'frozen', 'permits', 'budget'),
  ...names('shepherd_guard_', 'silent_machines', 'started_machines'),
  ...names('shepherd_provider_', 'capacity', 'circuit_open', 'discrepancies'),
  ...names('shepherd_provision_', 'intents_open', 'intent_oldest_seconds', 'over_limit'),
  ...names('shepherd_lb_', 'members', 'state', 'frozen', 'last_settled_timestamp_seconds'),
  ...names('shepherd_lb_', 'reconcile_resources_pending'),
  'shepherd_installations_failed',
  'equinix_reservations',
  'redfish_bmc_unresponsive',
];

const DAEMON = [
  ...names('equinix_api_', 'waiting', 'in_flight'),
  ...names('shepherd_', 'loop_workers', 'streams', 'lb_http_client_requests_in_flight'),
];

const EACH = [
  ...names(
    'shepherd_',
    'build_info',
    'ready',
    'role',
    'listing_age_seconds',
    'events_waiting_seconds',
  ),
  ...names('shepherd_', 'session_deadline_remaining_seconds'),
  ...names('shepherd_', 'loop_last_success_timestamp_seconds'),
  ...names('shepherd_', 'janitor_last_success_timestamp_seconds'),
  'tls_certificate_not_after_seconds',
];

const all = (scope: GaugeScope, of: readonly string[]) =>
  of.map((name): readonly [string, GaugeScope] => [name, scope]);

export const GAUGE_SCOPES: ReadonlyMap<string, GaugeScope> = new Map([
  ...all('fleet', FLEET),
  ...all('daemon', DAEMON),
  ...all('each', EACH),
]);
