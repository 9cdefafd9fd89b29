import { queryOptions } from '@tanstack/react-query';
import type { PlanAnswer } from '../../src/console/api/plan-schema.ts';
import { addressOf, read } from './ask.ts';

export type FleetPlan = PlanAnswer;
export type ProviderPlan = FleetPlan['providers'][number];
export type WorkPlan = FleetPlan['work'][number];
export type PoolPlan = FleetPlan['pools'][number];

/** What would be done next, and why. */
export const plan = queryOptions({
  queryKey: ['plan'],
  queryFn: ({ signal }) => read<FleetPlan>(addressOf(['plan']), signal),
  refetchInterval: 5_000,
  retry: false,
});
