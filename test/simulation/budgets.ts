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
  `quarantined penalised needs-human draining end-lost backoff-grows creation-resumed
   creation-taken-up creation-unknown creation-refused device-adopted intent-abandoned
   orphan stranger untagged tagged host-key-changed missing-back thawed-by-itself
   unsettled order-expired order-withdrawn hold-bars stop-cuts controller-reset
   killed-at-work hold-expired condition-drains many-conditions chronic retired
   unretired condition condition-ends`.split(/\s+/),
);

const all = Object.keys(SITUATIONS);
const common = all.filter((id) => !RARE.has(id));
const from1To = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

export const BUDGETS: Readonly<Record<string, SeedBudget>> = {
  /** A minute of CPU. */
  ci: {
    // Storms and slow nights.
    seeds: [4, 5, 7, 9, 25, 26, 29, 34],
    machines: 6,
    daemons: 2,
    hours: 2,
    isTwice: false,
    situations: common,
  },
  /** Every situation must come about in a night. */
  night: { seeds: from1To(60), machines: 12, daemons: 3, hours: 6, isTwice: true, situations: all },
};
