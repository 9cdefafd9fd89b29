import type { Log } from '../../log/port.ts';
import type { Metrics } from '../../metrics/port.ts';
import { chanceOf } from './chance.ts';
import { FAULTS, type FaultKind, type StubOperation } from './fault-kinds.ts';

/** When a fault strikes. Whatever is absent does not matter. */
export interface FaultRule {
  readonly fault: FaultKind;
  readonly operation?: StubOperation | undefined;
  /** Indexes of calls (of devices, of connections) that it strikes, from 1. */
  readonly calls?: readonly number[] | undefined;
  /** The first index that it strikes. */
  readonly from?: number | undefined;
  readonly device?: string | undefined;
  readonly reservation?: string | undefined;
  /** How probable it is each time, 0 to 1. */
  readonly chance?: number | undefined;
  /** How often at most; of what sticks to a device, to how many devices. */
  readonly times?: number | undefined;
  /** How much; the unit is the fault's. */
  readonly amount?: number | undefined;
  /** Of the faults of capacity. */
  readonly scope?: 'all' | 'group' | 'plan' | undefined;
  /** The error of `call-fails` and `fails-after`, instead of the usual one. */
  readonly error?: Error | undefined;
}

/** What is going on when faults are looked for. */
export interface Occasion {
  readonly operation: StubOperation | 'device' | 'reservation' | 'ssh';
  /** Index of the call, the device or the connection, from 1. */
  readonly call: number;
  readonly device?: string | null;
  readonly reservation?: string | null;
}

/** A rule that strikes, with its amount. */
export interface Strike {
  readonly fault: FaultKind;
  readonly rule: FaultRule;
  readonly amount: number;
}

export interface UsedFault extends Occasion {
  readonly fault: FaultKind;
  readonly amount: number;
}

export interface Faults {
  add(rule: FaultRule): void;
  /** Takes the rules of these faults away; all when none is named. What happened stays so. */
  clear(...kinds: readonly FaultKind[]): void;
  /** The first rule of one of these faults that strikes now; it counts as used. */
  strike<Kind extends FaultKind>(
    occasion: Occasion,
    ...kinds: readonly Kind[]
  ): (Strike & { readonly fault: Kind }) | null;
  /**
   * A rule that would strike now, not used yet: for what strikes only if more is the case. Of
   * several the one added last.
   */
  look(occasion: Occasion, fault: FaultKind): (Strike & { use(): void }) | null;
  /** As `strike` for what sticks: the answer for a device stays the same, and counts once. */
  sticks(fault: FaultKind, occasion: Occasion): Strike | null;
  /** Whether there is a rule of this fault at all. */
  known(fault: FaultKind): boolean;
  /** Every use so far, the oldest ones forgotten. */
  used(): readonly UsedFault[];
  count(fault: FaultKind): number;
}

export interface FaultsDeps {
  readonly seed: number;
  readonly log: Log;
  readonly metrics: Metrics;
}

const USED_MAX = 10_000;

interface Entry {
  readonly rule: FaultRule;
  /** Position among all rules ever added: a part of every chance. */
  readonly at: number;
  left: number;
  /** Of what sticks: whether it does, by device or reservation. */
  readonly decided: Map<string, boolean>;
}

/** The script of faults. Whether a rule with a chance strikes follows from seed, rule and occasion. */
export function createFaults({ seed, log, metrics }: FaultsDeps): Faults {
  let entries: Entry[] = [];
  let added = 0;
  const used: UsedFault[] = [];
  const counts = new Map<FaultKind, number>();

  function take(entry: Entry, occasion: Occasion): Strike {
    const { rule } = entry;
    entry.left -= 1;
    const strike = { fault: rule.fault, rule, amount: amountOf(rule) };
    used.push({ ...occasion, fault: rule.fault, amount: strike.amount });
    if (used.length > USED_MAX) used.shift();
    counts.set(rule.fault, (counts.get(rule.fault) ?? 0) + 1);
    log.info({ fault: rule.fault, ...occasion, amount: strike.amount }, 'fault injected');
    metrics.adapterCall('stub', occasion.operation, rule.fault);
    return strike;
  }

  const isDue = (entry: Entry, occasion: Occasion): boolean =>
    entry.left > 0 && fits(entry.rule, occasion) && isHit(entry, occasion);

  function isHit({ rule: { chance = 1, fault }, at }: Entry, occasion: Occasion): boolean {
    if (chance >= 1) return true;
    const { operation, call, device = '', reservation = '' } = occasion;
    const whose = FAULTS[fault].at === 'call' ? '' : `${device} ${reservation}`;
    return chanceOf(seed, 'fault', at, operation, call, whose) < chance;
  }

  function stuck(entry: Entry, occasion: Occasion): boolean {
    const key = `${occasion.device ?? ''} ${occasion.reservation ?? ''}`;
    const decided = entry.decided.get(key);
    if (decided !== undefined) return decided;
    const due = isDue(entry, occasion);
    entry.decided.set(key, due);
    if (due) take(entry, occasion);
    return due;
  }

  return {
    add(rule) {
      entries.push({ rule, at: added, left: rule.times ?? Infinity, decided: new Map() });
      added += 1;
    },
    clear(...kinds) {
      entries = kinds.length === 0 ? [] : entries.filter(({ rule }) => !kinds.includes(rule.fault));
    },
    strike(occasion, ...kinds) {
      const entry = entries.find(
        (one) => (kinds as readonly FaultKind[]).includes(one.rule.fault) && isDue(one, occasion),
      );
      if (!entry) return null;
      return take(entry, occasion) as Strike & { readonly fault: (typeof kinds)[number] };
    },
    look(occasion, fault) {
      const entry = entries.findLast((one) => one.rule.fault === fault && isDue(one, occasion));
      if (!entry) return null;
      const amount = amountOf(entry.rule);
      return { fault, rule: entry.rule, amount, use: () => void take(entry, occasion) };
    },
    sticks(fault, occasion) {
      const entry = entries.find((one) => one.rule.fault === fault && stuck(one, occasion));
      return entry ? { fault, rule: entry.rule, amount: amountOf(entry.rule) } : null;
    },
    known: (fault) => entries.some(({ rule }) => rule.fault === fault),
    used: () => used,
    count: (fault) => counts.get(fault) ?? 0,
  };
}

const amountOf = ({ fault, amount }: FaultRule): number => amount ?? FAULTS[fault].amount?.[0] ?? 0;

function fits(rule: FaultRule, { operation, call, device, reservation }: Occasion): boolean {
  const { operations } = FAULTS[rule.fault];
  const strikable: readonly string[] | undefined = rule.operation ? [rule.operation] : operations;
  return (
    (strikable === undefined || strikable.includes(operation)) &&
    (rule.calls === undefined || rule.calls.includes(call)) &&
    (rule.from === undefined || call >= rule.from) &&
    (rule.device === undefined || rule.device === device) &&
    (rule.reservation === undefined || rule.reservation === reservation)
  );
}
