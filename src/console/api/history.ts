import { z } from 'zod';
import type { SlotLine } from '../../domain/history/fold.ts';
import { isFailure } from '../../domain/history/fold.ts';
import { machineId, slot } from '../../domain/ids.ts';
import type { MachineHistory } from '../history.ts';
import type { Api } from './kit.ts';
import { MachineParams } from './machine.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named, wholeNumber } from './schemas.ts';

const text = z.string();
const LINES_MAX = 1_000;
const limit = wholeNumber(1, LINES_MAX).default(50);

export const HistoryLineSchema = named(
  'HistoryLine',
  z.object({
    atMs: Milliseconds,
    of: z.enum(['slot', 'work']).describe('`work`: what a daemon did to the machine.'),
    machineId: text.nullable().describe('Its tenancy then.'),
    kind: text.describe('Such as `quarantined`; of work `Started`, `Finished` or `Failed`.'),
    process: text.nullable().describe('Of work: which.'),
    actor: text.nullable().describe('A component, or a person.'),
    reason: text,
    from: text.nullable(),
    to: text.nullable(),
    sessionId: text.nullable(),
    isFailure: z.boolean(),
  }),
);
export const HistorySchema = z.object({
  lines: z.array(HistoryLineSchema).readonly().describe('Newest first.'),
  next: text.nullable().describe('Where it goes on; null: there is nothing older.'),
  tenants: z
    .array(z.object({ machineId: text, firstAtMs: Milliseconds, lastAtMs: Milliseconds }))
    .readonly()
    .describe('Of a slot: machines that its log tells of, the latest 20, the latest first.'),
});

/** `machines/{provider}/{slot}/history`, `history?machine=`: what happened, newest first. */
export function addHistory(api: Api, history: MachineHistory): void {
  const about = { config: { right: 'see' as const } };
  api.get(
    '/machines/:provider/:slot/history',
    {
      ...about,
      schema: {
        tags: ['machines'],
        summary: 'What happened to a slot and the machines that were on it, newest first',
        params: MachineParams,
        querystring: z.strictObject({
          limit,
          next: text.max(100).optional().describe('As the page before told it.'),
        }),
        response: { 200: HistorySchema },
      },
    },
    async ({ params, query, signal }) => {
      const place = slot(params.provider, params.slot);
      const before = query.next === undefined ? null : cutOf(query.next);
      const found = await history.ofSlot({ slot: place, before, limit: query.limit }, signal);
      const { next } = found;
      const tenants = found.tenants.map(({ machineId: id, firstAtMs, lastAtMs }) => {
        return { machineId: id, firstAtMs: Math.round(firstAtMs), lastAtMs: Math.round(lastAtMs) };
      });
      return { lines: found.lines.map(told), next: next && `${next.cut}.${next.seq}`, tenants };
    },
  );
  api.get(
    '/history',
    {
      ...about,
      schema: {
        tags: ['machines'],
        summary: 'What happened to one machine, whether it is there or gone, newest first',
        querystring: z.strictObject({ machine: z.uuid(), limit }),
        response: { 200: HistorySchema },
      },
    },
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
      return { lines: newest.slice(0, most).map(told), next: null, tenants: [] };
    },
  );
}

const NO_WORK = { process: null, sessionId: null };

function cutOf(text: string) {
  const [, cut, seq] = /^(\d{1,20})\.(\d{1,20})$/.exec(text) ?? [];
  if (cut !== undefined && seq !== undefined) return { cut, seq };
  const detail = 'it is not one that a page before told';
  throw new Problem('malformed', `next: ${detail}`, {
    errors: [{ pointer: '#/query/next', detail }],
  });
}

const told = (line: SlotLine): z.output<typeof HistoryLineSchema> => ({
  atMs: Math.round(line.atMs),
  ...{ of: line.of, machineId: line.machineId, kind: line.kind, process: line.process },
  ...{ actor: line.actor, reason: line.reason, from: line.from, to: line.to },
  ...{ sessionId: line.sessionId, isFailure: isFailure(line) },
});
