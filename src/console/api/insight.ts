import { z } from 'zod';
import { isFailure, type SlotLine } from '../../domain/history/fold.ts';
import { machineId, slot } from '../../domain/ids.ts';
import type { MachineHistory, MachineInsight } from '../views.ts';
import { read, type Api } from './kit.ts';
import { MachineParams } from './machine.ts';
import { ExplanationSchema, LiveSchema } from './plan-schema.ts';
import { malformed, Problem } from './problem.ts';
import { listOf, Milliseconds, named, text, wholeNumber } from './schemas.ts';

export const HistoryLineSchema = named(
  'HistoryLine',
  z.object({
    atMs: Milliseconds,
    of: z.enum(['slot', 'work']).describe('`work`: the work of a daemon on the machine.'),
    machineId: text.nullable().describe('Machine id at that time.'),
    kind: text.describe('Such as `quarantined`. For work: `Started`, `Finished` or `Failed`.'),
    process: text.nullable().describe('For work: its process.'),
    actor: text.nullable().describe('A component, or a user.'),
    reason: text,
    from: text.nullable(),
    to: text.nullable(),
    sessionId: text.nullable(),
    isFailure: z.boolean(),
  }),
);
export const HistorySchema = z.object({
  lines: listOf(HistoryLineSchema).describe('Newest first.'),
  next: text.nullable().describe('Position of the next page. Null: there are no older lines.'),
  tenants: listOf(
    z.object({ machineId: text, firstAtMs: Milliseconds, lastAtMs: Milliseconds }),
  ).describe('For a slot: the latest 20 machines in its log, latest first.'),
});

const limit = wholeNumber(1, 1_000).default(50);

/**
 * `machines/{provider}/{slot}/explanation`, `…/live`, `…/history`, `history?machine=`: why a
 * machine is in its state, what its actor does, and its history.
 */
export function addInsight(api: Api, insight: MachineInsight, history: MachineHistory): void {
  const given = { params: MachineParams };
  const known = <Found>(
    { provider, slot: id }: z.output<typeof MachineParams>,
    found: Found | null,
  ): Found => {
    if (found !== null) return found;
    throw new Problem('not-found', `No slot is named ${provider}/${id}`);
  };
  api.get(
    '/machines/:provider/:slot/explanation',
    read(
      'machines',
      'Why a machine is in its state, and what would end that state',
      ExplanationSchema,
      given,
    ),
    async ({ params, signal }) =>
      known(params, await insight.explain(slot(params.provider, params.slot), signal)),
  );
  api.get(
    '/machines/:provider/:slot/live',
    read(
      'machines',
      "The current state of a machine's actor in the answering daemon",
      LiveSchema,
      given,
    ),
    async ({ params }) => known(params, insight.live(slot(params.provider, params.slot))),
  );
  api.get(
    '/machines/:provider/:slot/history',
    read('machines', 'History of a slot and its machines, newest first', HistorySchema, {
      params: MachineParams,
      querystring: z.strictObject({
        limit,
        next: text.max(100).optional().describe('`next` of the previous page.'),
      }),
    }),
    async ({ params, query, signal }) => {
      const place = slot(params.provider, params.slot);
      const before = query.next === undefined ? null : cutOf(query.next);
      const found = await history.ofSlot({ slot: place, before, limit: query.limit }, signal);
      const { next, tenants } = found;
      return {
        lines: found.lines.map(historyLine),
        next: next && `${next.cut}.${next.seq}`,
        tenants,
      };
    },
  );
  api.get(
    '/history',
    read('machines', 'History of one machine, present or gone, newest first', HistorySchema, {
      querystring: z.strictObject({ machine: z.uuid(), limit }),
    }),
    async ({ query: { machine, limit: most }, signal }) => {
      const query = { machineId: machineId(machine), limit: most };
      const { events, work } = await history.ofMachine(query, signal);
      const lines: SlotLine[] = [
        ...events.map((each): SlotLine => ({ ...each, of: 'slot', ...NO_WORK })),
        ...work.map((each): SlotLine => ({
          ...{ atMs: each.atMs, of: 'work', machineId: machine, kind: each.event },
          ...{ process: each.process, actor: each.component, reason: each.cause ?? '' },
          ...{ from: null, to: null, sessionId: each.sessionId },
        })),
      ];
      const newest = lines.toSorted((a, b) => a.atMs - b.atMs).toReversed();
      return { lines: newest.slice(0, most).map(historyLine), next: null, tenants: [] };
    },
  );
}

const NO_WORK = { process: null, sessionId: null };

function cutOf(text: string) {
  const [, cut, seq] = /^(\d{1,20})\.(\d{1,20})$/.exec(text) ?? [];
  if (cut !== undefined && seq !== undefined) return { cut, seq };
  throw malformed('next', 'it is not the `next` of an earlier page');
}

/** A line of history as the API tells it. */
export const historyLine = (line: SlotLine) => ({ ...line, isFailure: isFailure(line) });
