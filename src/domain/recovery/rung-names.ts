/** Those on which an episode can stand: what its row knows. */
export const STANDING_RUNGS = [
  'restartingAgent',
  'rebooting',
  'powerCycling',
  'reinstalling',
] as const;
export type StandingRung = (typeof STANDING_RUNGS)[number];
/** With those that are taken beside the ladder, which stays where it is: they recover no machine. */
export const RUNGS = [
  'restartingAgent',
  'rebooting',
  'resettingBmc',
  'powerCycling',
  'reinstalling',
] as const;
export type Rung = (typeof RUNGS)[number];
