import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import { FREEZE_KINDS } from '../../domain/machine.ts';
import { GUARD_RULES } from '../../domain/recovery/guard-rules.ts';
import { budgetScope } from '../../domain/recovery/permits.ts';
import { GUARD_STATES } from '../../domain/recovery/standing.ts';
import type { GuardInsight } from '../guard.ts';
import type { FleetView } from '../port.ts';
import { sharedLook } from '../shared.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named, NeedHuman } from './schemas.ts';

const ScopeSchema = z.object({
  scope: z.string().describe('`fleet`, or a provider.'),
  state: z.enum(GUARD_STATES),
  sinceMs: Milliseconds.nullable(),
  reason: z.string().nullable(),
  started: z.int().describe('Machines whose agent was started,'),
  silent: z.int().describe('and those of them that are silent.'),
  ends: z
    .string()
    .nullable()
    .describe('What ends this state, and whether it ends by itself; null: nothing is the matter.'),
  endsAtMs: Milliseconds.nullable().describe(
    'When the clock ends it if nothing else changes; null: no clock does.',
  ),
});

export const GuardSchema = named(
  'Guard',
  z.object({
    state: z.enum(GUARD_STATES).describe('The gravest of all scopes.'),
    scopes: z.array(ScopeSchema).readonly(),
  }),
);

export const BudgetSchema = named(
  'Budget',
  z.object({
    scope: z.string().describe('`fleet`, a provider, or a location.'),
    permits: z.int(),
    budget: z.number(),
  }),
);

const RuleSchema = z.object({
  rule: z
    .enum(GUARD_RULES)
    .describe(
      '`silence`, `probes`: recovery freezes, for machines that fell silent or cannot be reached together; `suspicion`: it pauses while so many are late or silent.',
    ),
  count: z.int().describe('Machines that count now,'),
  of: z.int().describe('of so many that could.'),
  limit: z.int().describe('So many may; one more, and recovery stops.'),
  more: z
    .int()
    .nullable()
    .describe('So many more, and it stops; 0: it does now; null: not even all of them would.'),
});

const FullScopeSchema = ScopeSchema.extend({
  frozen: z
    .object({ by: z.string(), kind: z.enum(FREEZE_KINDS) })
    .nullable()
    .describe('Who froze it; `manual` ends by an operator only.'),
  thawsAtMs: Milliseconds.nullable().describe('If it stays as calm as it is; null: no clock does.'),
  permits: z
    .int()
    .nullable()
    .describe('Machines that recovery interrupts now; null: none is started.'),
  budget: z.number().nullable().describe('So many may be at once.'),
  waiting: z.int().describe('Machines that wait for a permit.'),
  rules: z
    .array(RuleSchema)
    .readonly()
    .describe('The nearest to stopping recovery first; none while the guard is blind.'),
});

const WAITING_SHOWN =
  'The first 100 of those that wait for a permit in this daemon, the next one first.';

const AnswerSchema = z.object({
  atMs: Milliseconds,
  state: GuardSchema.shape.state,
  scopes: z.array(FullScopeSchema).readonly(),
  needHuman: NeedHuman,
  budget: z.array(BudgetSchema.extend({ waiting: z.int() })).readonly(),
  waiting: z
    .array(
      z.object({
        slot: z.string(),
        queue: z
          .object({ scope: z.string(), place: z.int(), of: z.int() })
          .nullable()
          .describe('In which budget it waits for room; null: there is room.'),
        bar: z.string().nullable().describe('Why the guard holds it back; null: it does not.'),
      }),
    )
    .readonly()
    .describe(WAITING_SHOWN),
  mayEraseDisks: z
    .array(z.string())
    .readonly()
    .describe('Providers whose machines recovery may reinstall, which erases their disks.'),
});
export type GuardAnswer = z.output<typeof AnswerSchema>;

export interface GuardDeps {
  readonly fleet: FleetView;
  readonly guard: GuardInsight;
  readonly mayEraseDisks: readonly string[];
  readonly clock: Clock;
}

/** In a storm many wait, and all are put in order for it. */
const FRESH_MS = 1_000;

/** `guard`: whether machines are recovered now, why not, how near that is, and who waits. */
export function addGuard(api: Api, { fleet, guard, mayEraseDisks, clock }: GuardDeps): void {
  const look = sharedLook(clock, FRESH_MS, async () => guard.look());
  api.get(
    '/guard',
    {
      config: { right: 'see' },
      schema: {
        tags: ['guard'],
        summary: 'How the fleet guard stands, how near it is to a freeze, and who waits',
        response: { 200: AnswerSchema },
      },
    },
    async () => {
      const { scopes, waiting, waitingBy } = await look();
      const { atMs, guard: shown, needHuman } = fleet.frame();
      const budget = fleet.budget();
      const waitingIn = (scope: string) => waitingBy.get(scope) ?? 0;
      return {
        atMs,
        state: shown.state,
        scopes: shown.scopes.map((each) => {
          const place = budgetScope(each.scope);
          const use = budget.find(({ scope }) => scope === place);
          const {
            frozen = null,
            thawsAtMs = null,
            rules = [],
          } = scopes.find(({ scope }) => scope === each.scope) ?? {};
          return {
            ...{ ...each, frozen, thawsAtMs, rules, waiting: waitingIn(place) },
            permits: use?.permits ?? null,
            budget: use?.budget ?? null,
          };
        }),
        needHuman,
        budget: budget.map((use) => ({ ...use, waiting: waitingIn(use.scope) })),
        waiting,
        mayEraseDisks,
      };
    },
  );
}
