import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { untilLook } from '../live/clock.ts';
import { addressOf, read } from './ask.ts';
import type {
  About,
  Caller,
  Explanation,
  MachineRow,
  PoolSummary,
  Provider,
  ProviderInFull,
  Slot,
} from './types.ts';

/** Resources of the API that are asked for, beside what the stream tells. */
export const about = queryOptions({
  queryKey: ['fleet'],
  queryFn: ({ signal }) => read<About>(addressOf(['fleet']), signal),
  staleTime: 60_000,
});

export const whoami = queryOptions({
  queryKey: ['whoami'],
  queryFn: ({ signal }) => read<Caller>(addressOf(['whoami']), signal),
  staleTime: 60_000,
});

/** Resources that no stream tells: asked for again and again, so that a failure is told at once. */
const LIVELY = { refetchInterval: 3_000, retry: false } as const;

export const pools = queryOptions({
  queryKey: ['pools'],
  queryFn: async ({ signal }) =>
    (await read<{ pools: readonly PoolSummary[] }>(addressOf(['pools']), signal)).pools,
  ...LIVELY,
});

export const providers = queryOptions({
  queryKey: ['providers'],
  queryFn: async ({ signal }) =>
    (await read<{ providers: readonly Provider[] }>(addressOf(['providers']), signal)).providers,
  ...LIVELY,
});

export const provider = (name: string) =>
  queryOptions({
    queryKey: ['providers', name],
    queryFn: ({ signal }) => read<ProviderInFull>(addressOf(['providers', name]), signal),
    ...LIVELY,
  });

interface SlotsPage {
  readonly total: number;
  readonly slots: readonly Slot[];
  readonly next: string | null;
}
/** Slots of a provider, page after page. */
export const slotsOf = (name: string, limit: number) =>
  infiniteQueryOptions({
    queryKey: ['providers', name, 'slots'],
    queryFn: ({ pageParam: next, signal }) =>
      read<SlotsPage>(addressOf(['providers', name, 'slots'], { limit, next }), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    ...LIVELY,
    refetchInterval: 15_000,
  });

interface Resolved {
  readonly machines: readonly {
    readonly slot: string;
    readonly by: 'slot' | 'machine' | 'device' | 'address';
  }[];
}
/** Machines that a person may mean by this name. */
export const resolved = (name: string) =>
  queryOptions({
    queryKey: ['resolve', name],
    enabled: name.length > 2,
    queryFn: async ({ signal }) =>
      (await read<Resolved>(addressOf(['resolve'], { name }), signal)).machines,
  });

/** Which wait for a person, the longest first. `count` of the frame: asked again when it is another. */
export const needHuman = (count: number, limit: number) =>
  queryOptions({
    queryKey: ['need-human', count],
    enabled: count > 0,
    queryFn: async ({ signal }) => {
      const query = { filter: 'needs-human', sort: 'since', offset: 0, limit };
      const address = addressOf(['machines'], query);
      return (await read<{ machines: readonly MachineRow[] }>(address, signal)).machines;
    },
  });

/** Why a machine is where it is. */
export const explanation = (slot: readonly [string, string]) =>
  queryOptions({
    queryKey: ['explanation', ...slot],
    queryFn: ({ signal }) =>
      read<Explanation>(addressOf(['machines', ...slot, 'explanation']), signal),
    refetchInterval: ({ state: { data } }) =>
      untilLook(10_000, data && [data.next, ...data.blockedBy].map(endOf)),
  });

const endOf = (each: Explanation['next'] | Explanation['blockedBy'][number]): number | null =>
  'atMs' in each ? each.atMs : each.endsAtMs;
