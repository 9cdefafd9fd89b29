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
  scope: text.describe('`fleet`, or a provider.'),
  state: z.enum(GUARD_STATES),
  sinceMs: Milliseconds.nullable(),
  reason: text.nullable(),
  started: z.int().describe('Machines whose agent was started,'),
  silent: z.int().describe('and those of them that are silent.'),
  ends: text
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
    scopes: listOf(ScopeSchema),
  }),
);

export const BudgetSchema = named(
  'Budget',
  z.object({
    scope: text.describe('`fleet`, a provider, or a location.'),
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
    .object({ by: text, kind: z.enum(FREEZE_KINDS) })
    .nullable()
    .describe('Who froze it; `manual` ends by an operator, or at its end (`thawsAtMs`).'),
  thawsAtMs: Milliseconds.nullable().describe('If it stays as calm as it is; null: no clock does.'),
  permits: z
    .int()
    .nullable()
    .describe('Machines that recovery interrupts now; null: none is started.'),
  budget: z.number().nullable().describe('So many may be at once.'),
  waiting: z.int().describe('Machines that wait for a permit.'),
  rules: listOf(RuleSchema).describe(
    'The nearest to stopping recovery first; none while the guard is blind.',
  ),
});

const WAITING_SHOWN =
  'The first 100 of those that wait for a permit in this daemon, the next one first.';

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
        .describe('In which budget it waits for room; null: there is room.'),
      bar: text.nullable().describe('Why the guard holds it back; null: it does not.'),
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
  filter: text.describe('Lists exactly these machines.'),
});

/** The machines' state at a glance. */
export const HeadlineSchema = named(
  'Headline',
  z.object({
    total: z.int().describe('Slots that are gone from their provider are left out.'),
    tone: ShareSchema.shape.tone.describe('The gravest of its shares.'),
    shares: listOf(ShareSchema),
  }),
);

const StatusSchema = named(
  'FleetStatus',
  z.object({
    needs: listOf(
      z.object({
        kind: z.enum(NEED_KINDS),
        title: text,
        text: text.describe('Why, and what ends it.'),
        sinceMs: Milliseconds.nullable(),
        scope: text.nullable().describe('`fleet`, or a provider.'),
      }),
    ).describe('What needs a person, the gravest first.'),
    doing: listOf(ShareSchema).describe('What is being done.'),
    next: z
      .object({ atMs: Milliseconds, text })
      .nullable()
      .describe('What happens next at a known time, unless something else comes before.'),
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
      'Providers that cannot be listed: what is shown of their slots is as it was then.',
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
        .describe('Under which word the headline has them; null: their slots are gone.'),
      machines: z.int(),
    }),
  ).describe(
    'Machines by provider, location, state and word of the headline; none where there are none.',
  ),
);

export const FleetSchema = FrameSchema.extend({
  cells: CellsSchema,
  providers: listOf(text),
  mayEraseDisks: listOf(text),
  traits: listOf(z.object({ name: text, label: text })).describe(
    'What each machine has a column for.',
  ),
  inspectorUrl: text.nullable().describe("The relay to Stately's inspector."),
  inspector: z.boolean().describe('Whether admins can look at actors here.'),
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
    driver: text.nullable().describe('Null: the balancer is not configured any more.'),
    isConfigured: z.boolean().describe('The daemon that answers has the pool at this balancer.'),
    state: text.nullable(),
    reason: text.nullable(),
    settledAtMs: Milliseconds.nullable(),
    observedAtMs: Milliseconds.nullable(),
    retryAtMs: Milliseconds.nullable(),
    frozen: z.object({ atMs: Milliseconds, reason: text }).nullable(),
    paused: RequestedBySchema,
    tornDown: RequestedBySchema,
    isTended: z.boolean().describe('A live daemon tends the pool at this balancer.'),
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
    stepMs: z.int().describe('So far apart the moments are, and so long each step is.'),
    atMs: listOf(Milliseconds).describe('Ends of the steps, the oldest first.'),
    states: z
      .partialRecord(z.enum(STATES), row)
      .describe(
        'Machines by state at each of the moments; states that had none all the time are left out.',
      ),
    silent: row.describe('Machines of state `Running` that were silent at each of the moments.'),
    heartbeats: row.describe('Heartbeats that the daemon that answers took in during each step.'),
    recoveries: row.describe('Machines that came to be recovered during each step.'),
  }),
);
export type SeriesAnswer = z.output<typeof SeriesSchema>;
