import pLimit from 'p-limit';
import type {
  AcceptanceRepository,
  CaseRepository,
  EventRepository,
} from '../adapters/bmdb/port.ts';
import { ACCEPTANCE_SOURCE } from '../domain/acceptance.ts';
import { CASE_RULE, caseReasons, caseStep, isBroken, opensCase } from '../domain/cases.ts';
import type { CaseReason, CaseScene, RepairCase } from '../domain/cases.ts';
import { slot, type Slot } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import { repeatJob, type JobDeps } from './loops.ts';

/** The lease for opening and closing cases. */
export const CASES_JOB = 'cases';
/** Machines that are visited at the same time. */
const VISITS_MAX = 8;

export interface CasesDeps extends JobDeps {
  readonly cases: Pick<CaseRepository, 'open' | 'list' | 'close'>;
  readonly acceptances: Pick<AcceptanceRepository, 'begin' | 'request'>;
  readonly events: Pick<EventRepository, 'latest'>;
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  /** Reads the logs of a drained machine, which recovery does not visit. Never rejects. */
  readonly takeEvidence: (facts: SlotFacts, signal: AbortSignal) => Promise<void>;
  /** False: this daemon does not know all machines yet. */
  readonly isWhole: () => boolean;
  /** Whether the machine's acceptance must wait for a maintenance window. */
  readonly waitsForWindow: (facts: SlotFacts) => boolean;
  readonly scene: () => CaseScene;
  readonly periodMs: number;
}

/**
 * Opens a case for each slot that needs a person, and closes it once nothing is wrong any more and
 * the machine is accepted; repeatedly, while this daemon has the job. Ends with the signal.
 */
export function openCases(deps: CasesDeps, signal: AbortSignal): Promise<void> {
  const { periodMs } = deps;
  const job = { job: CASES_JOB, periodMs, failure: 'cases could not be carried on' };
  const visits = pLimit(VISITS_MAX);
  const look = async () => {
    if (!deps.isWhole()) return;
    const scene = deps.scene();
    const all = [...deps.facts().values()].map((facts) => ({
      ...{ facts, reasons: caseReasons(facts, scene) },
    }));
    await beginAcceptances(deps, all);
    const known = await deps.cases.list({ state: 'latest' }, signal);
    const latest = new Map(known.map((each) => [slot(each.provider, each.slotId), each]));
    const drained = await openDue(deps, all, latest, signal);
    await carryOn(deps, all, latest);
    const broken = all.filter(({ facts }) => drained.includes(facts.slot));
    await visits.map(broken, ({ facts }) => deps.takeEvidence(facts, signal));
  };
  return repeatJob(deps, job, look, signal);
}

interface Found {
  readonly facts: SlotFacts;
  readonly reasons: readonly CaseReason[];
}
type Latest = ReadonlyMap<Slot, RepairCase>;

async function beginAcceptances(deps: CasesDeps, all: readonly Found[]): Promise<void> {
  const due = all.flatMap(({ facts, reasons }) => {
    const { acceptance, machineId } = facts.row ?? {};
    if (acceptance?.state !== 'waiting' || !machineId) return [];
    const isTooEarly = acceptance.cause === 'repaired' && isBroken(facts, reasons);
    return isTooEarly || deps.waitsForWindow(facts) ? [] : [machineId];
  });
  if (due.length > 0) await deps.acceptances.begin(due);
}

async function carryOn(
  { cases, acceptances, log }: CasesDeps,
  all: readonly Found[],
  latest: Latest,
): Promise<void> {
  for (const { facts, reasons } of all) {
    const known = latest.get(facts.slot);
    if (!known || known.closedAtMs !== null || !facts.row) continue;
    const step = caseStep(known, facts.row.acceptance, isBroken(facts, reasons));
    if (step === 'request') await acceptances.request([facts.row.machineId]);
    if (step !== 'close') continue;
    const outcome = 'nothing is wrong any more, and the machine is accepted';
    const closed = await cases.close(known.caseId, { by: ACCEPTANCE_SOURCE, outcome });
    if (closed) log.info({ slot: facts.slot, case: known.caseId }, 'a case is closed');
  }
}

/** @returns slots with a new case whose machines a condition drains. */
async function openDue(
  deps: CasesDeps,
  all: readonly Found[],
  latest: Latest,
  signal: AbortSignal,
): Promise<readonly Slot[]> {
  const drained: Slot[] = [];
  for (const reason of all.flatMap(({ reasons }) => reasons)) {
    const name = slot(reason.provider, reason.slotId);
    const last = latest.get(name);
    const sinceMs = reason.sinceMs ?? (await quarantinedAtMs(deps, reason, last, signal));
    if (!opensCase({ ...reason, sinceMs }, last)) continue;
    const { sinceMs: _, isSuspicious: __, ...about } = reason;
    const opened = await deps.cases.open({ ...about, by: CASE_RULE });
    if (!opened) continue;
    deps.log.warn({ slot: name, case: opened.caseId, title: opened.title }, 'a case is opened');
    if (reason.sinceMs !== null) drained.push(name);
  }
  return drained;
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
