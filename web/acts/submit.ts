import { queryOptions } from '@tanstack/react-query';
import { addressOf, askFor, read, RequestRefusal } from '../api/ask.ts';
import type { Ask } from './command.ts';
import type {
  BatchAnswer,
  PreviewAnswer,
  RequestAnswer,
} from '../../src/console/api/submit/answers.ts';

/** A submitted request, or a submitted batch of requests. */
export type Submitted = RequestAnswer | BatchAnswer;

export interface SubmissionOptions {
  /** The idempotency key: a request with the same key is submitted once. */
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

async function post<Result>(
  ask: Ask,
  { key, etag, signal }: SubmissionOptions,
  dryRun: boolean,
): Promise<Result> {
  const told = await askFor<Result>(addressOf(['requests'], dryRun ? { dryRun } : {}), {
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

/** Previews the request. Nothing is submitted. @throws {RequestRefusal} */
export const preview = (ask: Ask, options: SubmissionOptions): Promise<PreviewAnswer> =>
  post(ask, options, true);

/** Polls a submitted request until it has ended or can no longer be read. */
export const followed = (submitted: Submitted) =>
  queryOptions<Submitted>({
    queryKey: ['submitted', submitted.key],
    queryFn: ({ signal }) =>
      read<Submitted>(
        addressOf(['state' in submitted ? 'requests' : 'batches', submitted.key]),
        signal,
      ),
    initialData: submitted,
    refetchInterval: ({ state: { data = submitted, error } }) =>
      isOpen(data) && !isFinal(error) && ('state' in submitted ? FOLLOW_MS : FOLLOW_MANY_MS),
    retry: false,
  });
const FOLLOW_MS = 2_000;
/** A batch is polled less often, because each answer lists hundreds of requests. */
const FOLLOW_MANY_MS = 10_000;
const TOO_MANY_REQUESTS = 429;
const isFinal = (error: Error | null): boolean =>
  error instanceof RequestRefusal &&
  error.problem.status < 500 &&
  error.problem.status !== TOO_MANY_REQUESTS;
const isOpen = (submitted: Submitted): boolean =>
  'state' in submitted ? submitted.state === 'open' : submitted.counts.open > 0;

/** Files the request. @throws {RequestRefusal} */
export const submit = (ask: Ask, options: SubmissionOptions): Promise<Submitted> =>
  post(ask, options, false);
