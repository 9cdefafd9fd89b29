/**
 * Parts of the program that a daemon may run alone; every daemon has a session, assesses the guard, and
 * serves health and metrics.
 *
 * - `loops`: starts, recovers, provisions and gives back machines. Only such daemons are ranked.
 * - `agent-server`: where agents report to.
 * - `balancer`: tends the pools at load balancers.
 * - `stats`: counts the fleet for statistics.
 * - `console`: page, API and streams.
 * - `janitor`: removes what dead sessions left behind.
 */
export const DAEMON_ROLES = [
  'loops',
  'agent-server',
  'balancer',
  'stats',
  'console',
  'janitor',
] as const;
export type DaemonRole = (typeof DAEMON_ROLES)[number];
export type DaemonRoles = ReadonlySet<DaemonRole>;

export const ALL_ROLES: DaemonRoles = new Set(DAEMON_ROLES);

/** Whether it has to know every machine: what else it does rests on rows that it reads one by one. */
export const needsMirror = (roles: DaemonRoles): boolean =>
  roles.has('loops') || roles.has('balancer') || roles.has('console');

/** What its session is called; those named `shepherd` share the machines among themselves. */
export const componentOf = (roles: DaemonRoles): string =>
  roles.has('loops') ? 'shepherd' : 'srv';
