import { ABANDON_MS } from '../policy.ts';
import { RUNGS, type Rung } from '../recovery/rungs.ts';
import type { At } from './places.ts';
import type { ExplanationFacts, ExplanationMoment, Usual } from './types.ts';

/** With fewer samples nobody knows what is usual. */
export const SAMPLES_MIN = 20;
/** Agent start: the sum of its steps' own limits, and a look-up. */
const AGENT_START_MS = 3 * 60_000;
/** Installing by the provider, and deleting: what a slow vendor still needs. */
const PROVIDER_MS = 30 * 60_000;

/** Where a machine is, and what tells how long it may be there. */
export interface Timed extends Pick<At, 'state' | 'substate'> {
  readonly ladder: Pick<ExplanationFacts['ladder'], 'policy'>;
  readonly loss: ExplanationMoment['loss'];
}

/** How long its step may take; null: it may last for ever. */
export function stepLimitMs({ state, substate, ladder, loss }: Timed): number | null {
  switch (state) {
    case 'AgentStarting':
      return AGENT_START_MS;
    case 'Recovering':
      return isRung(substate) ? ladder.policy[substate].patienceMs : null;
    case 'Deprovisioning':
      return PROVIDER_MS;
    case 'Reserved':
      return substate === 'creating' ? ABANDON_MS : null;
    case 'Provisioned':
      return substate === 'installing' ? PROVIDER_MS : null;
    case 'Running':
      if (substate === 'awaitingHeartbeat') return loss.firstHeartbeatMs;
      return substate === 'installingOs' ? loss.handOutMs : null;
    default:
      return null;
  }
}

/** Longer there than its step's limit, and than twice what nineteen of twenty others took. */
export function isOverdue(
  at: Timed & { readonly usual: Usual | null; readonly nowMs: number },
  sinceMs: number | null,
): boolean {
  const { usual, nowMs } = at;
  const limitMs = stepLimitMs(at);
  if (limitMs === null || sinceMs === null || !usual || usual.samples < SAMPLES_MIN) return false;
  return nowMs - sinceMs > Math.max(limitMs, 2 * usual.p95Ms);
}

const isRung = (text: string): text is Rung => (RUNGS as readonly string[]).includes(text);
