import { ACCEPTANCE_SOURCE } from './acceptance.ts';
import { slot, type ProviderName, type Slot } from './ids.ts';
import type { HoldRow, MachineRow } from './machine.ts';
import { plainText } from '../lib/texts.ts';
import { FLEET, silentLimit, type GuardPolicy } from './recovery/guard-judgement.ts';

/** What is known to be wrong with a physical machine, and what follows. */

export const CONDITION_STATUSES = ['True', 'False', 'Unknown'] as const;
/** `True`: something is wrong. `Unknown` is neither OK nor a failure. */
export type ConditionStatus = (typeof CONDITION_STATUSES)[number];

/** The current status of one type from one source. Times: database clock, epoch ms. */
export interface ConditionRow {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly type: string;
  /** `agent`, `provider`, or the identity of the person or token that reported it. */
  readonly source: string;
  readonly status: ConditionStatus;
  /** One line, for people. */
  readonly reason: string;
  /** More for people; may be empty. */
  readonly detail: string;
  readonly sinceMs: number;
  /** When `True` begins to have its effect; null: at once. It is told before. */
  readonly fromMs: number | null;
  /** Without a report until then, `False` no longer means OK; null: never. */
  readonly expiresAtMs: number | null;
}

/** Types that Shepherd itself reports, with their meaning. Other sources may use any `TYPE`. */
export const CONDITION_TYPES = {
  'disk-failing': 'A disk says that it fails, or has more media errors than before.',
  'disk-worn': 'The spare blocks of a disk run out.',
  'raid-degraded': 'A software RAID misses a disk.',
  'root-read-only': 'The root file system cannot be written.',
  'memory-errors': 'Memory had errors that could not be corrected.',
  'network-degraded': 'A network interface is slower than it can be, or goes up and down.',
  'clock-skewed': 'The clock differs from that of the database.',
  'hardware-missing': 'Memory or a disk that it had before is missing.',
  'hardware-unhealthy': 'Its controller reports a fault of the hardware.',
  'acceptance-failed': 'A check of its acceptance failed.',
  'maintenance-announced': 'Its provider announced work on it.',
} as const;
export type ConditionType = keyof typeof CONDITION_TYPES;

/** Form of a type's name. */
export const CONDITION_TYPE = /^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/;

/** One condition in the report of an agent or a provider. */
export type ReportedCondition = Pick<ConditionRow, 'status' | 'reason' | 'detail'> & {
  readonly type: ConditionType;
  readonly fromMs?: number | null;
};

/** Part of a report about a machine. */
export interface ReportedConditions {
  /** What its reporter knows to be wrong with it, already checked. A type that is absent is unknown: what is over must be reported as `False`. */
  readonly conditions?: readonly ReportedCondition[];
}

/** The same before it was checked. */
export type UncheckedCondition = { readonly [Key in keyof ReportedCondition]: unknown };

const REPORTED_MAX = 20;
const REASON_MAX = 200;
const DETAIL_MAX = 2_000;

/**
 * Checks a report of a program that is not trusted: at most 20 conditions of known types, one of
 * each, with short plain texts, and with a beginning that is a time. The others are only counted.
 */
export function checkedConditions(reported: readonly UncheckedCondition[]): {
  readonly conditions: readonly ReportedCondition[];
  readonly dropped: number;
} {
  const checked = new Map<string, ReportedCondition>();
  for (const { type, status, reason, detail, fromMs } of reported.slice(0, REPORTED_MAX)) {
    if (!isConditionType(type) || !CONDITION_STATUSES.some((one) => one === status)) continue;
    const begins = status === 'True' ? (fromMs ?? null) : null;
    if (begins !== null && !isBeginning(begins)) continue;
    checked.set(type, {
      ...{ type, status: status as ConditionStatus },
      reason: plainText(textOf(reason).replaceAll(/\s+/g, ' '), REASON_MAX),
      detail: plainText(textOf(detail), DETAIL_MAX),
      ...(begins !== null && { fromMs: Math.round(begins) }),
    });
  }
  return { conditions: [...checked.values()], dropped: reported.length - checked.size };
}

/** Whether a condition may begin then: epoch ms that a date can hold. */
export const isBeginning = (atMs: unknown): atMs is number =>
  typeof atMs === 'number' && atMs >= 0 && atMs <= 8.64e15;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const isConditionType = (type: unknown): type is ConditionType =>
  typeof type === 'string' && Object.hasOwn(CONDITION_TYPES, type);

/** Sources that are no people; no person or token may report in their name. */
export const AGENT_SOURCE = 'agent';
export const PROVIDER_SOURCE = 'provider';

