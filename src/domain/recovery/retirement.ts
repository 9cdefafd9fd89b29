import type { LadderEnd } from './ladder.ts';

/** When the ladder's end also retires a machine. */
export const RETIRE_WHEN = ['never', 'chronic', 'always'] as const;
export type RetireWhen = (typeof RETIRE_WHEN)[number];

/** What becomes of the machines of one provider that do not come back. */
export interface Retirement {
  readonly when: RetireWhen;
  /** What becomes of a retired machine. */
  readonly then: 'keep' | 'giveBack';
}

/** What the ladder's end does to the slot; undefined: it is not retired. */
export const retiresAt = (
  { cause }: LadderEnd,
  { when, then }: Retirement,
): Retirement['then'] | undefined =>
  when === 'always' || (when === 'chronic' && cause === 'chronic') ? then : undefined;
