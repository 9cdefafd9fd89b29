/** How often a device is paid for, as the description names it. */
export const BILLING_CYCLES = ['hourly', 'daily', 'monthly', 'yearly'] as const;
export type BillingCycle = (typeof BILLING_CYCLES)[number];

/** One of the addresses that a device is to get. */
export interface WantedAddress {
  readonly family: 4 | 6;
  readonly public: boolean;
  /** Length of its network's prefix. */
  readonly cidr: number;
}

/** What a create may ask for and the device then shows, beside what it always says. */
export interface DeviceOrder {
  billingCycle: BillingCycle;
  networkFrozen: boolean;
  spotInstance: boolean;
  /** US dollars an hour; null: none was named. */
  spotPriceMax: number | null;
  /** When the device is deleted by itself, epoch ms; null: never. */
  terminationTimeMs: number | null;
  /** Disks and file systems, as they were sent. */
  storage: Record<string, unknown> | null;
  firmwareSetId: string | null;
  wantedAddresses: readonly WantedAddress[];
}

/** Of every device at least a private IPv4 address is wanted, mostly a public one of each family too. */
export const USUAL_ADDRESSES: readonly WantedAddress[] = [
  { family: 4, public: true, cidr: 31 },
  { family: 6, public: true, cidr: 127 },
  { family: 4, public: false, cidr: 31 },
];

/** What a device gets whose create names nothing of it, and one of an earlier release's state file. */
export const PLAIN_ORDER: DeviceOrder = {
  billingCycle: 'hourly',
  networkFrozen: false,
  spotInstance: false,
  spotPriceMax: null,
  terminationTimeMs: null,
  storage: null,
  firmwareSetId: null,
  wantedAddresses: USUAL_ADDRESSES,
};
