import { z } from 'zod';
import { OWNERSHIPS, PROVIDER_HOLD_KINDS, PROVIDER_STATUSES } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import { HeadlineSchema } from './fleet-schema.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

const HoldSchema = z.object({
  kind: z.enum(PROVIDER_HOLD_KINDS),
  key: text.describe('The throttled kind of call, or the exhausted resource.'),
  untilMs: Milliseconds,
  level: z.int().describe('How many times in a row the hold was imposed, from 1.'),
  amount: z
    .int()
    .nullable()
    .describe('For a quota: no creation at or above this number of machines.'),
  cause: text,
});
const CooldownsSchema = z.object({
  total: z.int(),
  slots: listOf(z.object({ slot: text, untilMs: Milliseconds, cause: text })),
});
const UnsettledSchema = z.object({
  total: z.int(),
  creations: listOf(
    z.object({
      slot: text,
      machineId: text,
      hostname: text,
      state: z.enum(['open', 'unresolved']),
      ambiguous: z
        .boolean()
        .describe('Whether an attempt has an unknown result: it may have reached the provider.'),
      attempts: z.int(),
      sessionId: text,
      sessionAlive: z.boolean(),
      startedAtMs: Milliseconds,
      lastError: text.nullable(),
    }),
  ),
});

export const ProviderSchema = named(
  'Provider',
  z.object({
    provider: text,
    driver: text,
    isInventory: z
      .boolean()
      .describe(
        'The provider is a list of existing machines: Shepherd adopts them and creates none.',
      ),
    can: listOf(text).describe('Features of the driver.'),
    callsMax: z.int().describe('Maximum number of concurrent calls.'),
    machinesMax: z.int().nullable().describe('Maximum number of managed machines. Null: no limit.'),
    target: z.int().nullable().describe('Machines to keep in service. Null: not configured.'),
    mayEraseDisks: z
      .boolean()
      .describe('Whether recovery may reinstall its machines, which erases their disks.'),
    provisioner: z
      .object({
        sessionId: text,
        isHere: z.boolean().describe('Whether the answering daemon is the provisioner.'),
      })
      .nullable()
      .describe('The daemon that creates machines here. Null: no daemon at present.'),
    listing: z
      .object({ atMs: Milliseconds, complete: z.boolean(), entries: z.int(), unreadable: z.int() })
      .nullable()
      .describe('The last listing. Null: none since the answering daemon started.'),
    unlisted: z.object({ sinceMs: Milliseconds, cause: text }).nullable(),
    breaker: z
      .object({
        reason: text.nullable().describe('Why the listing is rejected. Null: it is accepted.'),
        atMs: Milliseconds,
      })
      .nullable()
      .describe('The circuit breaker. Null: no listing was judged yet.'),
    states: z.partialRecord(z.enum(STATES), z.int()).describe('Number of machines by state.'),
    headline: HeadlineSchema,
    classes: listOf(
      z.object({
        plan: text,
        location: text.nullable(),
        free: z.int(),
        used: z.int(),
        foreign: z.int(),
        unclear: z.int().describe('Number of slots that may be in use: the provider cannot tell.'),
      }),
    ).describe('Number of slots by plan and location.'),
    holds: listOf(HoldSchema),
    shelf: z.int().describe('Number of slots in cooldown after a failed creation.'),
    unsettled: z.int().describe('Number of unfinished creations.'),
    calls: listOf(
      z.object({
        operation: text,
        calls: z.int(),
        failed: z.int(),
        p50Ms: z.int(),
        p95Ms: z.int(),
        lastAtMs: Milliseconds,
      }),
    ).describe(
      'Calls of the answering daemon. Percentiles cover the latest 200 calls of an operation.',
    ),
  }),
);
export const ProvidersSchema = z.object({ atMs: Milliseconds, providers: listOf(ProviderSchema) });
export const ProviderInFullSchema = ProviderSchema.extend({
  atMs: Milliseconds,
  shelf: CooldownsSchema,
  unsettled: UnsettledSchema,
});
export const HoldsSchema = z.object({
  atMs: Milliseconds,
  holds: listOf(HoldSchema),
  shelf: CooldownsSchema,
});

export const ScaleSchema = z.object({
  atMs: Milliseconds,
  count: z.int().describe('Number of machines; those that are being given back do not count.'),
  refusal: text.nullable().describe('Why this number of machines cannot stay.'),
  slots: listOf(
    z.object({ slot: text, state: z.enum(STATES), substate: text, why: text }),
  ).describe('The least useful machines, which would be given back. Empty: none, or a refusal.'),
});

export const SlotSchema = named(
  'Slot',
  z.object({
    slot: text,
    plan: text.nullable().describe('Null: no listing contains the slot.'),
    location: text.nullable(),
    use: z
      .enum(['free', 'used', 'unclear', 'unlisted'])
      .describe('Use according to the listing. `unclear`: the provider cannot tell.'),
    ownership: z.enum(OWNERSHIPS).nullable().describe("Owner according to the device's mark."),
    providerId: text.nullable().describe('Id of the device at the provider.'),
    status: z.enum(PROVIDER_STATUSES).nullable(),
    spot: z.boolean().describe('Spot market: the provider may take the machine away at any time.'),
    machineId: text.nullable(),
    state: z.enum(STATES),
    substate: text,
    shelf: z.object({ untilMs: Milliseconds, cause: text }).nullable(),
    conflict: text.nullable(),
  }),
);
export const SlotsSchema = z.object({
  atMs: Milliseconds,
  total: z.int(),
  slots: listOf(SlotSchema),
  next: text.nullable().describe('Position of the next page. Null: this is the last page.'),
});
