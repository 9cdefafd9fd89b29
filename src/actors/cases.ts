import type { CaseRepository, EventRepository } from '../adapters/bmdb/port.ts';
import { CASE_RULE, caseReasons, opensCase } from '../domain/cases.ts';
import type { CaseReason, RepairCase } from '../domain/cases.ts';
import { slot, type Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import { repeatJob, type JobDeps } from './loops.ts';

/** The lease for opening cases. */
export const CASES_JOB = 'cases';

export interface CasesDeps extends JobDeps {
  readonly cases: Pick<CaseRepository, 'open' | 'list'>;
  readonly events: Pick<EventRepository, 'latest'>;
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  /** From a machine that no recovery visits. Never rejects. */
  readonly takeEvidence: (facts: SlotFacts, signal: AbortSignal) => Promise<void>;
  readonly periodMs: number;
}

/**
 * Opens a case for each slot that needs a person, repeatedly, while this daemon has the job. Never
 * closes one. Ends with the signal.
 */
export function openCases(deps: CasesDeps, signal: AbortSignal): Promise<void> {
  const { periodMs } = deps;
  const job = { job: CASES_JOB, periodMs, failure: 'cases could not be opened' };
  return repeatJob(deps, job, () => openDue(deps, signal), signal);
}

async function openDue(deps: CasesDeps, signal: AbortSignal): Promise<void> {
  const facts = deps.facts();
  const reasons = [...facts.values()].flatMap(caseReasons);
  if (reasons.length === 0) return;
  const known = await deps.cases.list({ state: 'latest' }, signal);
  const latest = new Map(known.map((each) => [slot(each.provider, each.slotId), each]));
  const drained: SlotFacts[] = [];
  for (const reason of reasons) {
    const name = slot(reason.provider, reason.slotId);
    const last = latest.get(name);
    const sinceMs = reason.sinceMs ?? (await quarantinedAtMs(deps, reason, last, signal));
    if (!opensCase({ sinceMs }, last)) continue;
    const { sinceMs: _, ...about } = reason;
    const opened = await deps.cases.open({ ...about, by: CASE_RULE });
    if (!opened) continue;
    deps.log.warn({ slot: name, case: opened.caseId, title: opened.title }, 'a case is opened');
    if (reason.sinceMs !== null) drained.push(facts.get(name)!);
  }
  for (const each of drained) await deps.takeEvidence(each, signal);
}

/** The last quarantine since the last case was closed; null: none, or nobody has to know. */
async function quarantinedAtMs(
  { events }: CasesDeps,
  { provider, slotId }: CaseReason,
  last: RepairCase | undefined,
  signal: AbortSignal,
): Promise<number | null> {
  if (!last || last.closedAtMs === null) return null;
  const types = ['machine.needs_human', 'machine.quarantined', 'machine.retired'] as const;
  const query = { types, provider, slotId, sinceMs: last.closedAtMs, limit: 1 };
  return (await events.latest(query, signal)).events.at(-1)?.atMs ?? null;
}
