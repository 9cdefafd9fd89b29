import type { HoldKind } from '../machine.ts';
import { IDLE_TAG, type Tags } from './provider-tags.ts';

export const IDLE_BEHAVIOURS = ['run', 'hold', 'drain'] as const;
/**
 * What operators want of a machine that has nothing to do, in one word. `run`: anything goes. `hold`:
 * it is left as it is. `drain`: nothing new is started on it. Made of the holds in the BMDB; its tag
 * is a copy, read only when a device is adopted.
 */
export type IdleBehaviour = (typeof IDLE_BEHAVIOURS)[number];

export function idleBehaviourOf(holds: Iterable<HoldKind>): IdleBehaviour {
  const kinds = new Set(holds);
  if (kinds.has('preserve') || kinds.has('no-recover')) return 'hold';
  return kinds.has('no-start') ? 'drain' : 'run';
}

/** As a device's tags say; one without the tag runs, and so does one whose tag says nonsense. */
export const taggedBehaviour = (tags: Tags): IdleBehaviour =>
  IDLE_BEHAVIOURS.find((each) => each === tags[IDLE_TAG]) ?? 'run';

const MEANT: Readonly<Record<IdleBehaviour, readonly HoldKind[]>> = {
  run: [],
  hold: ['no-recover', 'preserve'],
  drain: ['no-start'],
};

/** The holds that a machine is given whose device was tagged so. */
export const holdsMeantBy = (behaviour: IdleBehaviour): readonly HoldKind[] => MEANT[behaviour];
