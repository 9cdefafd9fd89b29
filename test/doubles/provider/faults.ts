/** What can be asked of the provider, as faults and counts name it. */
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

/** Any call, as a network and an API spoil it. */
export const CALL_FAULTS = {
  /** An error, and nothing was done. */
  'call-fails': {},
  /** Done, and answered with an error all the same. */
  'fails-after': {},
  /** Done, and the answer never came. */
  'reply-lost': {},
  /** Nothing is done and nothing answered until the call is aborted. */
  hangs: {},
  /** Done, and nothing answered until the call is aborted. */
  'hangs-after': {},
  /** Takes so many milliseconds longer. */
  slow: { amount: 30_000 },
  unauthorized: {},
  conflict: {},
  /** Nothing was done, but nobody can know that. */
  'server-error': {},
  /** Too many requests, with so many milliseconds until the next one. */
  'rate-limit': { amount: 120_000 },
  /** Too many requests, with a time that has passed. */
  'rate-limit-past': { amount: -60_000 },
} as const satisfies Readonly<Record<string, Omit<FaultSpec, 'operations'>>>;

const LIST = ['list'] as const;
const CREATE = ['create'] as const;

/** What only calls of certain operations meet. */
const OPERATION_FAULTS = {
  /** Creations beyond so many devices fail by quota. */
  quota: { operations: CREATE, amount: 0 },
  /** Nothing is left, of whatever plan. */
  capacity: { operations: CREATE },
  /** The new device gets the id of one that was. */
  'reused-id': { operations: CREATE },
  /** The new device never comes up. */
  'create-stuck': { operations: CREATE },
  /** The new device is broken from the start. */
  'failed-at-create': { operations: CREATE },
  /** The device breaks when it should come up. */
  'failed-at-boot': { operations: ['create', 'reinstall'] },
  /** Shows what so many listings ago was there. */
  'list-lag': { operations: LIST, amount: 3 },
  /** One page of three is missing, and the listing says so. */
  'partial-page': { operations: LIST, amount: 2 },
  /** One page of three fails, and the listing with it. */
  'page-fails': { operations: LIST },
  /** Every entry comes twice. */
  duplicates: { operations: LIST },
  /** Entries come in another order. */
  reordering: { operations: LIST },
  /** One device is not shown. */
  disappears: { operations: LIST },
  /** Shows nothing at all. */
  'vanish-all': { operations: LIST },
  /** Shows so many devices of strangers too. */
  'foreign-machines': { operations: LIST, amount: 2 },
  /** One entry does not say whether it is used. */
  'availability-undefined': { operations: LIST },
  /** So many next readings show the tags of before. */
  'tags-stale': { operations: ['tags'], amount: 3 },
  'tags-refused': { operations: ['tags'] },
  /** Acknowledged, and nothing happens. */
  'reboot-ignored': { operations: ['reboot'] },
  /** The new system never comes up. */
  'reinstall-stuck': { operations: ['reinstall'] },
  /** Refused, because the board controller is silent. */
  'bmc-unreachable': { operations: ['power', 'reboot'] },
  /** Acknowledged, and shown as before in so many listings. */
  'destroy-listed': { operations: ['destroy'], amount: 3 },
  /** Ends as a broken device. */
  'wipe-failed': { operations: ['destroy'] },
  /** Nothing is done, as if the device were gone already. */
  'destroy-not-found': { operations: ['destroy'] },
  /** Not found, though it is there. */
  'get-not-found': { operations: ['get'] },
} as const satisfies Readonly<Record<string, FaultSpec>>;

/** How devices are shown, for as long as the rule is there. */
export const DEVICE_FAULTS = {
  /** Shown as on when off, and as off when on. */
  'power-lies': {},
  'address-absent': {},
  /** Shown with the address of another device. */
  'address-duplicated': {},
  'address-v6-only': {},
} as const satisfies Readonly<Record<string, FaultSpec>>;

interface FaultSpec {
  /** The operations that it can strike; every one when absent. */
  readonly operations?: readonly ProviderOperation[];
  /** Of a rule that gives no amount. */
  readonly amount?: number;
}

/** Every fault that the provider can have. */
export const FAULTS: Readonly<Record<FaultKind, FaultSpec>> = {
  ...CALL_FAULTS,
  ...OPERATION_FAULTS,
  ...DEVICE_FAULTS,
};
export type CallFaultKind = keyof typeof CALL_FAULTS;
export type DeviceFaultKind = keyof typeof DEVICE_FAULTS;
export type FaultKind = CallFaultKind | keyof typeof OPERATION_FAULTS | DeviceFaultKind;

/** When a fault strikes. What is absent does not matter. */
export interface ScriptedFault {
  readonly fault: FaultKind;
  readonly operation?: ProviderOperation | undefined;
  /** Indexes of the calls that it strikes, from 1. */
  readonly calls?: readonly number[];
  /** How often at most. */
  readonly times?: number;
  readonly device?: string;
  /** In the unit of the fault. */
  readonly amount?: number;
  /** For `call-fails` and `fails-after`; kind `transient` if absent. */
  readonly error?: Error | undefined;
}

/** A call that a fault may strike. */
export interface Occasion {
  readonly operation: ProviderOperation;
  /** Index among the calls of this operation, from 1. */
  readonly call: number;
  readonly device?: string | null;
}

/** A rule that strikes, with its amount. */
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
    /** Takes the rules of this fault away; all when none is named. What happened stays so. */
    clear(kind?: FaultKind) {
      entries = entries.filter(({ rule }) => kind !== undefined && rule.fault !== kind);
    },
    /** The first rule of one of these faults that strikes this call; it counts as used. */
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
