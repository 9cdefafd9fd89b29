import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import { STAGES } from '../../domain/balancing/plan.ts';
import { actionOf, type PoolPlan } from '../../domain/balancing/pool-plan.ts';
import { EXPLAINED_WORK } from '../../domain/explanation/types.ts';
import { STATES } from '../../domain/states.ts';
import type { PlanView, PoolOutlook, ProviderOutlook, WorkOutlook } from '../plan.ts';
import { sharedLook } from '../shared.ts';
import { ExplanationSchema } from './insight.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named } from './schemas.ts';

const text = z.string();
const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).readonly();
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
      breaker: text.nullable().describe('Why its listing is not believed.'),
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

export interface PlanDeps {
  readonly plan: PlanView;
  readonly clock: Clock;
}

/** Everything is walked through for it. */
const FRESH_MS = 5_000;

/** `plan`: what provisioners, ladder and balancers would do, and why. Changes nothing. */
export function addPlan(api: Api, { plan, clock }: PlanDeps): void {
  const look = sharedLook(clock, FRESH_MS, async () => told(plan));
  api.get(
    '/plan',
    {
      config: { right: 'see' },
      schema: {
        tags: ['fleet'],
        summary: 'What would be done next, and why; nothing is changed, and nobody asked',
        response: { 200: PlanSchema },
      },
    },
    () => look(),
  );
}

function told(view: PlanView): PlanAnswer {
  const { atMs, providers, work, pools } = view.plan();
  return {
    atMs: Math.round(atMs),
    providers: providers.map(toldOfProvider),
    work: work.map(toldOfWork),
    pools: pools.map(toldOfPool),
  };
}

function toldOfProvider({ planned, ...about }: ProviderOutlook) {
  if (planned === null) return { ...about, plan: null };
  const { atMs, foresight } = planned;
  return { ...about, plan: { ...foresight, atMs: Math.round(atMs) } };
}

const toldOfWork = ({ work, count, machines }: WorkOutlook) => ({
  work,
  count,
  machines: machines.map(({ explanation: { sentence, blockedBy, next }, ...each }) => ({
    ...each,
    ...{ sentence, blockedBy, next },
  })),
});

function toldOfPool({ seenAtMs, plan: outlook, ...about }: PoolOutlook) {
  const atMs = seenAtMs === null ? null : Math.round(seenAtMs);
  if (outlook === null) return { ...about, seenAtMs: atMs, plan: null };
  return { ...about, seenAtMs: atMs, plan: toldOfPoolPlan(outlook) };
}

export const toldOfPoolPlan = ({ plan, leftOut, failure, held, moves, panic }: PoolPlan) => ({
  ...{ failure, held, moves, panic },
  stage: plan?.stage ?? null,
  actions: (plan?.actions ?? []).map(actionOf),
  pending: plan?.pending ?? null,
  unready: plan?.unready.length ?? 0,
  dropping: plan?.dropping ?? [],
  shelved: plan?.shelved ?? [],
  isComplete: plan?.isComplete ?? false,
  leftOut: [...leftOut].map(([machineId, why]) => ({ machineId, why })),
});
