import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { OperationRef, SweepReport } from '../port.ts';
import type { Scrubber } from './scrubbing.ts';

/** What a driver may answer with must be what the port says, whatever its types promised. */
const refuse = (
  method: string,
  what: string,
  outcome: 'not-done' | 'unknown' = 'not-done',
): never => {
  throw new ProviderError('permanent', `the driver's ${method} answered with ${what}`, { outcome });
};

/** @throws {ProviderError} `permanent`: it is neither true nor false. */
export function requireFlag(answer: unknown, method: string): boolean {
  return typeof answer === 'boolean' ? answer : refuse(method, 'neither true nor false');
}

/** @throws {ProviderError} `permanent` with `outcome: 'unknown'`: nobody knows what was begun. */
export function requireRef(answer: unknown, method: string): OperationRef {
  const { operationRef, isGraceful } = (answer ?? {}) as Partial<OperationRef>;
  if (typeof operationRef === 'string') {
    return { operationRef, ...(isGraceful === true && { isGraceful }) };
  }
  return refuse(method, 'no operationRef', 'unknown');
}

/** @throws {ProviderError} `permanent` with `outcome: 'unknown'`: nobody knows what was removed. */
export function requireReport(answer: unknown): SweepReport {
  const removed = (answer as Partial<SweepReport> | null | undefined)?.removed;
  const isItem = (item: Partial<SweepReport['removed'][number]> | null) =>
    typeof item?.kind === 'string' && typeof item.id === 'string';
  if (Array.isArray(removed) && removed.every(isItem)) return { removed };
  return refuse('sweep', 'no report', 'unknown');
}

const NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,255}$/u;

/**
 * What a driver tells of itself without a call.
 * @throws {ProviderError} `permanent`: it failed, or told something that is no name.
 */
export function requireName(
  ask: () => unknown,
  method: string,
  { clean }: Pick<Scrubber, 'clean'>,
): string {
  const name = asked(ask, method, clean);
  return typeof name === 'string' && NAME.test(name) ? name : refuse(method, 'no name');
}

function asked(ask: () => unknown, method: string, clean: Scrubber['clean']): unknown {
  try {
    return ask();
  } catch (error) {
    const cause = clean(error);
    if (isProviderError(cause)) throw cause;
    throw new ProviderError('permanent', `${method} failed in the driver`, { cause });
  }
}
