import { z } from 'zod';
import type { RequestBatch, RequestState } from '../../../adapters/bmdb/port.ts';
import type { Prospect } from '../../../domain/filing/prospects.ts';
import { Milliseconds, named } from '../schemas.ts';

/** Answers to operator requests and to readers of them. */

export const RequestSchema = named(
  'Request',
  z.object({
    key: z.string(),
    verb: z.string(),
    provider: z.string().nullable().describe('Null: it is about the fleet, or a pool.'),
    slot: z.string().nullable(),
    machineId: z.string().nullable().describe('The machine that was on the slot.'),
    pool: z.string().nullable(),
    balancer: z.string().nullable(),
    by: z.string(),
    role: z.string().nullable().describe('By which the right was given; null: none was checked.'),
    proven: z.boolean().describe('False: who asked is a claim.'),
    reason: z.string(),
    batch: z.string().nullable().describe('The batch that it was filed in.'),
    createdAtMs: Milliseconds,
    expiresAtMs: Milliseconds,
    state: z.enum(['open', 'done', 'refused']),
    outcome: z.string().nullable(),
    settledAtMs: Milliseconds.nullable(),
  }),
);
export type RequestAnswer = z.output<typeof RequestSchema>;

export function requestAnswer(state: RequestState): RequestAnswer {
  const { provider, slotId, pool, ...rest } = state;
  const { key, verb, machineId, by, role, proven, reason, batch, outcome } = rest;
  return {
    ...{ key, verb, provider, machineId, by, role, proven, reason, batch, outcome },
    slot: slotId === null ? null : `${provider}/${slotId}`,
    pool: pool?.pool ?? null,
    balancer: pool?.balancer ?? null,
    createdAtMs: Math.round(rest.createdAtMs),
    expiresAtMs: Math.round(rest.expiresAtMs),
    state: rest.state,
    settledAtMs: rest.settledAtMs === null ? null : Math.round(rest.settledAtMs),
  };
}

/** Maximum requests of a batch that are listed one by one. */
const TOLD_MAX = 300;
/** Maximum names for one reason. */
const NAMED_MAX = 10;

const REASONS = z
  .array(
    z.object({
      reason: z.string(),
      count: z.int(),
      slots: z.array(z.string()).readonly().describe(`The first ${NAMED_MAX} of them.`),
    }),
  )
  .readonly();

export interface Reason {
  readonly reason: string;
  readonly slot: string;
}

/** Most frequent first. */
export function byReason(found: readonly Reason[]) {
  const groups = [...Map.groupBy(found, ({ reason }) => reason)].map(([reason, those]) => ({
    reason,
    count: those.length,
    slots: those.slice(0, NAMED_MAX).map(({ slot }) => slot),
  }));
  return groups.toSorted((a, b) => b.count - a.count);
}

export const BatchSchema = named(
  'Batch',
  z.object({
    ...RequestSchema.pick({
      ...{ key: true, verb: true, by: true, role: true, proven: true, reason: true },
      ...{ createdAtMs: true, expiresAtMs: true },
    }).shape,
    counts: z.object({ open: z.int(), done: z.int(), refused: z.int() }),
    refusals: REASONS.describe('Why some were refused.'),
    requests: z.array(RequestSchema).readonly().describe(`The first ${TOLD_MAX}.`),
  }),
);

export type BatchAnswer = z.output<typeof BatchSchema>;

export function batchAnswer({ head, requests }: RequestBatch): BatchAnswer {
  const { key, verb, by, role, proven, reason, createdAtMs, expiresAtMs } = requestAnswer(head);
  const countOf = (state: RequestState['state']) =>
    requests.filter((each) => each.state === state).length;
  const refused = requests.filter((each) => each.state === 'refused');
  return {
    ...{ key, verb, by, role, proven, reason, createdAtMs, expiresAtMs },
    counts: { open: countOf('open'), done: countOf('done'), refused: countOf('refused') },
    refusals: byReason(
      refused.map(({ provider, slotId, outcome }) => ({
        reason: outcome ?? '',
        slot: `${provider}/${slotId}`,
      })),
    ),
    requests: requests.slice(0, TOLD_MAX).map(requestAnswer),
  };
}

export const PreviewSchema = named(
  'Preview',
  z.object({
    dryRun: z.literal(true),
    verb: z.string(),
    would: z.string().nullable().describe('What would become of each machine.'),
    count: z.int().describe('How many machines are meant; 0: it is about none.'),
    lost: z.string().nullable().describe('What could not be had back; null: nothing.'),
    isDestroying: z.boolean().describe('It demands the role admin, as more than 50 machines do.'),
    refusals: REASONS.describe('What stands in the way.'),
    waits: REASONS.describe('What would be waited for.'),
    outcomes: REASONS.describe('What would become of it.'),
    machines: z
      .array(
        z.object({
          slot: z.string(),
          machineId: z.string().nullable(),
          state: z.string().nullable().describe('Null: nothing is known of the slot.'),
          substate: z.string().nullable(),
          refusal: z.string().nullable(),
          waits: z.array(z.string()).readonly(),
        }),
      )
      .readonly()
      .describe(`The first ${TOLD_MAX}.`),
  }),
);
export type PreviewAnswer = z.output<typeof PreviewSchema>;

/** Preview of one machine, or of a request about none. */
export interface Foreseen {
  readonly slot: string;
  readonly machineId: string | null;
  readonly state: string | null;
  readonly substate: string | null;
  readonly prospect: Prospect;
}

/** Sums up the previews. */
export function foreseen(all: readonly Foreseen[]) {
  const reasons = (of: (prospect: Prospect) => readonly (string | null)[]) =>
    byReason(
      all.flatMap(({ slot, prospect }) =>
        of(prospect).flatMap((reason) => (reason === null ? [] : [{ reason, slot }])),
      ),
    );
  return {
    refusals: reasons(({ refusal }) => [refusal]),
    waits: reasons(({ waits }) => waits),
    outcomes: reasons(({ outcome }) => [outcome]),
    machines: all
      .slice(0, TOLD_MAX)
      .map(({ prospect, ...rest }) => ({
        ...rest,
        refusal: prospect.refusal,
        waits: prospect.waits,
      })),
  };
}
