import { z } from 'zod';
import { STAGES } from '../../domain/balancing/plan.ts';
import { BLOCK_KINDS, EXPLAINED_WORK } from '../../domain/explanation/types.ts';
import { STATES } from '../../domain/states.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

export const ExplanationSchema = named(
  'Explanation',
  z.object({
    sentence: text.describe('At most 240 characters.'),
    sinceMs: Milliseconds.nullable().describe('In this state since; null: not known.'),
    by: text.nullable().describe('Who brought it there; null: nobody did.'),
    blockedBy: listOf(
      z.object({
        kind: z.enum(BLOCK_KINDS),
        text,
        endsAtMs: Milliseconds.nullable().describe('Null: no clock ends it.'),
        endedBy: text.describe('Who or what ends it.'),
      }),
    ).describe('What stands in the way of the next work, the latest end first.'),
    next: z.object({
      work: z.enum(EXPLAINED_WORK).nullable(),
      atMs: Milliseconds.nullable(),
      text,
    }),
    overdue: z.boolean().describe('It takes far longer than it may, and than with its likes.'),
  }),
);

export const PlaceSchema = z.object({ state: z.enum(STATES), substate: text });
export const LiveSchema = named(
  'LiveMachine',
  z.object({
    atMs: Milliseconds,
    life: text.describe('State of its chart, such as `Recovering.working`.'),
    requests: text.nullable(),
    task: z
      .object({
        chart: text,
        at: text,
        endsAtMs: Milliseconds.nullable().describe('When its step is out of patience.'),
      })
      .nullable()
      .describe('What this daemon does to it.'),
    shown: PlaceSchema,
    rows: PlaceSchema,
    agrees: z.boolean().describe('False: actor and rows disagree.'),
    last: z
      .object({ from: PlaceSchema, to: PlaceSchema, atMs: Milliseconds, reason: text.nullable() })
      .nullable(),
    timer: z.object({ from: PlaceSchema, to: PlaceSchema, atMs: Milliseconds }).nullable(),
  }),
);

const holder = {
  sessionId: text.nullable().describe('Of the daemon whose job it is; null: nobody has it.'),
  isHere: z.boolean().describe('It is the one that answers.'),
};
const counts = z.record(text, z.int());

const ProviderPlanSchema = z.object({
  provider: text,
  ...holder,
  mayEraseDisks: z.boolean(),
  unlisted: text.nullable().describe('Why it cannot be listed now.'),
  plan: z
    .object({
      atMs: Milliseconds,
      breaker: text.nullable().describe('Why its listing is not trusted.'),
      summary: counts,
      overLimit: z.int().describe('Machines beyond the limit; none is given up.'),
      leftOut: z.int().describe('Free slots that only the limit keeps from becoming machines.'),
      creationCount: z.int(),
      creations: listOf(
        z.object({ slot: text, verdict: z.enum(['create', 'resume', 'skip']), reason: text }),
      ).describe('What would be created, or taken up again: the first 100.'),
      skipped: listOf(z.object({ reason: text, count: z.int(), slots: listOf(text) })).describe(
        'Free slots that are left alone, by reason; the first ten of each are named.',
      ),
      findings: listOf(
        z.object({
          case: text,
          action: text.describe('`none`: nothing is done about it.'),
          count: z.int(),
          examples: listOf(
            z.object({
              slot: text,
              device: text.nullable(),
              machineId: text.nullable(),
              reason: text,
            }),
          ),
        }),
      ).describe('What is not as it should be.'),
    })
    .nullable()
    .describe('Null: it was not listed yet.'),
});

const WorkPlanSchema = z.object({
  work: z.enum(EXPLAINED_WORK),
  count: z.int().describe('All machines that it is next for.'),
  machines: listOf(
    z.object({
      slot: text,
      state: z.enum(STATES),
      substate: text,
      ...ExplanationSchema.pick({ sentence: true, blockedBy: true, next: true }).shape,
    }),
  ).describe('The first 50, in the order in which they are taken.'),
});

const PoolPlanSchema = z.object({
  pool: text,
  balancer: text,
  ...holder,
  seenAtMs: Milliseconds.nullable().describe('When the balancer was looked at.'),
  plan: z
    .object({
      failure: text.nullable().describe('Why the balancer cannot be read.'),
      held: text.nullable().describe('Why nothing is done though there is something to do.'),
      stage: z.enum(STAGES).nullable().describe('What is done next; null: nothing is known.'),
      actions: listOf(
        z.object({ act: text, kind: text, name: text, id: text.nullable(), why: text.nullable() }),
      ),
      pending: z.object({ create: z.int(), update: z.int(), destroy: z.int() }).nullable(),
      unready: z.int().describe('Objects that are not ready, and are waited for.'),
      dropping: listOf(text).describe('Of `frozen`: machines whose servers would go.'),
      shelved: listOf(text).describe('What failed so often that it is left alone.'),
      isComplete: z.boolean(),
      moves: listOf(
        z.object({
          member: text,
          from: text.nullable(),
          to: text.nullable().describe('Null: it stays what it is.'),
          why: text.nullable(),
        }),
      ).describe('What becomes of members.'),
      panic: listOf(text).describe('Members that would be dropped together, and are not.'),
      leftOut: listOf(z.object({ machineId: text, why: text })),
    })
    .nullable()
    .describe('Null: only the daemon whose job it is knows.'),
});

export const PlanSchema = named(
  'Plan',
  z.object({
    atMs: Milliseconds,
    providers: listOf(ProviderPlanSchema),
    work: listOf(WorkPlanSchema).describe('What the ladder and the starter of agents would do.'),
    pools: listOf(PoolPlanSchema),
  }),
);
export type PlanAnswer = z.output<typeof PlanSchema>;
