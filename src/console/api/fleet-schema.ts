import { z } from 'zod';
import { DRAIN_ENDS, MEMBER_STATES } from '../../domain/balancing/members.ts';
import { NEED_KINDS } from '../../domain/fleet-status.ts';
import { SHARE_WORDS, TONES } from '../../domain/headline.ts';
import { FREEZE_KINDS } from '../../domain/machine.ts';
import { GUARD_RULES } from '../../domain/recovery/guard-rules.ts';
import { GUARD_STATES } from '../../domain/recovery/guard-status.ts';
import { STATES } from '../../domain/states.ts';
import { listOf, Milliseconds, named, NeedHuman, text } from './schemas.ts';

const ScopeSchema = z.object({
  scope: text.describe('`fleet`, or the name of a provider.'),
  state: z.enum(GUARD_STATES),
  sinceMs: Milliseconds.nullable(),
  reason: text.nullable(),
  started: z.int().describe('Number of machines whose agent was started.'),
  silent: z.int().describe('Number of started machines that are silent.'),
  ends: text
    .nullable()
    .describe('What ends this state, and whether it ends by itself. Null: nothing is wrong.'),
  endsAtMs: Milliseconds.nullable().describe(
    'When the state ends by itself if nothing else changes. Null: it does not.',
  ),
});

export const GuardSchema = named(
  'Guard',
  z.object({
    state: z.enum(GUARD_STATES).describe('The worst state of all scopes.'),
    scopes: listOf(ScopeSchema),
  }),
);

export const BudgetSchema = named(
  'Budget',
  z.object({
    scope: text.describe('`fleet`, or the name of a provider or location.'),
    permits: z.int(),
    budget: z.number(),
  }),
);

const RuleSchema = z.object({
  rule: z
    .enum(GUARD_RULES)
    .describe(
      '`silence`, `probes`: recovery freezes because many machines fell silent or cannot be reached. `suspicion`: recovery pauses while many machines are late or silent.',
    ),
  count: z.int().describe('Number of machines that meet the rule now.'),
  of: z.int().describe('Number of machines to which the rule applies.'),
  limit: z.int().describe('Maximum `count`. Recovery stops above it.'),
  more: z
    .int()
    .nullable()
    .describe(
      'Number of further machines that would stop recovery. 0: it stops now. Null: the scope has too few machines.',
    ),
});

const FullScopeSchema = ScopeSchema.extend({
  frozen: z
    .object({ by: text, kind: z.enum(FREEZE_KINDS) })
    .nullable()
    .describe('Who froze the scope. A `manual` freeze ends by an operator, or at `thawsAtMs`.'),
  thawsAtMs: Milliseconds.nullable().describe(
    'When it thaws if nothing changes. Null: not by itself.',
  ),
  permits: z
    .int()
    .nullable()
    .describe('Number of machines that recovery interrupts now. Null: no machine is started.'),
  budget: z.number().nullable().describe('Maximum number of permits at the same time.'),
  waiting: z.int().describe('Number of machines that wait for a permit.'),
  rules: listOf(RuleSchema).describe(
    'Sorted: the rule nearest to its limit comes first. Empty while the guard is blind.',
  ),
});

const WAITING_SHOWN =
  'The first 100 machines that wait for a permit in this daemon, in order of the queue.';

export const GuardAnswerSchema = z.object({
  atMs: Milliseconds,
  state: GuardSchema.shape.state,
  scopes: listOf(FullScopeSchema),
  needHuman: NeedHuman,
  budget: listOf(BudgetSchema.extend({ waiting: z.int() })),
  waiting: listOf(
    z.object({
      slot: text,
      queue: z
        .object({ scope: text, place: z.int(), of: z.int() })
        .nullable()
        .describe(
          'The budget for whose permit the machine waits, and its place in the queue. Null: permits are free.',
        ),
      bar: text.nullable().describe('Why the guard holds the machine back. Null: it does not.'),
    }),
  ).describe(WAITING_SHOWN),
  mayEraseDisks: listOf(text).describe(
    'Providers whose machines recovery may reinstall, which erases their disks.',
  ),
});
export type GuardAnswer = z.output<typeof GuardAnswerSchema>;

const ShareSchema = z.object({
  word: z.enum(SHARE_WORDS),
  machines: z.int(),
  tone: z.enum(TONES).describe('`warn` is shown in amber, `bad` in red.'),
  filter: text.describe('A filter that lists exactly these machines.'),
});

/** The machines' state at a glance. */
export const HeadlineSchema = named(
  'Headline',
  z.object({
    total: z
      .int()
      .describe('Number of slots. Slots that their provider no longer lists are not counted.'),
    tone: ShareSchema.shape.tone.describe('The worst tone of the shares.'),
    shares: listOf(ShareSchema),
    conditions: z.int().describe('Machines with a true condition, whatever their share.'),
  }),
);

