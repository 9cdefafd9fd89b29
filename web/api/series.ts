import { queryOptions } from '@tanstack/react-query';
import type { SeriesAnswer } from '../../src/console/api/fleet-schema.ts';
import { addressOf, read } from './ask.ts';

export type Series = SeriesAnswer;

/** The last hour, as the daemon that answers saw it: a step more every ten seconds. */
export const series = queryOptions({
  queryKey: ['series'],
  queryFn: ({ signal }) => read<Series>(addressOf(['series']), signal),
  refetchInterval: 10_000,
  retry: false,
});
