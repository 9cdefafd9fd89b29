import { SITUATIONS } from './sometimes.ts';

/** The fixed seeds for one size of fleet, and the situations that their runs must reach. */
export interface SeedBudget {
  readonly seeds: readonly number[];
  readonly machines: number;
  readonly daemons: number;
  readonly hours: number;
  readonly isTwice: boolean;
  readonly situations: readonly string[];
}

/** Situations that fewer than two of the eight runs of `ci` reach. */
const RARE = new Set(
  `penalised needs-human draining end-lost creation-resumed creation-taken-up
   creation-unknown creation-refused device-adopted intent-abandoned untagged missing-back
   thawed-by-itself unsettled order-expired order-withdrawn hold-bars chronic stop-cuts
   controller-reset retired-by-itself replaced roll-survives roll-aborted backoff-grows`.split(
    /\s+/,
  ),
);

const all = Object.keys(SITUATIONS);
const common = all.filter((id) => !RARE.has(id));
const from1To = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

export const BUDGETS: Readonly<Record<string, SeedBudget>> = {
  /** A minute of CPU. */
  ci: {
    // Storms and slow nights.
    seeds: [46, 53, 59, 85, 92, 95, 121, 233],
    machines: 6,
    daemons: 2,
    hours: 2,
    isTwice: false,
    situations: common,
  },
  /** Every situation must come about in a night. */
  night: { seeds: from1To(60), machines: 12, daemons: 3, hours: 6, isTwice: true, situations: all },
};
