import { slot, type ProviderName, type SessionId, type Slot } from '../ids.ts';
import type { IntentRow, MachineRow, ProviderMachine, UnreadableEntry } from '../machine.ts';
import { RESUMES_MAX } from '../policy.ts';
import { witnessOf } from './provider-tags.ts';
import { slotIdOfMachine, slotIdOfRow, type Recorded, type Stock, type Used } from './stock.ts';

/**
 * Deviations, machine by machine, and their handling:
 * - `adoptable`: a device with the creation key of an unfinished creation: record it.
 * - `creating`: the same, while a session works on it.
 * - `unfinished`: a creation without a visible device: wait, note it, or forget it.
 * - `orphan`: a device that is ours (or nobody's) without any reference.
 * - `failed`: an orphan that its provider calls broken.
 * - `foreign`: a device of another owner.
 * - `contradicted`: a machine whose device is not ours, or is listed on another slot.
 * - `missing`: a machine whose device is not listed.
 * - `back`: a missing machine that is listed again.
 */
const FINDING_CASES = [
  'adoptable',
  'creating',
  'unfinished',
  'orphan',
  'failed',
  'foreign',
  'contradicted',
  'missing',
  'back',
] as const;
export type FindingCase = (typeof FINDING_CASES)[number];

export type FindingAction =
  | 'none'
  | 'adopt'
  | 'assimilate'
  | 'noteEmpty'
  | 'noteGap'
  | 'drop'
  | 'abandon'
  | 'markAbsent'
  | 'confirmMissing'
  | 'markPresent';

export interface Finding {
  readonly case: FindingCase;
  readonly action: FindingAction;
  readonly slot: Slot;
  readonly device: ProviderMachine | null;
  readonly row: MachineRow | null;
  readonly intent: IntentRow | null;
  /** For people. */
  readonly reason: string;
}

interface FindingsInput {
  readonly provider: ProviderName;
  readonly stock: Stock;
  /** Entries of the listing. */
  readonly listedCount: number;
  readonly listingComplete: boolean;
  /** Entries that cannot be parsed: they exist, and may be ours. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Database time at the start of the listing. */
  readonly listedAtMs: number;
  readonly nowMs: number;
  readonly self: SessionId | null;
  readonly running: ReadonlySet<string>;
  readonly assimilate: boolean;
  /** An unfinished creation without a device is forgotten after this long. */
  readonly abandonMs: number;
}

export interface Findings {
  readonly all: readonly Finding[];
  /** Why the whole listing is not trusted; null: it is trusted. */
  readonly breaker: string | null;
  readonly counts: {
    readonly orphan: number;
    readonly failed: number;
    readonly foreign: number;
    readonly missing: number;
    /** Machines and devices that count against the limit, without unfinished creations. */
    readonly machines: number;
  };
}

/** Judges each machine separately; only the breaker considers all of them. */
export function judge(input: FindingsInput): Findings {
  const { stock } = input;
  const devices = stock.used.flatMap((used) => judgeDevice(input, used) ?? []);
  const unclear = unclearOf(input);
  const absent = stock.rows.flatMap((recorded) => judgeRow(input, recorded, unclear) ?? []);
  const unfinished = stock.intents.flatMap((intent) => judgeIntent(input, intent, unclear) ?? []);
  const count = (name: FindingCase) => devices.filter((each) => each.case === name).length;
  const orphan = count('orphan');
  const failed = stock.used.filter(
    ({ device }) => device.failed && device.ownership !== 'foreign',
  ).length;
  const expected = stock.rows.filter(({ row }) => isExpected(row)).length;
  const missing = absent.filter(({ case: found }) => found === 'missing');
  const breaker = breakerReason({
    listed: input.listedCount,
    expected,
    machines: expected + orphan,
    orphans: orphan,
    missing: missing.filter(({ row }) => !isGivenUp(row!)).length,
  });
  return {
    all: [...devices, ...absent.map((each) => hush(input, each, breaker)), ...unfinished],
    breaker,
    counts: {
      orphan,
      failed,
      foreign: count('foreign'),
      missing: missing.length,
      machines: countMachines(stock) + orphan + count('failed') + unclear.unknown,
    },
  };
}

/** Unreadable devices, and the number of those that belong to no machine of the BMDB. */
interface Unclear {
  readonly ids: ReadonlySet<string>;
  readonly unknown: number;
}
const CLEAR: Unclear = { ids: new Set(), unknown: 0 };

/** An unreadable device may be ours, so it counts against the limit. */
function unclearOf({ unreadable, stock }: FindingsInput): Unclear {
  if (unreadable.length === 0) return CLEAR;
  const ids = new Set(unreadable.flatMap(({ id }) => id ?? []));
  const known = stock.rows.filter(({ row }) => ids.has(row.provided!.providerId)).length;
  return { ids, unknown: ids.size - known };
}

