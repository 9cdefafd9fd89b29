import { z } from 'zod';
import { STAGES } from '../../domain/balancing/plan.ts';
import { BLOCK_KINDS, EXPLAINED_WORK } from '../../domain/explanation/types.ts';
import { STATES } from '../../domain/states.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

export const ExplanationSchema = named(
  'Explanation',
  z.object({
    sentence: text.describe('At most 240 characters.'),
    sinceMs: Milliseconds.nullable().describe(
      'Since when the machine is in this state. Null: unknown.',
    ),
    by: text.nullable().describe('The user or component that caused this state. Null: nobody did.'),
    blockedBy: listOf(
      z.object({
        kind: z.enum(BLOCK_KINDS),
        text,
        endsAtMs: Milliseconds.nullable().describe('Null: it does not end by itself.'),
        endedBy: text.describe('Who or what ends it.'),
      }),
    ).describe('Obstacles to the next work. The one that ends last comes first.'),
    next: z.object({
      work: z.enum(EXPLAINED_WORK).nullable(),
      atMs: Milliseconds.nullable(),
      text,
    }),
    overdue: z
      .boolean()
      .describe(
        'Whether the state lasts far longer than allowed, and far longer than on similar machines.',
      ),
  }),
);

export const PlaceSchema = z.object({ state: z.enum(STATES), substate: text });
export const LiveSchema = named(
  'LiveMachine',
  z.object({
    atMs: Milliseconds,
    life: text.describe('State of the statechart, such as `Recovering.working`.'),
    requests: text.nullable(),
    task: z
      .object({
        chart: text,
        at: text,
        endsAtMs: Milliseconds.nullable().describe('When the current step times out.'),
      })
      .nullable()
      .describe('The work of this daemon on the machine.'),
    shown: PlaceSchema,
    rows: PlaceSchema,
    agrees: z.boolean().describe('False: the actor shows another state than the rows.'),
    last: z
      .object({ from: PlaceSchema, to: PlaceSchema, atMs: Milliseconds, reason: text.nullable() })
      .nullable(),
    timer: z.object({ from: PlaceSchema, to: PlaceSchema, atMs: Milliseconds }).nullable(),
  }),
);

const holder = {
  sessionId: text
    .nullable()
    .describe('Session of the daemon that has this job. Null: no daemon has it.'),
  isHere: z.boolean().describe('Whether the answering daemon has this job.'),
};
const counts = z.record(text, z.int());

const ProviderPlanSchema = z.object({
  provider: text,
  ...holder,
  mayEraseDisks: z.boolean(),
  unlisted: text.nullable().describe('Why the provider cannot be listed now.'),
  plan: z
    .object({
      atMs: Milliseconds,
      breaker: text.nullable().describe('Why the circuit breaker rejects the listing.'),
      summary: counts,
      overLimit: z
        .int()
        .describe('Number of machines above the limit. Shepherd gives none of them back.'),
      leftOut: z.int().describe('Number of free slots that stay free only because of the limit.'),
      service: z
        .object({
          target: z.int(),
          inService: z.int(),
          lost: z.int().describe('Slots that are retired, or whose machine needs a person.'),
          surplus: z
            .int()
            .describe('Machines beyond the target. Shepherd gives none of them back.'),
          replacedToday: z.int().describe('Replacements of the last 24 hours.'),
        })
        .nullable()
        .describe('Machines in service and the target. Null: the provider has no target.'),
      creationCount: z.int(),
      creations: listOf(
        z.object({ slot: text, verdict: z.enum(['create', 'resume', 'skip']), reason: text }),
      ).describe('The first 100 creations that would be started or resumed.'),
      skipped: listOf(z.object({ reason: text, count: z.int(), slots: listOf(text) })).describe(
        'Free slots that stay free, grouped by reason, with the first ten slots of each group.',
      ),
      findings: listOf(
        z.object({
          case: text,
          action: text.describe('`none`: Shepherd does nothing about the finding.'),
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
      ).describe('Deviations that the reconciliation found.'),
    })
    .nullable()
    .describe('Null: the provider was not listed yet.'),
});

const WorkPlanSchema = z.object({
  work: z.enum(EXPLAINED_WORK),
  count: z.int().describe('Number of machines whose next work this is.'),
  machines: listOf(
    z.object({
      slot: text,
      state: z.enum(STATES),
      substate: text,
      ...ExplanationSchema.pick({ sentence: true, blockedBy: true, next: true }).shape,
    }),
  ).describe('The first 50 machines, in order of processing.'),
});

const PoolPlanSchema = z.object({
  pool: text,
  balancer: text,
  ...holder,
  seenAtMs: Milliseconds.nullable().describe('When the balancer was read.'),
  plan: z
    .object({
      failure: text.nullable().describe('Why the balancer cannot be read.'),
      held: text.nullable().describe('Why the daemon changes nothing although changes are due.'),
      stage: z.enum(STAGES).nullable().describe('The next stage. Null: unknown.'),
      actions: listOf(
        z.object({ act: text, kind: text, name: text, id: text.nullable(), why: text.nullable() }),
      ),
      pending: z.object({ create: z.int(), update: z.int(), destroy: z.int() }).nullable(),
      unready: z.int().describe('Number of objects that are not ready yet.'),
      dropping: listOf(text).describe(
        'In stage `frozen`: machines whose servers would be removed.',
      ),
      shelved: listOf(text).describe(
        'Names of objects that are left alone for a while because they failed repeatedly.',
      ),
      isComplete: z.boolean(),
      moves: listOf(
        z.object({
          member: text,
          from: text.nullable(),
          to: text.nullable().describe('Null: unchanged.'),
          why: text.nullable(),
        }),
      ).describe('Changes of the states of members.'),
      panic: listOf(text).describe('Members that stay because too many would be dropped at once.'),
      leftOut: listOf(z.object({ machineId: text, why: text })),
    })
    .nullable()
    .describe('Null: only the daemon that has this job knows the plan.'),
});

export const PlanSchema = named(
  'Plan',
  z.object({
    atMs: Milliseconds,
    providers: listOf(ProviderPlanSchema),
    work: listOf(WorkPlanSchema).describe('Planned recoveries, agent starts and deprovisions.'),
    pools: listOf(PoolPlanSchema),
  }),
);
export type PlanAnswer = z.output<typeof PlanSchema>;
