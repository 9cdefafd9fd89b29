import { codeOf, isProviderError, type ProviderErrorKind } from '../domain/errors.ts';
import { StepFailed } from './verdict.ts';

/** Has the form of many drivers' ids, and names nothing. */
export const UNKNOWN_ID = '00000000-0000-4000-8000-00000000dead';

/** @throws {StepFailed} it resolved, or rejected with something else. */
export async function mustReject(
  what: string,
  kinds: readonly ProviderErrorKind[],
  call: () => Promise<unknown>,
): Promise<void> {
  const wanted = kinds.join(' or ');
  try {
    await call();
  } catch (error) {
    if (isProviderError(error, ...kinds)) return;
    throw new StepFailed(`${what}: ${codeOf(error)} instead of ${wanted}`, { cause: error });
  }
  throw new StepFailed(`${what}: succeeded instead of ${wanted}`);
}
