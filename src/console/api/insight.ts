import { z } from 'zod';
import { BLOCK_KINDS, EXPLAINED_WORK } from '../../domain/explanation/types.ts';
import { slot } from '../../domain/ids.ts';
import { STATES } from '../../domain/states.ts';
import type { MachineInsight } from '../insight.ts';
import type { Api } from './kit.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named } from './schemas.ts';

const text = z.string();
/** Times of the database have fractions of a millisecond. */
const Times = Milliseconds;

export const ExplanationSchema = named(
  'Explanation',
  z.object({
    sentence: text.describe('At most 240 characters.'),
    sinceMs: Times.nullable().describe('In this state since; null: not known.'),
    by: text.nullable().describe('Who brought it there; null: nobody did.'),
    blockedBy: z
      .array(
        z.object({
          kind: z.enum(BLOCK_KINDS),
          text,
          endsAtMs: Times.nullable().describe('Null: no clock ends it.'),
          endedBy: text.describe('Who or what ends it.'),
        }),
      )
      .readonly()
      .describe('What stands in the way of the next work, the latest end first.'),
    next: z.object({ work: z.enum(EXPLAINED_WORK).nullable(), atMs: Times.nullable(), text }),
    overdue: z.boolean().describe('It takes far longer than it may, and than with its likes.'),
  }),
);

const PlaceSchema = z.object({ state: z.enum(STATES), substate: text });
export const LiveSchema = named(
  'LiveMachine',
  z.object({
    atMs: Times,
    life: text.describe('State of its chart, such as `Recovering.working`.'),
    requests: text.nullable(),
    task: z
      .object({
        chart: text,
        at: text,
        endsAtMs: Times.nullable().describe('When its step is out of patience.'),
      })
      .nullable()
      .describe('What this daemon does to it.'),
    shown: PlaceSchema,
    rows: PlaceSchema,
    agrees: z.boolean().describe('False: actor and rows disagree.'),
    last: z
      .object({ from: PlaceSchema, to: PlaceSchema, atMs: Times, reason: text.nullable() })
      .nullable(),
    timer: z.object({ from: PlaceSchema, to: PlaceSchema, atMs: Times }).nullable(),
  }),
);

const params = z.object({ provider: text, slot: text });

/** `machines/{provider}/{slot}/explanation` and `…/live`: why it is there, and what its actor does. */
export function addInsight(api: Api, insight: MachineInsight): void {
  api.get(
    '/machines/:provider/:slot/explanation',
    {
      config: { right: 'see' },
      schema: {
        tags: ['machines'],
        summary: 'Why a machine is where it is, and what would end it',
        params,
        response: { 200: ExplanationSchema },
      },
    },
    async ({ params: named, signal }) =>
      required(named, await insight.explain(slot(named.provider, named.slot), signal)),
  );
  api.get(
    '/machines/:provider/:slot/live',
    {
      config: { right: 'see' },
      schema: {
        tags: ['machines'],
        summary: "What a machine's actor does at this moment, in the daemon that answers",
        params,
        response: { 200: LiveSchema },
      },
    },
    async ({ params: named }) => required(named, insight.live(slot(named.provider, named.slot))),
  );
}

function required<Found>(
  { provider, slot: id }: { readonly provider: string; readonly slot: string },
  found: Found | null,
): Found {
  if (found !== null) return found;
  throw new Problem('not-found', `No slot is named ${provider}/${id}`);
}
