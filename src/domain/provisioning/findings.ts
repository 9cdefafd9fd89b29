import { slot, type ProviderName, type SessionId, type Slot } from '../ids.ts';
import type { IntentRow, MachineRow, ProviderMachine, UnreadableEntry } from '../machine.ts';
import { RESUMES_MAX } from '../policy.ts';
import { witnessOf } from './provider-tags.ts';
import { slotIdOfMachine, slotIdOfRow, type Recorded, type Stock, type Used } from './stock.ts';

/**
 * What is not as it should be, machine by machine, and what is done about it:
 * - `adoptable`: a device with the witness of an unfinished creation: record it.
 * - `creating`: the same, while somebody works on it.
 * - `unfinished`: a creation of which no device is seen: wait, note it, or forget it.
 * - `orphan`: a device of ours (or nobody's) that nothing refers to.
 * - `failed`: the same, and the provider says it is broken.
 * - `foreign`: a device of another owner.
 * - `contradicted`: a machine whose device is not ours, or is listed on another slot.
 * - `missing`: a machine whose device is not listed.
 * - `back`: a machine that was missing and is listed again.
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
  /** What is listed and cannot be read: there, and perhaps ours. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Database time at which the listing was begun. */
  readonly listedAtMs: number;
  readonly nowMs: number;
  readonly self: SessionId | null;
  readonly running: ReadonlySet<string>;
  readonly assimilate: boolean;
  /** An unfinished creation without a device is forgotten after so long. */
  readonly abandonMs: number;
}

export interface Findings {
  readonly all: readonly Finding[];
  /** Why the listing as a whole is not believed; null: it is. */
  readonly breaker: string | null;
  readonly counts: {
    readonly orphan: number;
    readonly failed: number;
    readonly foreign: number;
    readonly missing: number;
    /** Machines and devices that count against the limit, unfinished creations left out. */
    readonly machines: number;
  };
}

/** Judges every machine by itself; only the breaker looks at all of them. */
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

/** Devices that cannot be read, and how many of them no machine of the BMDB has. */
interface Unclear {
  readonly ids: ReadonlySet<string>;
  readonly unknown: number;
}
const CLEAR: Unclear = { ids: new Set(), unknown: 0 };

/** One that cannot be read may be ours, so it counts against the limit. */
function unclearOf({ unreadable, stock }: FindingsInput): Unclear {
  if (unreadable.length === 0) return CLEAR;
  const ids = new Set(unreadable.flatMap(({ id }) => id ?? []));
  const known = stock.rows.filter(({ row }) => ids.has(row.provided!.providerId)).length;
  return { ids, unknown: ids.size - known };
}

/** Recorded machines, but those that are known to be gone. */
const countMachines = ({ rows }: Stock): number =>
  rows.filter(({ row, device }) => !isMissing(row) || device !== null).length;

const isMissing = (row: MachineRow): boolean => row.provided!.status === 'Missing';
const isGivenUp = (row: MachineRow): boolean =>
  row.provided!.status === 'ProvisioningFailedPermanent';
/** On its way back to the provider, or known to be gone: it need not be listed. */
const isExpected = (row: MachineRow): boolean => row.deprovision === null && !isMissing(row);

/** Nothing is marked on the word of a listing that is not believed. */
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
  // Made since the rows were read, by a creation of this process.
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

/** An intent that never asked for a device is one of taking this one over that did not succeed. */
const mayTakeOver = (input: FindingsInput, begun: IntentRow | null): boolean =>
  begun === null || (begun.attempts === 0 && isIdle(input, begun));

type About = Pick<Finding, 'slot' | 'device' | 'row' | 'intent'>;

/** Of nearly all devices there is nothing to be said. */
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
  const reason = `device ${id} carries the witness of an unfinished creation`;
  return { ...about, case: 'adoptable', action: 'adopt', reason };
}

/** Nobody works on the creation: its session is dead, or it is ours and idle. */
export const isIdle = (
  { running, self }: Pick<FindingsInput, 'running' | 'self'>,
  intent: IntentRow,
): boolean => !running.has(intent.witness) && (!intent.sessionAlive || intent.sessionId === self);

/** A creation may be tried again under its witness; not for ever, or it would never be settled. */
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
  // It is there, though nothing more is known of it now.
  if (unclear.ids.has(providerId)) return null;
  // Recorded since the listing was begun: it could not be in it.
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
  noteGap: 'the listing is incomplete, or holds what cannot be read: its device may be in the gap',
  drop: 'it was never asked for, and its slot is not listed any more',
  abandon: 'no device with this witness was ever seen',
} as const;

/** Free, or under a device of whomever. */
const isListed = ({ stock }: FindingsInput, { slotId }: IntentRow): boolean =>
  stock.free.some((free) => free.slotId === slotId) ||
  stock.used.some(({ device }) => slotIdOfMachine(device) === slotId);

/** A device counts as never seen only after an unbroken run of complete listings. */
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

/** When a device that listings do not show counts as gone, if the provider confirms it. */
const MISSING_RULE = {
  /** Complete listings in a row that do not know it. */
  seenMin: 3,
  /** Time from the first to the last of them. */
  overMs: 15 * 60_000,
} as const;

/**
 * Whether one more complete listing without the device makes it due for the last question: a direct
 * look, whose `not-found` alone makes the machine Missing.
 */
export function isMissingDue(missing: MachineRow['missing'], nowMs: number): boolean {
  if (missing === null) return false;
  const { seenMin, overMs } = MISSING_RULE;
  return missing.seen + 1 >= seenMin && nowMs - missing.sinceMs >= overMs;
}

/** How many of a provider's machines may disagree before its listing is doubted. */
const BREAKER = {
  /** So many always may. */
  countMax: 5,
  /** Percent of the machines. */
  percentMax: 10,
} as const;

interface BreakerInput {
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
