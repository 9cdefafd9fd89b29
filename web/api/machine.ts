import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { AcceptanceSchema } from '../../src/console/api/conditions.ts';
import type { HistorySchema } from '../../src/console/api/insight.ts';
import type { VerbsSchema } from '../../src/console/api/submit/requests.ts';
import type { HardwareSchema, LadderSchema } from '../../src/console/api/machine.ts';
import { untilLook } from '../live/clock.ts';
import { partsOf } from '../parts/machine-link.tsx';
import { addressOf, read } from './ask.ts';

type Name = readonly [provider: string, slot: string];
type History = z.output<typeof HistorySchema>;
export type Acceptance = z.output<typeof AcceptanceSchema>;
export type Hardware = z.output<typeof HardwareSchema>;
type Verbs = z.output<typeof VerbsSchema>;
export type LadderStatus = z.output<typeof LadderSchema>;

const PAGE = 50;

/** The history of a slot and of the machines on it, in pages, newest first. */
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

/** The hardware report of the agent. The key contains `machineId`, so a new machine on the slot is read anew. */
export const hardware = (slot: Name, machineId: string | null) =>
  queryOptions({
    queryKey: ['hardware', ...slot, machineId],
    queryFn: ({ signal }) => read<Hardware>(addressOf(['machines', ...slot, 'hardware']), signal),
    refetchInterval: 60_000,
    retry: false,
  });

/** The checks of the acceptance. The key contains its state, so that a result is read at once. */
export const acceptance = (slot: Name, state: string) =>
  queryOptions({
    queryKey: ['acceptance', ...slot, state],
    queryFn: ({ signal }) =>
      read<Acceptance>(addressOf(['machines', ...slot, 'acceptance']), signal),
    refetchInterval: 60_000,
    retry: false,
  });

/** The verbs that one machine allows, and why it refuses others. For several machines there is no answer. */
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

/** The ladder of recovery: the current rung, and the rungs that are allowed. */
export const ladder = (slot: Name) =>
  queryOptions({
    queryKey: ['ladder', ...slot],
    queryFn: ({ signal }) => read<LadderStatus>(addressOf(['machines', ...slot, 'ladder']), signal),
    refetchInterval: ({ state: { data } }) =>
      untilLook(5_000, data && [data.patienceEndsAtMs, data.coolsUntilMs]),
    retry: false,
  });
