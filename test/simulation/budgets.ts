import { SITUATIONS } from './sometimes.ts';

/** Seeds that are always the same, for a size of fleet, and what must come about in their runs. */
export interface SeedBudget {
  readonly seeds: readonly number[];
  readonly machines: number;
  readonly daemons: number;
  readonly hours: number;
  readonly isTwice: boolean;
  readonly situations: readonly string[];
}

/** Situations that the eight runs of `ci` do not reach reliably. */
const RARE = new Set([
  ...['penalised', 'recovered-elsewhere', 'needs-human', 'end-lost', 'backoff-grows', 'tagged'],
  ...['creation-resumed', 'creation-taken-up', 'creation-unknown', 'creation-refused', 'hold-bars'],
  ...['device-adopted', 'intent-abandoned', 'missing-back', 'thawed-by-itself', 'order-expired'],
  ...['stop-cuts', 'controller-reset', 'draining', 'untagged', 'host-key-changed', 'throttled'],
  ...[
    'frozen-silence',
    'hold-expired',
    'budget-spent',
    'boot-unproved',
    'no-permit',
    'killed-at-work',
  ],
]);

const all = Object.keys(SITUATIONS);
const common = all.filter((id) => !RARE.has(id));
const from1To = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

export const BUDGETS: Readonly<Record<string, SeedBudget>> = {
  /** A minute of CPU. */
  ci: { seeds: from1To(8), machines: 6, daemons: 2, hours: 2, isTwice: false, situations: common },
  /** Every situation must come about in a night. */
  night: { seeds: from1To(60), machines: 12, daemons: 3, hours: 6, isTwice: true, situations: all },
};
