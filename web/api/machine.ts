import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { HistorySchema } from '../../src/console/api/insight.ts';
import type { VerbsSchema } from '../../src/console/api/filing/requests.ts';
import type { HardwareSchema, LadderSchema } from '../../src/console/api/machine-parts.ts';
import { untilLook } from '../live/clock.ts';
import { partsOf } from '../parts/machine-link.tsx';
import { addressOf, read } from './ask.ts';

type Name = readonly [provider: string, slot: string];
type History = z.output<typeof HistorySchema>;
export type Hardware = z.output<typeof HardwareSchema>;
type Verbs = z.output<typeof VerbsSchema>;
export type LadderStanding = z.output<typeof LadderSchema>;

const PAGE = 50;

/** What happened to a slot and the machines on it, newest first, page after page. */
export const history = (slot: Name) =>
  infiniteQueryOptions({
    queryKey: ['history', ...slot],
    queryFn: ({ pageParam: next, signal }) =>
      read<History>(addressOf(['machines', ...slot, 'history'], { limit: PAGE, next }), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 5_000,
    retry: false,
  });

/** What its agent found in it. `machineId`: another machine on the slot is asked about anew. */
export const hardware = (slot: Name, machineId: string | null) =>
  queryOptions({
    queryKey: ['hardware', ...slot, machineId],
    queryFn: ({ signal }) => read<Hardware>(addressOf(['machines', ...slot, 'hardware']), signal),
    refetchInterval: 60_000,
    retry: false,
  });

/** What can be asked of the one machine, and why not; of several nothing is told. */
export const offersOf = (slots: readonly string[]) => {
  const [one = ''] = slots.length === 1 ? slots : [];
  const { provider, slot } = partsOf(one);
  return queryOptions({
    queryKey: ['verbs', provider, slot],
    queryFn: async ({ signal }) =>
      (await read<Verbs>(addressOf(['machines', provider, slot, 'verbs']), signal)).verbs,
    enabled: one !== '',
    refetchInterval: 10_000,
    retry: false,
  });
};

/** How far its recovery went, and how far it may go. */
export const ladder = (slot: Name) =>
  queryOptions({
    queryKey: ['ladder', ...slot],
    queryFn: ({ signal }) =>
      read<LadderStanding>(addressOf(['machines', ...slot, 'ladder']), signal),
    refetchInterval: ({ state: { data } }) =>
      untilLook(5_000, data && [data.patienceEndsAtMs, data.coolsUntilMs]),
    retry: false,
  });
