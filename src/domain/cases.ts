import { plainText } from '../lib/texts.ts';
import type { AcceptanceRow } from './acceptance.ts';
import { slotIdOf, type MachineId, type ProviderName } from './ids.ts';
import type { SlotFacts } from './machine.ts';

/** Repairs of broken machines: when one begins, and what belongs to it. */

/** A repair of a physical machine. Times: database clock, epoch ms. */
export interface RepairCase {
  /** A whole number, as text. */
  readonly caseId: string;
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Machine on the slot at the opening; null: none. */
  readonly machineId: MachineId | null;
  /** One line. */
  readonly title: string;
  /** The broken part; null: not known. */
  readonly part: string | null;
  /** Ticket in another system; null: none. */
  readonly ticketUrl: string | null;
  readonly openedAtMs: number;
  readonly openedBy: string;
  /** Null while the case is open, like the next two. */
  readonly closedAtMs: number | null;
  readonly closedBy: string | null;
  readonly outcome: string | null;
}

export const CASE_LINE_KINDS = ['evidence-before', 'evidence-after', 'note'] as const;
export type CaseLineKind = (typeof CASE_LINE_KINDS)[number];
/** Evidence from before the first reboot or after it. */
export type EvidenceKind = Exclude<CaseLineKind, 'note'>;

export interface CaseLine {
  readonly atMs: number;
  readonly kind: CaseLineKind;
  readonly author: string;
  /** Without secrets; at most `CASE_TEXT_MAX` characters. */
  readonly text: string;
}

/** Longest title or name of a part. */
export const CASE_TITLE_MAX = 200;
/** Longest evidence or note. */
export const CASE_TEXT_MAX = 65_536;
/** A case shows evidence from this long before its opening. */
export const EVIDENCE_LEAD_MS = 24 * 60 * 60_000;
/** Actor of cases and evidence that no person caused. */
export const CASE_RULE = 'shepherd';

/** Why a slot needs a person. */
export interface CaseReason extends Pick<
  RepairCase,
  'provider' | 'slotId' | 'machineId' | 'title'
> {
  /** Since when; null: only the slot's log knows. */
  readonly sinceMs: number | null;
}

const BY_CONDITION = 'condition ';

/**
 * Why the slot gets a case: a quarantine that only a person ends, or a condition that drains the
 * machine. Quarantines by operators and conflicts are no repairs.
 */
export function caseReasons({ slot, provider, row, holds, conditions }: SlotFacts): CaseReason[] {
  const about = { provider, slotId: slotIdOf(slot), machineId: row?.machineId ?? null };
  const quarantine = row?.quarantine ?? null;
  const needsPerson = quarantine?.kind === 'needsHuman' || (quarantine?.cause ?? null) !== null;
  const drain = holds.find(({ kind, setBy }) => kind === 'no-serve' && isByCondition(setBy));
  const type = drain?.setBy.slice(BY_CONDITION.length) ?? '';
  const times = conditions
    .filter((each) => each.type === type && each.status === 'True')
    .map(({ sinceMs }) => sinceMs);
  return [
    ...(quarantine && needsPerson
      ? [{ ...about, title: titleOf(quarantine.reason), sinceMs: null }]
      : []),
    ...(drain
      ? [{ ...about, title: titleOf(`${type}: ${drain.reason}`), sinceMs: Math.max(...times, 0) }]
      : []),
  ];
}

const isByCondition = (setBy: string): boolean => setBy.startsWith(BY_CONDITION);

/** A title of one line, never empty. */
export const titleOf = (text: string): string =>
  plainText(text.replaceAll(/\s+/g, ' ').trim(), CASE_TITLE_MAX) || 'it needs a person';

/**
 * Whether a reason opens a case. After the slot's last case was closed, only a newer reason does.
 * @param last the newest case of the slot; absent: it never had one.
 */
export function opensCase(
  { sinceMs }: Pick<CaseReason, 'sinceMs'>,
  last: Pick<RepairCase, 'closedAtMs'> | undefined,
): boolean {
  if (!last) return true;
  return last.closedAtMs !== null && sinceMs !== null && sinceMs > last.closedAtMs;
}

/** Whether an acceptance that was requested after the opening of the case closes it. */
export const closesCase = (
  { openedAtMs, closedAtMs }: Pick<RepairCase, 'openedAtMs' | 'closedAtMs'>,
  acceptance: Pick<AcceptanceRow, 'state' | 'askedAtMs'> | null,
): boolean =>
  closedAtMs === null && acceptance?.state === 'passed' && acceptance.askedAtMs > openedAtMs;
