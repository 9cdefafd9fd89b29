import {
  CASE_RULE,
  CASE_TEXT_MAX,
  EVIDENCE_LEAD_MS,
  type RepairCase,
} from '../../../../domain/cases.ts';
import type { CaseLineKind } from '../../../../domain/cases.ts';
import type { EventDetails, EventType } from '../../../../domain/events/fleet-event.ts';
import { plainText } from '../../../../lib/texts.ts';
import {
  CASE_LINES_MAX,
  CASES_KEPT_DAYS,
  CASES_MAX,
  EVIDENCE_KEPT_DAYS,
  type CaseRepository,
} from '../../cases-port.ts';
import { writeFleetEvents } from '../events/write.ts';
import { requestAcceptances } from '../recovery/acceptances.ts';
import type { Database, Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, named, selection, statement } from '../statement.ts';

/** The table must have the alias `r`. */
const CASE = selection({
  caseId: ['int8', 'r.case_id'],
  provider: ['provider', 'r.provider'],
  slotId: ['text', 'r.slot_id'],
  machineId: ['machine?', 'r.machine_id'],
  title: ['text', 'r.title'],
  part: ['text?', 'r.part'],
  ticketUrl: ['text?', 'r.ticket_url'],
  openedAtMs: ['float8', ms('r.opened_at')],
  openedBy: ['text', 'r.opened_by'],
  closedAtMs: ['float8?', ms('r.closed_at')],
  closedBy: ['text?', 'r.closed_by'],
  outcome: ['text?', 'r.outcome'],
});
const LINE = selection({
  atMs: ['float8', ms('l.at')],
  kind: ['text' as As<'text', CaseLineKind>, 'l.kind'],
  author: ['text', 'l.author'],
  text: ['text', 'l.text'],
});
const columns = CASE.columns;
const time = (atMs: string) => `to_timestamp(${atMs} / 1000)`;

/** Conditions of rows that are too old to be kept. */
const OLD_CASE = `closed_at < now() - interval '${CASES_KEPT_DAYS} days'`;
const OLD_LINE = `l.case_id IS NULL AND l.at < now() - interval '${EVIDENCE_KEPT_DAYS} days'
  AND NOT EXISTS (SELECT 1 FROM repair_cases r
    WHERE r.provider = l.provider AND r.slot_id = l.slot_id AND l.at <= coalesce(r.closed_at, l.at)
      AND l.at >= r.opened_at - interval '${EVIDENCE_LEAD_MS} milliseconds')`;
/** Whether `trimCases` or `trimLines` has work to do. */
export const OUTDATED_CASES = `EXISTS (SELECT 1 FROM repair_cases WHERE ${OLD_CASE})
  OR EXISTS (SELECT 1 FROM case_lines l WHERE ${OLD_LINE})`;

