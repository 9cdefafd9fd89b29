/**
 * What the daemon that tends a pool at a balancer is doing there: the states of its statechart, as they
 * are written down, counted and shown.
 */
export const POOL_STATES = [
  'retrieving',
  'checking',
  'recovering',
  'destroying',
  'creating',
  'waiting',
  'settled',
  'failed',
  'paused',
  'stopped',
] as const;
export type PoolState = (typeof POOL_STATES)[number];
