import { z } from 'zod';
import type { CaseRepository } from '../../adapters/bmdb/port.ts';
import {
  CASE_LINE_KINDS,
  CASE_TEXT_MAX,
  CASE_TITLE_MAX,
  EVIDENCE_LEAD_MS,
  titleOf,
  type RepairCase,
} from '../../domain/cases.ts';
import { providerOf, slot as slotName, slotIdOf, type Slot } from '../../domain/ids.ts';
import { withoutSecrets } from '../../lib/secret-texts.ts';
import type { Person } from '../access/port.ts';
import type { FleetView } from '../port.ts';
import type { MachineHistory } from '../views.ts';
import { HistoryLineSchema, historyLine } from './insight.ts';
import { act, described, read, type Api } from './kit.ts';
import { Problem } from './problem.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';
import { requireRightAt } from './submit/refusals.ts';

const URL_MAX = 2_000;
const HISTORY_MAX = 1_000;
const neverAborted = () => new AbortController().signal;

const CaseSchema = named(
  'RepairCase',
  z.object({
    id: text.describe('Number of the case.'),
    slot: text.describe('`<provider>/<slot id>`: the physical machine.'),
    machineId: text.nullable().describe('Machine on the slot at the opening.'),
    title: text,
    part: text.nullable().describe('The broken part. Null: not known.'),
    ticketUrl: text.nullable().describe('Ticket in another system.'),
    openedAtMs: Milliseconds,
    openedBy: text,
    closedAtMs: Milliseconds.nullable().describe('Null: the case is open.'),
    closedBy: text.nullable(),
    outcome: text.nullable(),
  }),
);
const LineSchema = named(
  'CaseLine',
  z.object({
    atMs: Milliseconds,
    kind: z
      .enum(CASE_LINE_KINDS)
      .describe('Evidence from before the first reboot, from after it, or a note.'),
    author: text,
    text: text.describe('Without secrets.'),
  }),
);
export const CasesSchema = z.object({ cases: listOf(CaseSchema).describe('Newest first.') });
export const CaseInFullSchema = z.object({
  case: CaseSchema,
  lines: listOf(LineSchema).describe('The last 100, oldest first.'),
  conditions: listOf(HistoryLineSchema).describe(
    "Changes of the slot's conditions in that time, newest first.",
  ),
});

const Numbered = z.object({ id: text.regex(/^\d{1,18}$/) });
const SlotName = text.regex(/^[^/]+\/.+$/).max(300);
const Note = text
  .trim()
  .min(1)
  .max(CASE_TEXT_MAX / 2);
const Title = text.trim().min(1).max(CASE_TITLE_MAX);
const Outcome = text.trim().min(1).max(URL_MAX);
const Link = z.strictObject({
  part: text.trim().max(CASE_TITLE_MAX).optional().describe('Empty: removed.'),
  ticketUrl: z
    .url({ protocol: /^https?$/ })
    .max(URL_MAX)
    .or(z.literal(''))
    .optional()
    .describe('An http or https address. Empty: removed.'),
});

export interface CasesDeps {
  readonly fleet: Pick<FleetView, 'entries'>;
  readonly cases: CaseRepository;
  readonly history: Pick<MachineHistory, 'ofSlot'>;
}