export const statements = named('cases', {
  open: statement({
    params: { provider: 'text', slotId: 'text', machineId: 'uuid?', title: 'text', by: 'text' },
    columns,
    text: ({ provider, slotId, machineId, title, by }) =>
      `INSERT INTO repair_cases AS r (provider, slot_id, machine_id, title, opened_by)
       VALUES (${provider}, ${slotId}, ${machineId}, ${title}, ${by})
       ON CONFLICT (provider, slot_id) WHERE closed_at IS NULL DO NOTHING RETURNING ${CASE.sql}`,
  }),
  update: statement({
    params: { caseId: 'int8', part: 'text?', ticketUrl: 'text?' },
    columns,
    text: ({ caseId, part, ticketUrl }) =>
      `UPDATE repair_cases r SET part = nullif(coalesce(${part}, part), ''),
         ticket_url = nullif(coalesce(${ticketUrl}, ticket_url), '')
       WHERE r.case_id = ${caseId} RETURNING ${CASE.sql}`,
  }),
  close: statement({
    params: { caseId: 'int8', by: 'text', outcome: 'text' },
    columns,
    text: ({ caseId, by, outcome }) =>
      `UPDATE repair_cases r SET closed_at = now(), closed_by = ${by}, outcome = ${outcome}
       WHERE r.case_id = ${caseId} AND r.closed_at IS NULL RETURNING ${CASE.sql}`,
  }),
  list: statement({
    params: { state: 'text', provider: 'text?', slot: 'text?', caseId: 'int8?' },
    columns,
    text: ({ state, provider, slot, caseId }) =>
      `SELECT ${CASE.sql} FROM repair_cases r
       WHERE (${state} = 'all' OR (r.closed_at IS NULL) = (${state} = 'open'))
         AND (${slot} IS NULL OR (r.provider, r.slot_id) = (${provider}, ${slot}))
         AND r.case_id = coalesce(${caseId}, r.case_id)
       ORDER BY r.case_id DESC LIMIT ${CASES_MAX}`,
  }),
  latest: statement({
    columns,
    text: () =>
      `SELECT ${CASE.sql} FROM repair_cases r WHERE NOT EXISTS (SELECT 1 FROM repair_cases n
         WHERE n.provider = r.provider AND n.slot_id = r.slot_id AND n.case_id > r.case_id)
       ORDER BY r.case_id DESC`,
  }),
  addEvidence: statement({
    params: { provider: 'text', slotId: 'text', kind: 'text', author: 'text', text: 'raw' },
    text: ({ provider, slotId, kind, author, text }) =>
      `INSERT INTO case_lines (provider, slot_id, kind, author, text)
       VALUES (${provider}, ${slotId}, ${kind}, ${author}, ${text})`,
  }),
  addNote: statement({
    params: { caseId: 'int8', author: 'text', text: 'raw' },
    columns,
    text: ({ caseId, author, text }) =>
      `WITH noted AS (
         INSERT INTO case_lines (provider, slot_id, case_id, kind, author, text)
         SELECT provider, slot_id, case_id, 'note', ${author}, ${text}
         FROM repair_cases WHERE case_id = ${caseId})
       SELECT ${CASE.sql} FROM repair_cases r WHERE r.case_id = ${caseId}`,
  }),
  lines: statement({
    params: {
      ...{ provider: 'text', slotId: 'text', caseId: 'int8?' },
      ...{ sinceMs: 'float8', untilMs: 'float8?' },
    },
    columns: LINE.columns,
    text: ({ provider, slotId, caseId, sinceMs, untilMs }) =>
      `SELECT ${LINE.sql} FROM (
         SELECT * FROM case_lines l WHERE l.provider = ${provider} AND l.slot_id = ${slotId}
           AND (l.case_id = ${caseId} OR l.case_id IS NULL AND l.at >= ${time(sinceMs)}
             AND (${untilMs} IS NULL OR l.at < ${time(`(${untilMs} + 1)`)}))
         ORDER BY l.line DESC LIMIT ${CASE_LINES_MAX}) l
       ORDER BY l.line`,
  }),
  trimCases: statement({
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM repair_cases WHERE case_id IN (
         SELECT case_id FROM repair_cases WHERE ${OLD_CASE} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
  trimLines: statement({
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM case_lines WHERE line IN (
         SELECT l.line FROM case_lines l WHERE ${OLD_LINE} LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
});

/** Removes what is too old. @returns the number of removed rows. */
export const trimCases = async (q: Queries, limit: number): Promise<number> =>
  (await q.run(statements.trimCases, { limit })) + (await q.run(statements.trimLines, { limit }));

/** The details of an event about a case. */
export const caseDetails = ({ caseId, title, ticketUrl }: RepairCase): EventDetails => ({
  ...{ case: caseId, title, ticket: ticketUrl },
});

/** See `CaseRepository`. */
export function createCaseRepository(db: Database): CaseRepository {
  /** Changes a case and tells it, in one transaction. */
  const change = (
    doing: string,
    told: { readonly type: EventType; readonly actor: string; readonly reason: string },
    write: (q: Queries) => Promise<RepairCase[]>,
  ): Promise<RepairCase | null> =>
    db.transact({ doing, isolation: 'READ COMMITTED' }, async (q) => {
      const [found = null] = await write(q);
      if (!found) return null;
      const { provider, slotId, machineId } = found;
      const about = { provider, slotId, ...(machineId !== null && { machineId }) };
      await writeFleetEvents(q, [{ ...told, ...about, details: caseDetails(found) }]);
      return found;
    });
  return {
    open: (opened) =>
      change(
        'open a case',
        { type: 'case.opened', actor: opened.by, reason: opened.title },
        async (q) => {
          const [added] = await q.rows(statements.open, opened);
          const { openedBy, machineId: id = null } = added ?? {};
          if (openedBy === CASE_RULE && id !== null) await requestAcceptances(q, [id], 'repaired');
          return added ? [added] : [];
        },
      ),
    update: (caseId, { by, part, ticketUrl }) =>
      change(
        `change case ${caseId}`,
        { type: 'case.linked', actor: by, reason: ticketUrl ?? part ?? '' },
        (q) => q.rows(statements.update, { caseId, part, ticketUrl }),
      ),
    close: (caseId, { by, outcome }) =>
      change(`close case ${caseId}`, { type: 'case.closed', actor: by, reason: outcome }, (q) =>
        q.rows(statements.close, { caseId, by, outcome }),
      ),
    addLine: async (line) => {
      const { author } = line;
      const text = plainText(line.text, CASE_TEXT_MAX);
      if (line.kind === 'note') {
        const { caseId } = line;
        const told = { type: 'case.noted', actor: author, reason: text } as const;
        const noted = await change(`note on case ${caseId}`, told, (q) =>
          q.rows(statements.addNote, { caseId, author, text }),
        );
        return noted !== null;
      }
      await db.commit({ doing: 'keep evidence' }, statements.addEvidence, { ...line, text });
      return true;
    },
    list: ({ state = 'all', slot, caseId }, signal) => {
      const how = { doing: 'read cases', signal };
      if (state === 'latest') return db.once(how, statements.latest, {});
      return db.once(how, statements.list, {
        ...{ state, caseId, provider: slot?.provider, slot: slot?.slotId },
      });
    },
    lines: (query, signal) =>
      db.once({ doing: 'read the lines of a case', signal }, statements.lines, {
        ...query,
        untilMs: query.untilMs ?? undefined,
      }),
  };
}