/**
 * What a provider reports beyond what is stored. A missing detail is no news, because a provider
 * does not read it each time.
 */
export const conditionNews = (
  stored: readonly ConditionRow[],
  reported: readonly ReportedCondition[],
): readonly ReportedCondition[] =>
  reported.filter(({ type, status, reason, detail, fromMs }) => {
    const row = stored.find((each) => each.source === PROVIDER_SOURCE && each.type === type);
    if (!row) return status !== 'False';
    const hasNewDetail = detail !== '' && detail !== row.detail;
    // The database may store fractions of a millisecond.
    const hasNewBeginning = (fromMs ?? null) !== (row.fromMs && Math.round(row.fromMs));
    return status !== row.status || reason !== row.reason || hasNewDetail || hasNewBeginning;
  });

/** The status that counts now: what was OK is unknown after its end; what was wrong stays so. */
export const statusOf = ({ status, expiresAtMs }: ConditionRow, nowMs: number): ConditionStatus =>
  status === 'False' && expiresAtMs !== null && expiresAtMs <= nowMs ? 'Unknown' : status;

export const CONDITION_EFFECTS = ['tell', 'no-new-work', 'drain'] as const;
/**
 * What a true condition does. `tell`: it is shown and reported. `no-new-work`: also no machine is
 * created on the slot. `drain`: the machine also leaves its pools. It never reboots or erases.
 */
export type ConditionEffect = (typeof CONDITION_EFFECTS)[number];

export interface ConditionPolicy {
  /** Types without an entry: `tell`, but `drain` for `maintenance-announced`. */
  readonly effects: Readonly<Record<string, ConditionEffect>>;
  readonly guard: Pick<GuardPolicy, 'silentMin' | 'silentPercent'>;
}

const HOLDS: Readonly<Record<ConditionEffect, readonly HoldRow['kind'][]>> = {
  tell: [],
  'no-new-work': ['no-allocate'],
  drain: ['no-allocate', 'no-serve'],
};

export const BY_CONDITION = 'condition ';
/** Whether a condition put the hold there, which no operator can remove. */
export const isOfCondition = ({ setBy }: Pick<HoldRow, 'setBy'>): boolean =>
  setBy.startsWith(BY_CONDITION);

/** Whether nobody can remove the hold, because it follows from a condition or an acceptance. */
export const isDerived = ({ setBy }: Pick<HoldRow, 'setBy'>): boolean =>
  isOfCondition({ setBy }) || setBy === ACCEPTANCE_SOURCE;

