/** The provider's operations, as faults and counts name them. */
export const OPERATIONS = [
  'list',
  'get',
  'create',
  'find',
  'destroy',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'verify',
  'reusable',
] as const;
export type ProviderOperation = (typeof OPERATIONS)[number];

/** Faults of any call, as a network or API causes them. */
export const CALL_FAULTS = {
  /** An error, and nothing was done. */
  'call-fails': {},
  /** Done, and answered with an error. */
  'fails-after': {},
  /** Done, and the answer never arrives. */
  'reply-lost': {},
  /** Nothing is done and nothing is answered until the call is aborted. */
  hangs: {},
  /** Done, and nothing is answered until the call is aborted. */
  'hangs-after': {},
  /** Takes this many milliseconds longer. */
  slow: { amount: 30_000 },
  unauthorized: {},
  conflict: {},
  /** Nothing was done, but the caller cannot know that. */
  'server-error': {},
  /** Too many requests, with this many milliseconds until the next one. */
  'rate-limit': { amount: 120_000 },
  /** Too many requests, with a time in the past. */
  'rate-limit-past': { amount: -60_000 },
} as const satisfies Readonly<Record<string, Omit<FaultSpec, 'operations'>>>;

const LIST = ['list'] as const;
const CREATE = ['create'] as const;

/** Faults of certain operations only. */
const OPERATION_FAULTS = {
  /** Creations beyond this number of devices fail by quota. */
  quota: { operations: CREATE, amount: 0 },
  /** No capacity is left, for any plan. */
  capacity: { operations: CREATE },
  /** The new device gets a former device's id. */
  'reused-id': { operations: CREATE },
  /** The new device never comes up. */
  'create-stuck': { operations: CREATE },
  /** The new device is broken from the start. */
  'failed-at-create': { operations: CREATE },
  /** The device breaks at its boot. */
  'failed-at-boot': { operations: ['create', 'reinstall'] },
  /** Shows the state of this many listings ago. */
  'list-lag': { operations: LIST, amount: 3 },
  /** One of three pages is missing, and the listing says so. */
  'partial-page': { operations: LIST, amount: 2 },
  /** One of three pages fails, and the listing fails with it. */
  'page-fails': { operations: LIST },
  /** Every entry comes twice. */
  duplicates: { operations: LIST },
  /** Entries are in another order. */
  reordering: { operations: LIST },
  /** One device is not shown. */
  disappears: { operations: LIST },
  /** Shows nothing. */
  'vanish-all': { operations: LIST },
  /** Shows this many foreign devices too. */
  'foreign-machines': { operations: LIST, amount: 2 },
  /** One entry does not say whether it is in use. */
  'availability-undefined': { operations: LIST },
  /** The next readings, this many, show the old tags. */
  'tags-stale': { operations: ['tags'], amount: 3 },
  'tags-refused': { operations: ['tags'] },
  /** Acknowledged, without effect. */
  'reboot-ignored': { operations: ['reboot'] },
  /** The new system never comes up. */
  'reinstall-stuck': { operations: ['reinstall'] },
  /** Refused, because the BMC does not answer. */
  'bmc-unreachable': { operations: ['power', 'reboot'] },
  /** Acknowledged, and shown unchanged in this many listings. */
  'destroy-listed': { operations: ['destroy'], amount: 3 },
  /** Ends as a broken device. */
  'wipe-failed': { operations: ['destroy'] },
  /** Nothing is done, as if the device were already gone. */
  'destroy-not-found': { operations: ['destroy'] },
  /** Not found, though the device exists. */
  'get-not-found': { operations: ['get'] },
} as const satisfies Readonly<Record<string, FaultSpec>>;

/** How devices are shown while the rule exists. */
export const DEVICE_FAULTS = {
  /** Shows power on as off, and off as on. */
  'power-lies': {},
  'address-absent': {},
  /** Shown with another device's address. */
  'address-duplicated': {},
  'address-v6-only': {},
} as const satisfies Readonly<Record<string, FaultSpec>>;

interface FaultSpec {
  /** The operations that it can strike; default: all. */
  readonly operations?: readonly ProviderOperation[];
  /** Amount of a rule without an amount. */
  readonly amount?: number;
}

/** Every fault of the provider. */
export const FAULTS: Readonly<Record<FaultKind, FaultSpec>> = {
  ...CALL_FAULTS,
  ...OPERATION_FAULTS,
  ...DEVICE_FAULTS,
};
export type CallFaultKind = keyof typeof CALL_FAULTS;
export type DeviceFaultKind = keyof typeof DEVICE_FAULTS;
export type FaultKind = CallFaultKind | keyof typeof OPERATION_FAULTS | DeviceFaultKind;

/** When a fault strikes. Missing fields match everything. */
export interface ScriptedFault {
  readonly fault: FaultKind;
  readonly operation?: ProviderOperation | undefined;
  /** Indexes of the struck calls, from 1. */
  readonly calls?: readonly number[];
  /** Maximum number of strikes. */
  readonly times?: number;
  readonly device?: string;
  /** Amount in the fault's unit. */
  readonly amount?: number;
  /** For `call-fails` and `fails-after`; default kind: `transient`. */
  readonly error?: Error | undefined;
}

/** A call that a fault may strike. */
export interface Occasion {
  readonly operation: ProviderOperation;
  /** Index among the calls of this operation, from 1. */
  readonly call: number;
  readonly device?: string | null;
}

/** A matching rule with its amount. */
export interface FaultStrike<Kind extends FaultKind = FaultKind> {
  readonly fault: Kind;
  readonly amount: number;
  readonly error: Error | undefined;
}

export type FaultScript = ReturnType<typeof createFaults>;

/** The script of faults. */
export function createFaults() {
  let entries: { readonly rule: ScriptedFault; left: number }[] = [];
  return {
    add: (rule: ScriptedFault) => void entries.push({ rule, left: rule.times ?? Infinity }),
    /** Removes this fault's rules; without a kind, all rules. Past effects stay. */
    clear(kind?: FaultKind) {
      entries = entries.filter(({ rule }) => kind !== undefined && rule.fault !== kind);
    },
    /** The first rule of these faults that matches the call; it counts as used. */
    strike<Kind extends FaultKind>(
      occasion: Occasion,
      ...kinds: readonly Kind[]
    ): FaultStrike<Kind> | null {
      const isWanted = ({ fault }: ScriptedFault) =>
        (kinds as readonly FaultKind[]).includes(fault);
      const entry = entries.find(
        ({ rule, left }) => left > 0 && isWanted(rule) && fits(rule, occasion),
      );
      if (!entry) return null;
      entry.left -= 1;
      const { fault, amount = FAULTS[fault].amount ?? 0, error } = entry.rule;
      return { fault: fault as (typeof kinds)[number], amount, error };
    },
    /** Whether the device is to be shown wrongly. */
    isShown: (fault: DeviceFaultKind, device: string) =>
      entries.some(({ rule }) => rule.fault === fault && (rule.device ?? device) === device),
  };
}

function fits(rule: ScriptedFault, { operation, call, device }: Occasion): boolean {
  const operations = rule.operation ? [rule.operation] : FAULTS[rule.fault].operations;
  return (
    (operations === undefined || operations.includes(operation)) &&
    (rule.calls === undefined || rule.calls.includes(call)) &&
    (rule.device === undefined || rule.device === device)
  );
}
