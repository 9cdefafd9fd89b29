import { ProviderError } from '../../../domain/errors.ts';
import { isApiError, toProviderError } from '../../http/errors.ts';

/** The way of every method of the port. */
export interface Door {
  /**
   * Answers with what makes of whatever the client throws one of the port's errors, saying what was
   * being done; for `catch`.
   * @throws {ProviderError} `stopped`.
   */
  enter(doing: string): (error: unknown) => never;
  /** Later calls reject with `stopped`. */
  close(): void;
}

export function createDoor(): Door {
  let closed = false;
  return {
    enter(doing) {
      if (closed) throw new ProviderError('stopped', `${doing}: the provider was stopped`);
      return (error) => {
        throw isQuota(error)
          ? new ProviderError('transient', doing, { cause: error, quota: true })
          : toProviderError(error, doing);
      };
    },
    close: () => void (closed = true),
  };
}

/**
 * The server said that the account may not have more. Nothing documents how it says so; a reservation
 * is not to be blamed for it.
 */
const isQuota = (error: unknown): boolean =>
  isApiError(error, 'Rejected', 'Forbidden') &&
  error.op === 'createDevice' &&
  !error.ambiguous &&
  error.messages.some((text) => QUOTA.test(text));
const QUOTA = new RegExp(
  [
    /\bquota\b/,
    /\b(device|instance|server|project|account)s? limit\b/,
    /maximum number of (\w+ )?(device|instance|server|machine)s?\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);