/** Number of machines in the fleet and in each provider. */
export function machineCounts(machines: readonly MachineRow[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>([[FLEET, machines.length]]);
  for (const { provided } of machines) {
    if (provided) counts.set(provided.provider, (counts.get(provided.provider) ?? 0) + 1);
  }
  return counts;
}

/** The conditions that count for suspicion: begun, on machines in use. */
export function countedConditions(
  conditions: readonly ConditionRow[],
  machines: readonly MachineRow[],
  nowMs: number,
): readonly ConditionRow[] {
  if (conditions.length === 0) return conditions;
  const used = new Set(
    machines.flatMap(({ provided, quarantine }) =>
      provided && quarantine?.cause !== 'retired'
        ? [slot(provided.provider, provided.reservationId ?? provided.providerId)]
        : [],
    ),
  );
  return conditions.filter(
    ({ provider, slotId, fromMs }) => (fromMs ?? 0) <= nowMs && used.has(slot(provider, slotId)),
  );
}

/**
 * The types that too many machines have together, as `<scope> <type>`. As with silence, the cause
 * is then not the machines: a bad checker must not empty a pool. They only tell.
 */
export function suspiciousTypes(
  conditions: readonly ConditionRow[],
  machines: ReadonlyMap<string, number>,
  { guard }: Pick<ConditionPolicy, 'guard'>,
): ReadonlySet<string> {
  const slots = new Map<string, Set<Slot>>();
  for (const { provider, slotId, type, status } of conditions) {
    if (status !== 'True') continue;
    for (const scope of [FLEET, provider]) {
      const key = `${scope} ${type}`;
      slots.set(key, (slots.get(key) ?? new Set()).add(slot(provider, slotId)));
    }
  }
  const tooMany = [...slots].filter(([key, those]) => {
    const [scope = ''] = key.split(' ');
    return those.size > silentLimit(guard, machines.get(scope) ?? 0);
  });
  return new Set(tooMany.map(([key]) => key));
}

/** Whether too many machines have a condition of this type, so that it only tells. */
export const isSuspicious = (
  { provider, type }: Pick<ConditionRow, 'provider' | 'type'>,
  suspicious: ReadonlySet<string>,
): boolean => [FLEET, provider].some((scope) => suspicious.has(`${scope} ${type}`));

/** What follows from a condition while it is true. */
export interface ConditionStanding {
  /** By its type's policy. */
  readonly effect: ConditionEffect;
  /** It only tells, whatever the policy says. */
  readonly suspicious: boolean;
}

export const standingOf = (
  condition: Pick<ConditionRow, 'provider' | 'type'>,
  suspicious: ReadonlySet<string>,
  { effects }: Pick<ConditionPolicy, 'effects'>,
): ConditionStanding => ({
  effect: effectOf(condition.type, effects),
  suspicious: isSuspicious(condition, suspicious),
});

const effectOf = (type: string, effects: ConditionPolicy['effects']): ConditionEffect =>
  (Object.hasOwn(effects, type) ? effects[type] : undefined) ??
  (type === 'maintenance-announced' ? 'drain' : 'tell');

/** Types of the true conditions, sorted and separated by commas; null: none. */
export function trueTypes(conditions: readonly ConditionRow[]): string | null {
  if (conditions.length === 0) return null;
  const types = conditions.flatMap(({ type, status }) => (status === 'True' ? [type] : []));
  return types.length === 0 ? null : [...new Set(types)].toSorted().join(',');
}

/**
 * The holds that true conditions put on their slots, beside those of operators. Of one kind, the
 * hold that begins first counts.
 */
export function conditionHolds(
  conditions: readonly ConditionRow[],
  suspicious: ReadonlySet<string>,
  policy: ConditionPolicy,
): HoldRow[] {
  const holds = new Map<string, HoldRow>();
  for (const { provider, slotId, type, source, status, reason, fromMs } of conditions) {
    if (status !== 'True') continue;
    if (isSuspicious({ provider, type }, suspicious)) continue;
    for (const kind of HOLDS[effectOf(type, policy.effects)]) {
      const key = `${slot(provider, slotId)} ${kind}`;
      const before = holds.get(key);
      if (before && (before.fromMs ?? 0) <= (fromMs ?? 0)) continue;
      const setBy = `${BY_CONDITION}${type}`;
      holds.set(key, {
        ...{ provider, slotId, kind, setBy, reason: `${source}: ${reason}`, untilMs: null },
        ...(fromMs !== null && { fromMs }),
      });
    }
  }
  return [...holds.values()];
}

/** All holds. One that an operator set without begin and end stands for a condition's of its kind. */
export function withConditionHolds(
  holds: readonly HoldRow[],
  ofConditions: readonly HoldRow[],
): readonly HoldRow[] {
  if (ofConditions.length === 0) return holds;
  const keyOf = ({ provider, slotId, kind }: HoldRow) => `${slot(provider, slotId)} ${kind}`;
  const isLasting = ({ fromMs = null, untilMs }: HoldRow) => fromMs === null && untilMs === null;
  const lasting = new Set(holds.filter(isLasting).map(keyOf));
  return [...holds, ...ofConditions.filter((hold) => !lasting.has(keyOf(hold)))];
}

/** Types that are counted apart; the others together, because anybody may invent types. */
const TYPES_COUNTED = 50;
const OTHER_TYPES = 'other';

export interface ConditionCount {
  readonly provider: ProviderName;
  readonly type: string;
  readonly status: Exclude<ConditionStatus, 'False'>;
  readonly machines: number;
}

/** Slots by provider, type and present status, without those that are well. */
export function conditionCounts(
  conditions: Iterable<ConditionRow>,
  nowMs: number,
): ConditionCount[] {
  const open = [...conditions].flatMap((each) => {
    const status = statusOf(each, nowMs);
    return status === 'False' ? [] : [{ ...each, status }];
  });
  const types = new Set(open.map(({ type }) => type));
  const ours = Object.keys(CONDITION_TYPES).filter((type) => types.has(type));
  const kept = new Set([...new Set([...ours, ...[...types].toSorted()])].slice(0, TYPES_COUNTED));
  const labelOf = (type: string) => (kept.has(type) ? type : OTHER_TYPES);
  const groups = Map.groupBy(open, ({ provider, type, status }) =>
    [provider, labelOf(type), status].join(' '),
  );
  return [...groups.values()].map((group) => {
    const { provider, type, status } = group[0]!;
    const machines = new Set(group.map(({ slotId }) => slotId)).size;
    return { provider, type: labelOf(type), status, machines };
  });
}
