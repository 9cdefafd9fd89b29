import { ProviderError, type ProviderErrorKind } from '../../domain/errors.ts';

/** What can go wrong with an operation at an API; a closed set. */
export type ApiErrorKind =
  | 'NoReservationProvided'
  | 'RaceLost'
  | 'InvalidArgument'
  | 'KeyLabelConflict'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'Rejected'
  | 'Capacity'
  | 'RateLimited'
  | 'Network'
  | 'Protocol'
  | 'Deadline'
  | 'Cancelled'
  | 'OutcomeUnknown'
  | 'PartialListing';

export interface ApiErrorFields {
  readonly kind: ApiErrorKind;
  /** Name of the operation, such as `createDevice`. */
  readonly op: string;
  readonly status?: number;
  /** What the server said, shortened and without secrets; or our own words. */
  readonly messages: readonly string[];
  /** HTTP attempts of the whole operation. */
  readonly attempts: number;
  readonly elapsedMs: number;
  /** A mutation was sent and may have taken effect. */
  readonly ambiguous: boolean;
  /** Epoch milliseconds; only with `RateLimited`. */
  readonly retryAt?: number;
  /** Everything that was seen, without what may be missing; only with `PartialListing`. */
  readonly items?: readonly unknown[];
}

/** The one error of an API. Never holds a token, a request body or a reply's text. */
export class ApiError extends Error implements ApiErrorFields {
  readonly kind: ApiErrorKind;
  readonly op: string;
  declare readonly status?: number;
  readonly messages: readonly string[];
  readonly attempts: number;
  readonly elapsedMs: number;
  readonly ambiguous: boolean;
  declare readonly retryAt?: number;
  declare readonly items?: readonly unknown[];
  constructor(fields: ApiErrorFields, options?: ErrorOptions) {
    const status = fields.status === undefined ? '' : ` (status ${fields.status})`;
    super(`${fields.op}: ${fields.messages.join('; ') || fields.kind}${status}`, options);
    this.kind = fields.kind;
    this.op = fields.op;
    this.messages = fields.messages;
    this.attempts = fields.attempts;
    this.elapsedMs = fields.elapsedMs;
    this.ambiguous = fields.ambiguous;
    if (fields.status !== undefined) this.status = fields.status;
    if (fields.retryAt !== undefined) this.retryAt = fields.retryAt;
    // Not enumerable: thousands of devices have no place in a log line.
    if (fields.items) Object.defineProperty(this, 'items', { value: fields.items });
  }
  override get name() {
    return `ApiError.${this.kind}`;
  }
}

export const isApiError = (error: unknown, ...kinds: ApiErrorKind[]): error is ApiError =>
  error instanceof ApiError && (kinds.length === 0 || kinds.includes(error.kind));
/** Whether the API said that there is no such thing. */
export const isNotFound = (error: unknown): boolean => isApiError(error, 'NotFound');

/** The same error, marked as possibly having taken effect. */
export const asAmbiguous = (error: ApiError): ApiError =>
  error.ambiguous ? error : new ApiError({ ...fieldsOf(error), ambiguous: true }, causeOf(error));

const fieldsOf = (error: ApiError): ApiErrorFields => ({
  kind: error.kind,
  op: error.op,
  messages: error.messages,
  attempts: error.attempts,
  elapsedMs: error.elapsedMs,
  ambiguous: error.ambiguous,
  ...(error.status === undefined ? {} : { status: error.status }),
  ...(error.retryAt === undefined ? {} : { retryAt: error.retryAt }),
  ...(error.items === undefined ? {} : { items: error.items }),
});
const causeOf = (error: Error): ErrorOptions => ({ cause: error.cause });

const KINDS: Readonly<Record<ApiErrorKind, ProviderErrorKind>> = {
  NoReservationProvided: 'invalid',
  InvalidArgument: 'invalid',
  Rejected: 'invalid',
  Protocol: 'permanent',
  RaceLost: 'race-lost',
  KeyLabelConflict: 'conflict',
  Unauthorized: 'auth',
  Forbidden: 'auth',
  NotFound: 'not-found',
  Capacity: 'transient',
  RateLimited: 'transient',
  Network: 'transient',
  PartialListing: 'transient',
  Deadline: 'transient',
  OutcomeUnknown: 'transient',
  Cancelled: 'aborted',
};

/** Turns an API's error into the port's, and passes everything else. */
export function toProviderError(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const isUnknown = error.ambiguous || error.kind === 'OutcomeUnknown';
  return new ProviderError(KINDS[error.kind], doing, {
    cause: error,
    outcome: isUnknown ? 'unknown' : 'not-done',
    ...(error.retryAt !== undefined && { rateLimit: { retryAt: new Date(error.retryAt) } }),
    ...(error.kind === 'Capacity' && { capacity: { scope: 'plan' as const } }),
  });
}
