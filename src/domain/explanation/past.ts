import type { MachineState } from '../states.ts';
import type { ExplanationFacts } from './types.ts';

/** A line of a machine's log, as far as it tells since when and by whom a machine is where it is. */
export interface PastLine {
  readonly atMs: number;
  readonly kind: string;
  /** A component, or a person. */
  readonly actor: string;
}

/** Kinds of lines after which a machine is in the state; rows tell the time of the other states. */
const LEADS_TO: Readonly<Partial<Record<MachineState, readonly string[]>>> = {
  Provisioned: ['recovered', 'workFailed', 'released'],
  Recovering: ['workFailed'],
  HandedOver: ['installReported'],
  Quarantined: ['quarantined'],
};

/** States of which the log has to be asked. */
export const hasPast = (state: MachineState): boolean => LEADS_TO[state] !== undefined;

/**
 * What the log adds to the rows.
 * @param lines of the machine, oldest first.
 */
export function pastOf(
  state: MachineState,
  lines: readonly PastLine[],
): Pick<ExplanationFacts, 'seenSinceMs' | 'quarantinedBy'> {
  const kinds = LEADS_TO[state] ?? [];
  const last = lines.findLast(({ kind }) => kinds.includes(kind));
  return {
    seenSinceMs: last?.atMs ?? null,
    quarantinedBy: (state === 'Quarantined' && last?.actor) || null,
  };
}
