import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { LoopSchema, SessionSchema } from '../../src/console/api/daemons.ts';
import { addressOf, read } from './ask.ts';

export type SessionLine = z.output<typeof SessionSchema>;
export type LoopLine = z.output<typeof LoopSchema>;

export const sessions = queryOptions({
  queryKey: ['sessions'],
  queryFn: ({ signal }) =>
    read<{ sessions: readonly SessionLine[] }>(addressOf(['sessions']), signal),
  refetchInterval: 5_000,
});

/** Of the daemon that answers. */
export const loops = queryOptions({
  queryKey: ['loops'],
  queryFn: ({ signal }) => read<{ loops: readonly LoopLine[] }>(addressOf(['loops']), signal),
  refetchInterval: 5_000,
});
