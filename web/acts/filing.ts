import { queryOptions } from '@tanstack/react-query';
import { addressOf, askFor, read, Refusal } from '../api/ask.ts';
import type {
  BatchAnswer,
  PreviewAnswer,
  RequestAnswer,
} from '../../src/console/api/filing/answers.ts';

/** What was filed: one request, or several as a batch. */
export type Filed = RequestAnswer | BatchAnswer;

/** What is asked, as the API takes it. */
export interface Ask {
  readonly verb: string;
  readonly reason: string;
  readonly slots?: readonly string[];
  readonly expectCount?: number;
  readonly [detail: string]: unknown;
}

export interface FilingOptions {
  /** The same key asks for the same thing once, however often it is sent. */
  readonly key: string;
  /** Of the one machine as it was seen. */
  readonly etag?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A new key. The page may be served without TLS, where browsers make no UUIDs. */
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

/** What would become of it; nothing is filed. @throws {Refusal} */
export const preview = (ask: Ask, options: FilingOptions): Promise<PreviewAnswer> =>
  post(ask, options, true);

/** How it stands by now, looked at until it is settled, or may not be seen any more. */
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
/** Of a batch hundreds of requests are told each time. */
const FOLLOW_MANY_MS = 10_000;
const TOO_MANY_REQUESTS = 429;
const isFinal = (error: Error | null): boolean =>
  error instanceof Refusal &&
  error.problem.status < 500 &&
  error.problem.status !== TOO_MANY_REQUESTS;
const isOpen = (filed: Filed): boolean =>
  'state' in filed ? filed.state === 'open' : filed.counts.open > 0;

/** Files it. @throws {Refusal} */
export const file = (ask: Ask, options: FilingOptions): Promise<Filed> => post(ask, options, false);
