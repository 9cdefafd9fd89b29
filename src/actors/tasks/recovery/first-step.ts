import { codeOf, explain, NoPermit, ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-facets.ts';
import { interrupts, isStanding } from '../../../domain/recovery/rungs.ts';
import type { RecoverDeps, Recovering } from './deps.ts';

/** Codes of failures that are the provider's, the database's or our own, not the machine's. */
const OUTAGES = new Set([
  ...['transient', 'aborted', 'stopped', 'auth', 'throttled'],
  ...['unreachable', 'timed-out', 'ambiguous-commit', 'retry-exhausted', 'work-lost'],
]);

/** Whether a failure says nothing of the machine; any other counts as an attempt on it. */
export const isOutage = (error: unknown): boolean => OUTAGES.has(codeOf(error)) || refusesUs(error);

/** Whether the provider refuses us, whatever machine is meant. */
function refusesUs(error: unknown): boolean {
  const { quota, capacity, retryAtMs } = facetsOf(error);
  return codeOf(error) === 'auth' || quota || capacity !== null || retryAtMs !== null;
}

type Act<Given, Output> = (given: Given, signal: AbortSignal) => Promise<Output>;

/**
 * A step before anything was asked for, or that asks. When it fails before it asked, the attempt is
 * marked for the one who gives it up: it counts unless it says nothing of the machine.
 */
export const beforeAsked =
  <Given extends Recovering, Output>(
    deps: RecoverDeps,
    act: Act<Given, Output>,
  ): Act<Given, Output> =>
  async (given, signal) => {
    try {
      return await act(given, signal);
    } catch (error) {
      throw failed(deps, given, inTime(error, signal));
    }
  };

function failed(
  { log, permits }: RecoverDeps,
  { slot, provided, attempt }: Recovering,
  error: unknown,
): unknown {
  const { step, asked } = attempt;
  if (error instanceof NoPermit) permits.missed(slot, interrupts(step.rung));
  if (refusesUs(error)) {
    const fields = { provider: provided.provider, slot, cause: explain(error) };
    log.error(fields, 'the provider refuses us');
  }
  if (!asked && !step.resumed) {
    const counts = isStanding(step.rung) && !isOutage(error);
    attempt.unasked = { countsOn: counts ? step.rung : null };
  }
  return error;
}

/** A call that its own time limit ended before it was made; it may be made later. */
function inTime(error: unknown, { aborted }: AbortSignal): unknown {
  const isLate = codeOf(error) === 'aborted' && facetsOf(error).outcome === 'not-done';
  if (aborted || !isLate) return error;
  return new ProviderError('transient', 'the provider was not asked in time', { cause: error });
}