/** Recorded machines, without those known to be gone. */
const countMachines = ({ rows }: Stock): number =>
  rows.filter(({ row, device }) => !isMissing(row) || device !== null).length;

const isMissing = (row: MachineRow): boolean => row.provided!.status === 'Missing';
const isGivenUp = (row: MachineRow): boolean =>
  row.provided!.status === 'ProvisioningFailedPermanent';
/** A machine that is being given back, or is known to be gone, need not be listed. */
const isExpected = (row: MachineRow): boolean => row.deprovision === null && !isMissing(row);

/** An untrusted listing marks nothing. */
const hush = (input: FindingsInput, found: Finding, breaker: string | null): Finding => {
  const isMark = found.action === 'markAbsent' || found.action === 'confirmMissing';
  if (!isMark || (input.listingComplete && breaker === null)) return found;
  const why = breaker === null ? 'the listing is incomplete' : 'the circuit breaker is open';
  return { ...found, action: 'none', reason: `${found.reason}; ${why}` };
};

function judgeDevice(input: FindingsInput, { device, row }: Used): Finding | null {
  const { stock, provider } = input;
  if (row && isAsRecorded(row, device)) return null;
  const intent = stock.intentByWitness.get(witnessOf(device) ?? '') ?? null;
  const about = { slot: slot(provider, slotIdOfMachine(device)), device, row, intent };
  if (row) return judgeKnown(row, device, about);
  if (device.ownership === 'foreign') {
    const reason = `device ${device.id} carries the tag of another owner`;
    return { ...about, case: 'foreign', action: 'none', reason };
  }
  if (intent) return judgeWitnessed(input, { ...about, intent });
  // A creation of this process made the device after the rows were read.
  if (input.running.has(witnessOf(device) ?? '')) return null;
  if (device.failed) {
    const reason = `device ${device.id} is broken, and no machine or intent refers to it`;
    return { ...about, case: 'failed', action: 'none', reason };
  }
  const begun = stock.intentBySlot.get(slotIdOfMachine(device)) ?? null;
  const isAlone = !stock.rowSlots.has(slotIdOfMachine(device)) && mayTakeOver(input, begun);
  const action = input.assimilate && isAlone ? 'assimilate' : 'none';
  const reason = `no machine or intent refers to device ${device.id} (${device.ownership})`;
  return { ...about, intent: begun, case: 'orphan', action, reason };
}

/** An intent without any request to the provider comes from a failed takeover of this device. */
const mayTakeOver = (input: FindingsInput, begun: IntentRow | null): boolean =>
  begun === null || (begun.attempts === 0 && isIdle(input, begun));

type About = Pick<Finding, 'slot' | 'device' | 'row' | 'intent'>;

/** The common case: the device needs no action. */
const isAsRecorded = (row: MachineRow, device: ProviderMachine): boolean =>
  device.ownership === 'ours' &&
  slotIdOfMachine(device) === slotIdOfRow(row) &&
  (device.status === 'Missing' || (row.missing === null && !isMissing(row)));

function judgeKnown(row: MachineRow, device: ProviderMachine, about: About): Finding {
  const [is, was] = [slotIdOfMachine(device), slotIdOfRow(row)];
  if (device.ownership !== 'ours' || is !== was) {
    const reason =
      is === was ? `its device is ${device.ownership}` : `its device is on slot ${is}, not ${was}`;
    return { ...about, case: 'contradicted', action: 'none', reason };
  }
  const reason = `device ${device.id} is listed again`;
  return { ...about, case: 'back', action: 'markPresent', reason };
}

function judgeWitnessed(input: FindingsInput, about: About & { intent: IntentRow }): Finding {
  const { id } = about.device!;
  if (!isIdle(input, about.intent)) {
    const reason = `device ${id} is being recorded`;
    return { ...about, case: 'creating', action: 'none', reason };
  }
  const reason = `device ${id} carries the creation key of an unfinished creation`;
  return { ...about, case: 'adoptable', action: 'adopt', reason };
}

/** No session works on the creation: its session is dead, or is ours and idle. */
export const isIdle = (
  { running, self }: Pick<FindingsInput, 'running' | 'self'>,
  intent: IntentRow,
): boolean => !running.has(intent.witness) && (!intent.sessionAlive || intent.sessionId === self);

/** Whether a creation may be retried under its creation key. A limit ensures that it ends. */
export const mayResume = (
  input: Pick<FindingsInput, 'running' | 'self'>,
  intent: IntentRow,
): boolean => isIdle(input, intent) && intent.attempts < RESUMES_MAX;

