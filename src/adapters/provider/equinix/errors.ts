import {
  CapacityExhausted,
  Cancelled,
  Denied,
  type FleetError,
  Malformed,
  NotFound,
  OutcomeUnknown,
  RaceLost,
  RemoteFailure,
  Throttled,
  TimedOut,
  Unreachable,
} from '../../../domain/errors.ts';

/** What can go wrong with an operation at the Equinix API; a closed set. */
export type EquinixKind =
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

export interface EquinixErrorFields {
  readonly kind: EquinixKind;
  /** Name of the client's operation, such as `createDevice`. */
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
}

/** The one error of the client. Never holds a token, a request body or a reply's text. */
export class EquinixError extends Error implements EquinixErrorFields {
  readonly kind: EquinixKind;
  readonly op: string;
  declare readonly status?: number;
  readonly messages: readonly string[];
  readonly attempts: number;
  readonly elapsedMs: number;
  readonly ambiguous: boolean;
  declare readonly retryAt?: number;
  constructor(fields: EquinixErrorFields, options?: ErrorOptions) {
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
  }
  override get name() {
    return `EquinixError.${this.kind}`;
  }
}

export const isEquinixError = (error: unknown, ...kinds: EquinixKind[]): error is EquinixError =>
  error instanceof EquinixError && (kinds.length === 0 || kinds.includes(error.kind));
export const isNotFound = (error: unknown): boolean => isEquinixError(error, 'NotFound');

/** The same error, marked as possibly having taken effect. */
export const asAmbiguous = (error: EquinixError): EquinixError =>
  error.ambiguous
    ? error
    : new EquinixError({ ...fieldsOf(error), ambiguous: true }, causeOf(error));

const fieldsOf = (error: EquinixError): EquinixErrorFields => ({
  kind: error.kind,
  op: error.op,
  messages: error.messages,
  attempts: error.attempts,
  elapsedMs: error.elapsedMs,
  ambiguous: error.ambiguous,
  ...(error.status === undefined ? {} : { status: error.status }),
  ...(error.retryAt === undefined ? {} : { retryAt: error.retryAt }),
});
const causeOf = (error: Error): ErrorOptions => ({ cause: error.cause });

type Make = new (message: string, options?: ErrorOptions) => FleetError;
const CLASSES: Record<Exclude<EquinixKind, 'RateLimited'>, Make> = {
  NoReservationProvided: Malformed,
  InvalidArgument: Malformed,
  Protocol: Malformed,
  RaceLost,
  KeyLabelConflict: RemoteFailure,
  Rejected: RemoteFailure,
  Unauthorized: Denied,
  Forbidden: Denied,
  NotFound,
  Capacity: CapacityExhausted,
  Network: Unreachable,
  PartialListing: Unreachable,
  Deadline: TimedOut,
  Cancelled,
  OutcomeUnknown,
};

/**
 * The provider's door: turns a client error into one of the fleet's, and passes everything else.
 * Whatever may have taken effect is `OutcomeUnknown`, except our own abort, which stays `Cancelled`.
 */
export function toFleetError(error: unknown, doing: string): unknown {
  if (!(error instanceof EquinixError)) return error;
  const options = { cause: error };
  if (error.ambiguous && error.kind !== 'Cancelled') return new OutcomeUnknown(doing, options);
  if (error.kind === 'RateLimited') return new Throttled(doing, error.retryAt ?? 0, options);
  return new CLASSES[error.kind](doing, options);
}
