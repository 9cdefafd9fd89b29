import { queryOptions } from '@tanstack/react-query';
import { addressOf, askFor, read, Refusal } from '../api/ask.ts';
import type { Ask } from './command.ts';
import type {
  BatchAnswer,
  PreviewAnswer,
  RequestAnswer,
} from '../../src/console/api/filing/answers.ts';

/** A filed request, or a filed batch of requests. */
export type Filed = RequestAnswer | BatchAnswer;

export interface FilingOptions {
  /** The idempotency key: a request with the same key is filed once. */
  readonly key: string;
  /** ETag of the one machine as it was seen. */
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal;
}

/** Makes a new key. Browsers make no UUIDs on pages without TLS. */
export function makeKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

async function post<Answer>(
  ask: Ask,
  { key, etag, signal }: FilingOptions,
  dryRun: boolean,
): Promise<Answer> {
  const told = await askFor<Answer>(addressOf(['requests'], dryRun ? { dryRun } : {}), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'idempotency-key': key,
      ...(etag !== undefined && { 'if-match': etag }),
    },
    body: JSON.stringify(ask),
    ...(signal && { signal }),
  });
  return told.answer;
}

/** Previews the request. Nothing is filed. @throws {Refusal} */
export const preview = (ask: Ask, options: FilingOptions): Promise<PreviewAnswer> =>
  post(ask, options, true);

/** Polls a filed request until it is settled or can no longer be read. */
export const followed = (filed: Filed) =>
  queryOptions<Filed>({
    queryKey: ['filed', filed.key],
    queryFn: ({ signal }) =>
      read<Filed>(addressOf(['state' in filed ? 'requests' : 'batches', filed.key]), signal),
    initialData: filed,
    refetchInterval: ({ state: { data = filed, error } }) =>
      isOpen(data) && !isFinal(error) && ('state' in filed ? FOLLOW_MS : FOLLOW_MANY_MS),
    retry: false,
  });
const FOLLOW_MS = 2_000;
/** A batch is polled less often, because each answer lists hundreds of requests. */
const FOLLOW_MANY_MS = 10_000;
const TOO_MANY_REQUESTS = 429;
const isFinal = (error: Error | null): boolean =>
  error instanceof Refusal &&
  error.problem.status < 500 &&
  error.problem.status !== TOO_MANY_REQUESTS;
const isOpen = (filed: Filed): boolean =>
  'state' in filed ? filed.state === 'open' : filed.counts.open > 0;

/** Files the request. @throws {Refusal} */
export const file = (ask: Ask, options: FilingOptions): Promise<Filed> => post(ask, options, false);