/** `cases`: repairs of machines, with evidence and notes. */
export function addCases(api: Api, { fleet, cases, history }: CasesDeps): void {
  /** @throws {Problem} */
  const find = async (caseId: string, signal = neverAborted()): Promise<RepairCase> => {
    const [found] = await cases.list({ caseId }, signal);
    return known(found, `There is no case ${caseId}`);
  };
  api.get(
    '/cases',
    read('machines', 'Repairs of machines', CasesSchema, {
      querystring: z.strictObject({
        state: z.enum(['open', 'closed', 'all']).default('open'),
        slot: SlotName.optional(),
      }),
    }),
    async ({ query: { state, slot }, signal }) => {
      const where = slot === undefined ? undefined : placeOf(slot as Slot);
      const found = await cases.list({ state, slot: where }, signal);
      return { cases: found.map(shown) };
    },
  );
  api.get(
    '/cases/:id',
    read('machines', 'One repair, with its evidence and notes', CaseInFullSchema, {
      params: Numbered,
    }),
    async ({ params: { id }, signal }) => {
      const found = await find(id, signal);
      const { provider, slotId, caseId, closedAtMs: untilMs } = found;
      const sinceMs = found.openedAtMs - EVIDENCE_LEAD_MS;
      const name = slotName(provider, slotId);
      const [lines, log] = await Promise.all([
        cases.lines({ provider, slotId, caseId, sinceMs, untilMs }, signal),
        history.ofSlot({ slot: name, before: null, limit: HISTORY_MAX }, signal),
      ]);
      const conditions = log.lines.filter(
        ({ kind, atMs }) =>
          kind.startsWith('condition') && atMs >= sinceMs && atMs <= (untilMs ?? atMs),
      );
      return { case: shown(found), lines, conditions: conditions.map(historyLine) };
    },
  );
  api.post(
    '/cases',
    described(
      'operate',
      ['machines', 'Open a case for a slot'],
      { 200: CaseSchema },
      { body: Link.extend({ slot: SlotName, title: Title }) },
    ),
    async ({ person, body: { slot, title, part, ticketUrl } }) => {
      const place = placeOf(slot as Slot);
      mayChange(person, place);
      const entry = known(fleet.entries.get(slot as Slot), `No machine has slot ${slot}`);
      const { machineId } = entry.view;
      const by = person.name;
      const opened = await cases.open({ ...place, machineId, title: titleOf(title), by });
      if (!opened) throw new Problem('refused', `Slot ${slot} has an open case`);
      const isLinked = part !== undefined || ticketUrl !== undefined;
      const linked = isLinked ? await cases.update(opened.caseId, { by, part, ticketUrl }) : null;
      return shown(linked ?? opened);
    },
  );
  api.post(
    '/cases/:id/notes',
    act('operate', 'machines', 'Add a note to a case', {
      params: Numbered,
      body: z.strictObject({ text: Note }),
    }),
    async ({ person, params: { id }, body }, reply) => {
      const { caseId } = mayChange(person, await find(id));
      const note = withoutSecrets(body.text);
      await cases.addLine({ kind: 'note', caseId, author: person.name, text: note });
      return reply.code(204).send(null);
    },
  );
  api.patch(
    '/cases/:id',
    described(
      'operate',
      ['machines', 'Set the part or the ticket of a case'],
      { 200: CaseSchema },
      { params: Numbered, body: Link },
    ),
    async ({ person, params: { id }, body }) => {
      const { caseId } = mayChange(person, await find(id));
      const changed = await cases.update(caseId, { ...body, by: person.name });
      return shown(known(changed, `There is no case ${id}`));
    },
  );
  api.post(
    '/cases/:id/close',
    described(
      'operate',
      ['machines', 'Close a case'],
      { 200: CaseSchema },
      { params: Numbered, body: z.strictObject({ outcome: Outcome }) },
    ),
    async ({ person, params: { id }, body: { outcome } }) => {
      const { caseId } = mayChange(person, await find(id));
      const closed = await cases.close(caseId, { by: person.name, outcome });
      if (closed) return shown(closed);
      throw new Problem('refused', `Case ${id} is closed already`);
    },
  );
}

const placeOf = (name: Slot) => ({ provider: providerOf(name), slotId: slotIdOf(name) });

const shown = ({ caseId: id, provider, slotId, ...rest }: RepairCase) => ({
  ...{ id, slot: slotName(provider, slotId) },
  ...rest,
});

/** @throws {Problem} the person may not act at that provider. */
function mayChange<Place extends Pick<RepairCase, 'provider'>>(person: Person, place: Place) {
  requireRightAt(person, place.provider, `cases of ${place.provider}`);
  return place;
}

function known<Found>(found: Found | null | undefined, missing: string): Found {
  if (found === null || found === undefined) throw new Problem('not-found', missing);
  return found;
}
