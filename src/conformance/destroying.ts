import { isProviderError } from '../domain/errors.ts';
import { callOf, type Stage } from './stage.ts';
import { type Pending, pending, until } from './waiting.ts';

export interface Bound {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Its end was asked for just now. */
  readonly asked?: boolean;
}

const REISSUE_FIRST_MS = 10_000;
const REISSUE_LONGEST_MS = 10 * 60_000;

/**
 * Asks for the end of a machine, and again with growing gaps, until a complete listing does not
 * have it and it is not found by itself either. Answers how often it asked.
 * @throws {StepFailed} it is still there after `timeoutMs`.
 */
export async function destroyUntilGone(stage: Stage, id: string, bound: Bound): Promise<number> {
  const { clock, patience } = stage;
  const { fleet } = stage.opened();
  let calls = 0;
  let nextAt = bound.asked ? clock.monotonic() + REISSUE_FIRST_MS : -Infinity;
  let gapMs = REISSUE_FIRST_MS;
  return until(
    `machine ${id} ends`,
    stage.wait({ ...bound, intervalMs: patience.syncMs }),
    async (): Promise<number | Pending> => {
      if (clock.monotonic() >= nextAt) {
        await fleet.deprovisionMachine(id, callOf(bound.signal));
        calls += 1;
        nextAt = clock.monotonic() + gapMs;
        gapMs = Math.min(gapMs * 2, REISSUE_LONGEST_MS);
      }
      const still = await presenceOf(stage, id, bound.signal);
      if (still !== null) return pending(still);
      stage.found.goneIds.add(id);
      return calls;
    },
  );
}

/** Where a machine still shows; null: nowhere. */
export async function presenceOf(
  stage: Stage,
  id: string,
  signal: AbortSignal,
): Promise<string | null> {
  const { fleet } = stage.opened();
  const { machines, complete, unreadable = [] } = await fleet.listMachines(callOf(signal));
  if (machines.some((machine) => machine.id === id)) return 'it is still listed';
  if (unreadable.some((entry) => entry.id === id)) return 'it is still listed, and unreadable';
  if (!complete) return 'the listing is not complete';
  try {
    await fleet.getMachine(id, callOf(signal));
    return 'it is no longer listed, and still found by its id';
  } catch (error) {
    if (isProviderError(error, 'not-found')) return null;
    throw error;
  }
}
