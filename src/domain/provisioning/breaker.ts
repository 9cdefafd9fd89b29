/** How many of a provider's machines may disagree before its listing is doubted. */
export const BREAKER = {
  /** So many always may. */
  countMax: 5,
  /** Percent of the machines. */
  percentMax: 10,
} as const;

export interface BreakerInput {
  /** Entries of the listing, free capacity included. */
  readonly listed: number;
  /** Machines in the BMDB that the provider should know. */
  readonly expected: number;
  /** Machines of both sides together, each once. */
  readonly machines: number;
  /** Devices of ours that nobody knows, failed ones left out. */
  readonly orphans: number;
  /** Machines whose device is not listed, failed ones left out. */
  readonly missing: number;
}

/**
 * Why the listing is not to be believed as a whole; null: it may be. While it is open nothing is
 * created and nothing marked as missing for that provider; everything else goes on.
 */
export function breakerReason(input: BreakerInput): string | null {
  const { listed, expected, machines, orphans, missing } = input;
  if (listed === 0 && expected > 0) {
    return `the listing is empty, while ${expected} machines are recorded`;
  }
  const disagree = orphans + missing;
  const limit = Math.max(BREAKER.countMax, (machines * BREAKER.percentMax) / 100);
  if (disagree <= limit) return null;
  return `${disagree} of ${machines} machines disagree (${orphans} orphans, ${missing} missing)`;
}
