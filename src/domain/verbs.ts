/** Things that operators ask for and that are work: a claim, an attempt, a permit if it interrupts. */
export const ORDER_VERBS = ['restart-agent', 'reboot', 'reinstall'] as const;
export type OrderVerb = (typeof ORDER_VERBS)[number];
/** Things that operators ask for and that a daemon does by writing rows. */
export const DECISION_VERBS = [
  'hold',
  'unhold',
  'quarantine',
  'release',
  'deprovision',
  'install',
  'cancel-install',
  'clear-backoff',
  'withdraw',
] as const;
export type DecisionVerb = (typeof DECISION_VERBS)[number];
/** Things that operators ask of the guard, for the fleet or a provider. */
export const GUARD_VERBS = ['freeze', 'thaw'] as const;
export type GuardVerb = (typeof GUARD_VERBS)[number];
/** Things that operators ask of a pool, at one balancer or all. */
export const POOL_VERBS = ['pause-pool', 'resume-pool', 'thaw-pool', 'teardown-pool'] as const;
export type PoolVerb = (typeof POOL_VERBS)[number];
/** Things that operators ask of what keeps a provider from being asked. */
export const PROVIDER_VERBS = ['clear-provider'] as const;
export type ProviderVerb = (typeof PROVIDER_VERBS)[number];
export type Verb = OrderVerb | DecisionVerb | GuardVerb | PoolVerb | ProviderVerb;
