import { plainText } from '../lib/texts.ts';
import { ACCEPTANCE_SOURCE, type AcceptanceRow } from './acceptance.ts';
import { standingOf, type ConditionPolicy } from './conditions.ts';
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
  /** Too many machines have it, so that it opens no case. */
  readonly isSuspicious: boolean;
}

/** Shared, because almost all machines of a large fleet are well. */
const NONE: readonly CaseReason[] = [];

/** What decides which conditions drain a machine. */
export interface CaseScene extends Pick<ConditionPolicy, 'effects'> {
  readonly nowMs: number;
  /** See `suspiciousTypes`. */
  readonly suspicious: ReadonlySet<string>;
}

/**
 * Why the slot needs a repair: a quarantine that only a person ends, or a condition that drains, whatever
 * other holds there are. Quarantines by operators and conflicts are no repairs.
 */
export function caseReasons(facts: SlotFacts, scene: CaseScene): readonly CaseReason[] {
  const { row, conditions } = facts;
  if (conditions.length === 0 && !row?.quarantine) return NONE;
  const about = {
    ...{ provider: facts.provider, slotId: slotIdOf(facts.slot) },
    machineId: row?.machineId ?? null,
  };
  const quarantine = row?.quarantine ?? null;
  const needsPerson = quarantine?.kind === 'needsHuman' || (quarantine?.cause ?? null) !== null;
  const drains = conditions.flatMap((each): CaseReason[] => {
    const { type, source, status, reason, sinceMs, fromMs } = each;
    if (status !== 'True' || (fromMs ?? 0) > scene.nowMs) return [];
    const { effect, suspicious: isSuspicious } = standingOf(each, scene.suspicious, scene);
    if (effect !== 'drain') return [];
    const title = titleOf(`${type}: ${source}: ${reason}`);
    return [{ ...about, title, sinceMs: Math.max(sinceMs, fromMs ?? 0), isSuspicious }];
  });
  return quarantine && needsPerson
    ? [
        { ...about, title: titleOf(quarantine.reason), sinceMs: null, isSuspicious: false },
        ...drains,
      ]
    : drains;
}

/** A title of one line, never empty. */
export const titleOf = (text: string): string =>
  plainText(text.replaceAll(/\s+/g, ' ').trim(), CASE_TITLE_MAX) || 'it needs a person';

/**
 * Whether a reason opens a case. After a person closed the slot's last case, only a newer reason does.
 * Acceptance closes a case only without reasons, so that any is newer.
 * @param last the newest case of the slot; absent: it never had one.
 */
export function opensCase(
  { sinceMs, isSuspicious }: Pick<CaseReason, 'sinceMs' | 'isSuspicious'>,
  last: Pick<RepairCase, 'closedAtMs' | 'closedBy'> | undefined,
): boolean {
  if (isSuspicious) return false;
  if (!last) return true;
  if (last.closedAtMs === null || sinceMs === null) return false;
  return last.closedBy === ACCEPTANCE_SOURCE || sinceMs > last.closedAtMs;
}

/** Whether something is wrong with the machine, or a person has put it aside. */
export function isBroken({ row }: Pick<SlotFacts, 'row'>, reasons: readonly CaseReason[]): boolean {
  const { quarantine = null, deprovision = null } = row ?? {};
  return reasons.length > 0 || quarantine !== null || deprovision !== null;
}

/**
 * What follows for an open case. Only an acceptance that began after the repair closes it; another one
 * may have been made in the middle of it. One that failed is for people: nothing is repeated by itself.
 */
export function caseStep(
  { openedAtMs, openedBy }: Pick<RepairCase, 'openedAtMs' | 'openedBy'>,
  acceptance: Pick<AcceptanceRow, 'state' | 'cause' | 'askedAtMs'> | null,
  broken: boolean,
): 'request' | 'close' | null {
  if (acceptance?.state === 'waiting' || acceptance?.state === 'due') return null;
  if (broken) return 'request';
  if (acceptance?.cause !== 'repaired' || acceptance.askedAtMs <= openedAtMs)
    return openedBy === CASE_RULE ? 'request' : null;
  return acceptance.state === 'passed' ? 'close' : null;
}