const StatusSchema = named(
  'FleetStatus',
  z.object({
    needs: listOf(
      z.object({
        kind: z.enum(NEED_KINDS),
        title: text,
        text: text.describe('The cause, and what ends it.'),
        sinceMs: Milliseconds.nullable(),
        scope: text.nullable().describe('`fleet`, or the name of a provider.'),
      }),
    ).describe('Situations that need a person, the worst first.'),
    doing: listOf(ShareSchema).describe('Machines on which work is under way.'),
    next: z
      .object({ atMs: Milliseconds, text })
      .nullable()
      .describe('The next scheduled change, unless something else happens before.'),
  }),
);

export const FrameSchema = named(
  'Frame',
  z.object({
    atMs: Milliseconds,
    total: z.int(),
    counts: z.record(z.enum(STATES), z.int()),
    headline: HeadlineSchema,
    needHuman: NeedHuman,
    status: StatusSchema,
    guard: GuardSchema,
    budget: listOf(BudgetSchema),
    unlisted: listOf(z.object({ provider: text, sinceMs: Milliseconds, cause: text })).describe(
      'Providers that cannot be listed. The data of their slots dates from `sinceMs`.',
    ),
  }),
);

export const CellsSchema = named(
  'Cells',
  listOf(
    z.object({
      provider: text,
      location: text.nullable(),
      state: z.enum(STATES),
      word: z
        .enum(SHARE_WORDS)
        .nullable()
        .describe(
          'The word of the headline that counts these machines. Null: their slots are gone.',
        ),
      machines: z.int(),
    }),
  ).describe(
    'Number of machines by provider, location, state and word of the headline. Zeros are left out.',
  ),
);

export const FleetSchema = FrameSchema.extend({
  cells: CellsSchema,
  providers: listOf(text),
  mayEraseDisks: listOf(text),
  traits: listOf(z.object({ name: text, label: text })).describe(
    'Traits that appear as columns of the list of machines.',
  ),
  inspectorUrl: text.nullable().describe("Address of the relay to Stately's inspector."),
  inspector: z.boolean().describe('Whether admins can watch actors of this daemon.'),
});

const MemberSchema = named(
  'PoolMember',
  z.object({
    slot: text.nullable(),
    machineId: text,
    state: z.enum(MEMBER_STATES),
    sinceMs: Milliseconds,
    deadlineMs: Milliseconds.nullable(),
    how: z.enum(DRAIN_ENDS).nullable(),
    waived: z.boolean(),
    refused: z.boolean(),
    health: z.enum(['up', 'down', 'unknown']).nullable(),
    sessions: z.int().nullable(),
    note: text.nullable(),
  }),
);

const RequestedBySchema = z.object({ atMs: Milliseconds, by: text, reason: text }).nullable();

const PoolSchema = named(
  'Pool',
  z.object({
    pool: text,
    balancer: text,
    driver: text.nullable().describe('Null: the balancer is no longer configured.'),
    isConfigured: z
      .boolean()
      .describe('Whether the answering daemon has this pool and balancer in its configuration.'),
    state: text.nullable(),
    reason: text.nullable(),
    settledAtMs: Milliseconds.nullable(),
    observedAtMs: Milliseconds.nullable(),
    retryAtMs: Milliseconds.nullable(),
    frozen: z.object({ atMs: Milliseconds, reason: text }).nullable(),
    paused: RequestedBySchema,
    tornDown: RequestedBySchema,
    isTended: z.boolean().describe('Whether a live daemon manages the pool at this balancer.'),
    minActive: z.int(),
    members: listOf(MemberSchema),
    addresses: listOf(z.object({ address: text, ports: listOf(z.int()) })).nullable(),
  }),
);
export const PoolsSchema = z.object({ atMs: Milliseconds, pools: listOf(PoolSchema) });

const row = listOf(z.int());

/** By column, so that an hour is small. */
export const SeriesSchema = named(
  'Series',
  z.object({
    stepMs: z.int().describe('Length of each step.'),
    atMs: listOf(Milliseconds).describe('End of each step, oldest first.'),
    states: z
      .partialRecord(z.enum(STATES), row)
      .describe(
        'Number of machines by state at the end of each step. States without machines are left out.',
      ),
    silent: row.describe('Number of silent machines of state `Running` at the end of each step.'),
    heartbeats: row.describe('Heartbeats that the answering daemon accepted during each step.'),
    recoveries: row.describe('Number of machines whose recovery began during each step.'),
  }),
);
export type SeriesAnswer = z.output<typeof SeriesSchema>;
