import type { Clock } from '../../adapters/clock/port.ts';

/** A request that is sent again within this time after its check is not checked again. */
const HOLDS_MS = 15_000;

/**
 * For `FleetCall.beforeSending`: checks with the first request of a call. One that is sent again later
 * is checked by `again`: meanwhile the machine may have come back, or nobody may want it any more.
 */
export function createSendCheck(
  clock: Pick<Clock, 'monotonic'>,
  check: () => Promise<void>,
  again: () => Promise<void> = check,
): () => Promise<void> {
  let checkedAtMs: number | null = null;
  return async () => {
    if (checkedAtMs !== null && clock.monotonic() - checkedAtMs <= HOLDS_MS) return;
    await (checkedAtMs === null ? check : again)();
    checkedAtMs = clock.monotonic();
  };
}
