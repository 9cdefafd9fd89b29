import { installState, isQuarantined, type Circumstances } from '../eligibility.ts';
import type { MachineRow } from '../machine.ts';
import { RUNG_OF } from '../recovery/ladder.ts';
import { RUNG_FACTS, type LadderMeans } from '../recovery/rungs.ts';
import { isOrder } from '../requests.ts';
import type { Verb } from '../verbs.ts';
import type { MachineVerb } from './verbs.ts';

/** Which verbs can be asked of a machine at all. */

/** What a provider can do, as far as verbs need it. */
export type ProviderMeans = LadderMeans & { readonly deprovision: boolean };

/**
 * Why the machine's provider can never do what the verb asks, for people; null: it can.
 * @param means null: the provider is not known here; another daemon may know it.
 */
export function providerRefusal(
  verb: Verb,
  provider: string,
  means: ProviderMeans | null,
): string | null {
  if (means === null) return null;
  if (verb === 'deprovision') {
    return means.deprovision ? null : `provider ${provider} cannot take machines back`;
  }
  if (!isOrder(verb)) return null;
  const { means: needed, words } = RUNG_FACTS[RUNG_OF[verb]];
  return needed === null || means[needed] ? null : `provider ${provider} cannot ${words.order}`;
}

/** Whether there is anything that the verb could change; without it the verb is not offered. */
export function hasObject(verb: MachineVerb, row: MachineRow | null, now: Circumstances): boolean {
  const isLater = (atMs: number | null | undefined): boolean => (atMs ?? 0) > now.nowMs;
  switch (verb) {
    case 'hold':
      return true;
    case 'unhold':
      return now.holds.some(({ untilMs }) => untilMs === null || isLater(untilMs));
    case 'withdraw':
      return (row?.order ?? null) !== null;
    case 'cancel-install':
      return row !== null && installState(row) === 'PENDING';
    case 'clear-backoff':
      return (
        row !== null &&
        (isLater(row.recovery?.nextAtMs) || row.backoffs.some(({ untilMs }) => isLater(untilMs)))
      );
    case 'release':
      return (
        row !== null &&
        (isQuarantined(row, now.nowMs) ||
          row.recovery !== null ||
          row.startAttempt !== null ||
          row.backoffs.length > 0)
      );
    default:
      return row !== null;
  }
}
