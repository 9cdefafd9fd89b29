import { z } from 'zod';
import type { RequestBatch, RequestState } from '../../../adapters/bmdb/port.ts';
import type { Prospect } from '../../../domain/submission/prospects.ts';
import { Milliseconds, named } from '../schemas.ts';

/** Answers to operator requests and to readers of them. */

export const RequestSchema = named(
  'Request',
  z.object({
    key: z.string(),
    verb: z.string(),
    provider: z.string().nullable().describe('Null: the request concerns the fleet or a pool.'),
    slot: z.string().nullable(),
    machineId: z
      .string()
      .nullable()
      .describe('The machine on the slot when the request was submitted.'),
    pool: z.string().nullable(),
    balancer: z.string().nullable(),
    by: z.string(),
    role: z
      .string()
      .nullable()
      .describe('Role that allowed the request. Null: no role was checked.'),
    proven: z.boolean().describe('False: the name of the user is a claim.'),
    reason: z.string(),
    batch: z.string().nullable().describe('Key of the batch that contains the request.'),
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
      slots: z.array(z.string()).readonly().describe(`The first ${NAMED_MAX} slots.`),
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
    refusals: REASONS.describe('Reasons of refused requests.'),
    requests: z.array(RequestSchema).readonly().describe(`The first ${TOLD_MAX} only.`),
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
    would: z.string().nullable().describe('Effect on each machine.'),
    count: z.int().describe('Number of selected machines. 0: the request concerns no machine.'),
    lost: z.string().nullable().describe('Permanent losses. Null: none.'),
    isDestroying: z
      .boolean()
      .describe('Whether the request needs the role admin. More than 50 machines need it, too.'),
    refusals: REASONS.describe('Reasons to refuse the request.'),
    waits: REASONS.describe('Conditions that the request would wait for.'),
    outcomes: REASONS.describe('Expected outcomes.'),
    machines: z
      .array(
        z.object({
          slot: z.string(),
          machineId: z.string().nullable(),
          state: z.string().nullable().describe('Null: the slot is unknown.'),
          substate: z.string().nullable(),
          refusal: z.string().nullable(),
          waits: z.array(z.string()).readonly(),
        }),
      )
      .readonly()
      .describe(`The first ${TOLD_MAX} only.`),
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
