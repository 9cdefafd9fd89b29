import { z } from 'zod';
import { ProviderError, type ProviderErrorKind } from '../../../../domain/errors.ts';
import { lookup } from '../../../../lib/data.ts';
import { ApiError, toProviderError } from '../../../http/errors.ts';
import type { AnswerForm, Refusal, StayAway } from '../../../http/outcome.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Where an answer says no time. */
const MAINTENANCE_MS = 5 * MINUTE_MS;
const MANUAL_RESET_MS = 30 * MINUTE_MS;

/** How Robot says no. Which of the two names of the limit comes depends on whom one believes. */
const errorBody = z.object({
  error: z.object({
    code: z.string(),
    message: z.string().default(''),
    missing: z.array(z.string()).nullish(),
    invalid: z.array(z.string()).nullish(),
    max_request: z.number().nullish(),
    max_requests: z.number().nullish(),
    interval: z.number().nullish(),
  }),
});

/** The code comes first, then the words, then the names of fields at fault, never what they hold. */
function errorsIn(json: unknown): readonly string[] | null {
  const read = errorBody.safeParse(json);
  if (!read.success) return null;
  const { code, message, missing, invalid } = read.data.error;
  const fields = [...(missing ?? []), ...(invalid ?? [])];
  return [code, message, ...fields.map((field) => `field ${field}`)].filter((text) => text !== '');
}

/**
 * 403 is a rate limit if it says so, and also if nobody can read it. It grows with each one in a row, up
 * to the interval that the limit counts in.
 */
function staysAway({ status, json, waitAskedMs, inARow, mutates }: Refusal): StayAway | undefined {
  if (status === 503) {
    return { waitMs: waitAskedMs || MAINTENANCE_MS, ambiguous: mutates };
  }
  if (status !== 403) return undefined;
  const { data } = errorBody.safeParse(json);
  if (data && data.error.code !== 'RATE_LIMIT_EXCEEDED') return undefined;
  const { interval, max_request: one, max_requests: other } = data?.error ?? {};
  const intervalMs = interval && interval > 0 ? interval * 1000 : HOUR_MS;
  const max = other ?? one ?? 0;
  const shareMs = max > 0 ? (2 * intervalMs) / max : 0;
  const firstMs = Math.max(MINUTE_MS, shareMs);
  return {
    waitMs: Math.min(firstMs * 2 ** Math.min(inARow - 1, 12), Math.max(MINUTE_MS, intervalMs)),
  };
}

export const ANSWERS: AnswerForm = {
  errorsIn,
  // A 403 without a body is a rate limit here, and tells nothing of what there is.
  tellsAbsence: new Set([404, 410]),
  staysAway,
  kindOf: ({ messages }) => (BLOCKED.has(messages[0] ?? '') ? 'Rejected' : undefined),
};

/** Something is armed already, whatever status it is said with. */
const BLOCKED: ReadonlySet<string> = new Set(['BOOT_ALREADY_ENABLED', 'BOOT_BLOCKED']);

const KINDS: Readonly<Record<string, ProviderErrorKind>> = {
  SERVER_NOT_FOUND: 'not-found',
  NOT_FOUND: 'not-found',
  RESET_NOT_AVAILABLE: 'not-implemented',
  BOOT_NOT_AVAILABLE: 'not-implemented',
  WOL_NOT_AVAILABLE: 'not-implemented',
  INVALID_INPUT: 'invalid',
  RESET_MANUAL_ACTIVE: 'transient',
  BOOT_ALREADY_ENABLED: 'conflict',
  BOOT_BLOCKED: 'conflict',
  KEY_ALREADY_EXISTS: 'conflict',
};

/** What an error of the API is to the port. */
export function toRobotError(error: unknown, doing: string, nowMs: number): unknown {
  if (!(error instanceof ApiError) || error.ambiguous) return toProviderError(error, doing);
  const [code = ''] = error.messages;
  const isCertain = error.kind === 'Rejected' || error.kind === 'NotFound';
  const told = isCertain ? lookup(KINDS, code) : undefined;
  const kind = told === 'invalid' && isAboutType(error) ? 'not-implemented' : told;
  if (kind === undefined) {
    const isConflict = error.kind === 'Rejected' && error.status === 409;
    if (!isConflict) return toProviderError(error, doing);
    return new ProviderError('conflict', doing, { cause: error });
  }
  const isManual = code === 'RESET_MANUAL_ACTIVE';
  return new ProviderError(kind, doing, {
    cause: error,
    ...(isManual && { rateLimit: { retryAt: new Date(nowMs + MANUAL_RESET_MS) } }),
  });
}

/** The server has no reset of that type. */
const isAboutType = ({ messages }: ApiError): boolean => messages.includes('field type');

/** Whether Robot said so with this code. */
export function saysCode(error: unknown, ...codes: readonly string[]): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApiError) return codes.includes(at.messages[0] ?? '');
  }
  return false;
}
