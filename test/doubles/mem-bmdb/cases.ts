import {
  CASE_RULE,
  CASE_TEXT_MAX,
  EVIDENCE_LEAD_MS,
  type CaseLine,
  type RepairCase,
} from '../../../src/domain/cases.ts';
import type { EventType } from '../../../src/domain/events/fleet-event.ts';
import { plainText } from '../../../src/lib/texts.ts';
import {
  CASE_LINES_MAX,
  CASES_KEPT_DAYS,
  CASES_MAX,
  EVIDENCE_KEPT_DAYS,
} from '../../../src/adapters/bmdb/port.ts';
import type { CaseRepository } from '../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { requestAcceptance } from './acceptances.ts';
import { tell } from './events.ts';
import { plain } from './plain.ts';
import type { Memory } from './tables.ts';

const DAY_MS = 86_400_000;

export interface MemCaseLine extends CaseLine {
  readonly provider: string;
  readonly slotId: string;
  readonly caseId: string | null;
}

type Told = { readonly type: EventType; readonly actor: string; readonly reason: string };

/** See `CaseRepository`. */
export function createCaseRepository(memory: Memory): CaseRepository {
  const find = (caseId: string) => memory.cases.find((each) => each.caseId === caseId);
  const change = (caseId: string, told: Told, by: Partial<RepairCase>): RepairCase | null => {
    const found = find(caseId);
    if (!found) return null;
    const changed: RepairCase = { ...found, ...plain(by) };
    memory.cases[memory.cases.indexOf(found)] = changed;
    tellCase(memory, changed, told);
    return changed;
  };
  return {
    open: async ({ by, ...opened }) => {
      const { provider, slotId } = opened;
      const isOpen = ({ closedAtMs, ...each }: RepairCase) =>
        closedAtMs === null && each.provider === provider && each.slotId === slotId;
      if (memory.cases.some(isOpen)) return null;
      const added: RepairCase = plain({
        ...{ ...opened, caseId: String(memory.nextNumber()), part: null, ticketUrl: null },
        ...{ openedAtMs: memory.now(), openedBy: by },
        ...{ closedAtMs: null, closedBy: null, outcome: null },
      });
      memory.cases.push(added);
      const machine = memory.machines.get(added.machineId ?? ('' as MachineId));
      if (by === CASE_RULE && machine) requestAcceptance(memory, machine, 'repaired');
      tellCase(memory, added, { type: 'case.opened', actor: by, reason: opened.title });
      return added;
    },
    update: async (caseId, { by, part, ticketUrl }) =>
      change(
        caseId,
        { type: 'case.linked', actor: by, reason: ticketUrl ?? part ?? '' },
        {
          ...(part !== undefined && { part: part || null }),
          ...(ticketUrl !== undefined && { ticketUrl: ticketUrl || null }),
        },
      ),
    close: async (caseId, { by, outcome }) => {
      if (find(caseId)?.closedAtMs !== null) return null;
      const end = { closedAtMs: memory.now(), closedBy: by, outcome };
      return change(caseId, { type: 'case.closed', actor: by, reason: outcome }, end);
    },
    addLine: async (line) => {
      const { kind, author } = line;
      const text = plainText(line.text, CASE_TEXT_MAX);
      const about = line.kind === 'note' ? find(line.caseId) : { ...line, caseId: null };
      if (!about) return false;
      const { provider, slotId, caseId } = about;
      const added = { provider, slotId, caseId, kind, author, text, atMs: memory.now() };
      memory.caseLines.push(added);
      if (line.kind === 'note')
        change(line.caseId, { type: 'case.noted', actor: author, reason: text }, {});
      return true;
    },
    list: async ({ state = 'all', slot, caseId }) => {
      const newest = memory.cases.toReversed();
      const isLatest = (each: RepairCase, at: number) => !newest.slice(0, at).some(sameSlot(each));
      if (state === 'latest') return newest.filter(isLatest);
      return newest
        .filter(
          (each) =>
            (state === 'all' || (each.closedAtMs === null) === (state === 'open')) &&
            (slot === undefined || sameSlot(slot)(each)) &&
            (caseId ?? each.caseId) === each.caseId,
        )
        .slice(0, CASES_MAX);
    },
    lines: async ({ caseId, sinceMs, untilMs, ...slot }) =>
      memory.caseLines
        .filter(
          (each) =>
            sameSlot(slot)(each) &&
            (each.caseId === null
              ? each.atMs >= sinceMs && each.atMs <= (untilMs ?? each.atMs)
              : each.caseId === caseId),
        )
        .slice(-CASE_LINES_MAX)
        .map(({ atMs, kind, author, text }) => ({ atMs, kind, author, text })),
  };
}

interface Place {
  readonly provider: string;
  readonly slotId: string;
}
const sameSlot =
  ({ provider, slotId }: Place) =>
  (each: Place): boolean =>
    each.provider === provider && each.slotId === slotId;

function tellCase(memory: Memory, told: RepairCase, event: Told): void {
  const { caseId, provider, slotId, machineId, title, ticketUrl } = told;
  const about = { provider, slotId, ...(machineId !== null && { machineId }) };
  const details = { case: caseId, title, ticket: ticketUrl };
  tell(memory, { ...plain(event), ...about, details });
}

/** Removes old cases, and old evidence that no case shows. */
export function trimCases(memory: Memory): void {
  const before = (days: number) => memory.now() - days * DAY_MS;
  memory.cases = memory.cases.filter(
    ({ closedAtMs }) => closedAtMs === null || closedAtMs >= before(CASES_KEPT_DAYS),
  );
  const shows = (line: MemCaseLine) => (each: RepairCase) =>
    sameSlot(line)(each) &&
    line.atMs >= each.openedAtMs - EVIDENCE_LEAD_MS &&
    line.atMs <= (each.closedAtMs ?? line.atMs);
  memory.caseLines = memory.caseLines.filter((line) =>
    line.caseId === null
      ? line.atMs >= before(EVIDENCE_KEPT_DAYS) || memory.cases.some(shows(line))
      : memory.cases.some(({ caseId }) => caseId === line.caseId),
  );
}
