import { queryOptions } from '@tanstack/react-query';
import type { GuardAnswer } from '../../src/console/api/fleet-schema.ts';
import { addressOf, read } from './ask.ts';

export type GuardInFull = GuardAnswer;
export type GuardScopeInFull = GuardInFull['scopes'][number];
export type RuleStanding = GuardScopeInFull['rules'][number];

/** How the guard stands, in full: the stream tells only the states. */
export const guardInFull = queryOptions({
  queryKey: ['guard'],
  queryFn: ({ signal }) => read<GuardInFull>(addressOf(['guard']), signal),
  refetchInterval: 3_000,
  retry: false,
});