function judgeRow(
  input: FindingsInput,
  { row, device }: Recorded,
  unclear: Unclear,
): Finding | null {
  const { provider, listedAtMs, nowMs } = input;
  const { providerId } = row.provided!;
  if (device !== null || !isExpected(row)) return null;
  // The device exists, but nothing else is known about it now.
  if (unclear.ids.has(providerId)) return null;
  // The machine was recorded after the listing began, so the listing cannot contain it.
  if (row.createdAtMs >= listedAtMs) return null;
  const isDue = isMissingDue(row.missing, nowMs);
  return {
    case: 'missing',
    action: isDue ? 'confirmMissing' : 'markAbsent',
    slot: slot(provider, slotIdOfRow(row)),
    device: null,
    row,
    intent: null,
    reason: `device ${providerId} is not listed (${(row.missing?.seen ?? 0) + 1} times in a row)`,
  };
}

function judgeIntent(input: FindingsInput, intent: IntentRow, unclear: Unclear): Finding | null {
  const { stock, provider } = input;
  if (stock.witnesses.has(intent.witness)) return null;
  const found = { slot: slot(provider, intent.slotId), device: null, row: null, intent };
  const action = emptyAction(input, intent, unclear);
  const reason = EMPTY_REASONS[action];
  return { ...found, case: 'unfinished', action, reason };
}

const EMPTY_REASONS = {
  none: 'its creation is under way',
  noteEmpty: 'no device of this creation is listed',
  noteGap: 'the listing is incomplete or partly unreadable: its device may be missing from it',
  drop: 'it was never requested, and its slot is no longer listed',
  abandon: 'no device with this creation key was ever seen',
} as const;

/** The slot is free, or any device uses it. */
const isListed = ({ stock }: FindingsInput, { slotId }: IntentRow): boolean =>
  stock.free.some((free) => free.slotId === slotId) ||
  stock.used.some(({ device }) => slotIdOfMachine(device) === slotId);

/** A device counts as never seen only after consecutive complete listings without it. */
function emptyAction(
  input: FindingsInput,
  intent: IntentRow,
  unclear: Unclear,
): keyof typeof EMPTY_REASONS {
  if (!isIdle(input, intent)) return 'none';
  const mayHideIt = !input.listingComplete || unclear.unknown > 0;
  if (mayHideIt) return intent.emptySinceMs === null ? 'none' : 'noteGap';
  if (intent.attempts === 0 && !isListed(input, intent)) return 'drop';
  if (intent.emptySinceMs === null) return 'noteEmpty';
  return input.nowMs - intent.emptySinceMs >= input.abandonMs ? 'abandon' : 'none';
}

/** When an unlisted device counts as gone, if the provider confirms it. */
const MISSING_RULE = {
  /** Complete listings in a row without the device. */
  seenMin: 3,
  /** Time from the first of these listings to the last. */
  overMs: 15 * 60_000,
} as const;

/**
 * Whether one more complete listing without the device requires the last check: a direct look-up.
 * Only its `not-found` makes the machine Missing.
 */
export function isMissingDue(missing: MachineRow['missing'], nowMs: number): boolean {
  if (missing === null) return false;
  const { seenMin, overMs } = MISSING_RULE;
  return missing.seen + 1 >= seenMin && nowMs - missing.sinceMs >= overMs;
}

/** How many of a provider's machines may disagree before the listing is doubted. */
const BREAKER = {
  /** Always allowed number. */
  countMax: 5,
  /** Allowed percentage of the machines. */
  percentMax: 10,
} as const;

interface BreakerInput {
  /** Entries of the listing, free capacity included. */
  readonly listed: number;
  /** Machines in the BMDB that the provider should know. */
  readonly expected: number;
  /** Machines of both sides, each counted once. */
  readonly machines: number;
  /** Devices of ours without any record, except failed ones. */
  readonly orphans: number;
  /** Machines whose device is not listed, except failed ones. */
  readonly missing: number;
}

/**
 * Why the whole listing is not trusted; null: it is trusted. An open breaker stops creations and
 * `missing` marks for that provider; everything else continues.
 */
function breakerReason(input: BreakerInput): string | null {
  const { listed, expected, machines, orphans, missing } = input;
  if (listed === 0 && expected > 0) {
    return `the listing is empty, while ${expected} machines are recorded`;
  }
  const disagree = orphans + missing;
  const limit = Math.max(BREAKER.countMax, (machines * BREAKER.percentMax) / 100);
  if (disagree <= limit) return null;
  return `${disagree} of ${machines} machines disagree (${orphans} orphans, ${missing} missing)`;
}
