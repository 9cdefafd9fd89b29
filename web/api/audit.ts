import { infiniteQueryOptions } from '@tanstack/react-query';
import type { RequestAnswer } from '../../src/console/api/filing/answers.ts';
import { addressOf, read, type Query } from './ask.ts';

export type Asked = RequestAnswer;

interface AskedPage {
  readonly requests: readonly Asked[];
  readonly next: string | null;
}

/** What people asked for, newest first, page after page. `isFollowed`: looked for again and again. */
export const requests = (filter: Query, isFollowed: boolean) =>
  infiniteQueryOptions({
    queryKey: ['requests', filter],
    queryFn: ({ pageParam: after, signal }) =>
      read<AskedPage>(addressOf(['requests'], { ...filter, after, limit: 100 }), signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: isFollowed ? 2_000 : false,
    retry: false,
  });
