import type { CaseLine, EvidenceKind, RepairCase } from '../../domain/cases.ts';
import type { ProviderName } from '../../domain/ids.ts';

/**
 * Repairs of machines, with evidence and notes. Needs no session. Each change of a case writes an
 * event in its transaction.
 */
export interface CaseRepository {
  /** One by Shepherd makes an acceptance of the machine wait. @returns null: the slot has an open case. */
  open(opened: NewCase): Promise<RepairCase | null>;
  /** @returns the case; null: there is no such case. */
  update(caseId: string, change: CaseChange): Promise<RepairCase | null>;
  /** @returns false: the note's case does not exist. */
  addLine(line: NewEvidence | NewNote): Promise<boolean>;
  /** @returns null: there is no such open case. */
  close(caseId: string, end: CaseEnd): Promise<RepairCase | null>;
  /** Newest first. */
  list(query: CasesQuery, signal: AbortSignal): Promise<readonly RepairCase[]>;
  /** The last `CASE_LINES_MAX` lines, oldest first. */
  lines(query: CaseLinesQuery, signal: AbortSignal): Promise<readonly CaseLine[]>;
}

export const CASE_LINES_MAX = 100;
/** Most cases in one list, except for the latest of each slot. */
export const CASES_MAX = 1_000;
/** Closed cases and unused evidence are kept this long. */
export const CASES_KEPT_DAYS = 400;
export const EVIDENCE_KEPT_DAYS = 30;

export interface NewCase extends Pick<RepairCase, 'provider' | 'slotId' | 'machineId' | 'title'> {
  readonly by: string;
}
/** Absent: as it is. Empty: removed. */
export interface CaseChange {
  readonly by: string;
  readonly part?: string | undefined;
  readonly ticketUrl?: string | undefined;
}
export interface CaseEnd {
  /** A person, or `acceptance`. */
  readonly by: string;
  readonly outcome: string;
}
/** Evidence belongs to a slot, because it may be older than its case. */
export interface NewEvidence extends Pick<CaseLine, 'author' | 'text'> {
  readonly kind: EvidenceKind;
  readonly provider: ProviderName;
  readonly slotId: string;
}
export interface NewNote extends Pick<CaseLine, 'author' | 'text'> {
  readonly kind: 'note';
  readonly caseId: string;
}

export interface CasesQuery {
  /** Absent: all. `latest`: the newest case of each slot, whatever its state. */
  readonly state?: 'open' | 'closed' | 'all' | 'latest' | undefined;
  readonly slot?: { readonly provider: ProviderName; readonly slotId: string } | undefined;
  readonly caseId?: string | undefined;
}
/** Notes of a case, and evidence of a slot. */
export interface CaseLinesQuery {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Absent: no notes. */
  readonly caseId?: string | undefined;
  /** Evidence from this time on. */
  readonly sinceMs: number;
  /** Evidence until this time; null: without an end. */
  readonly untilMs: number | null;
}
