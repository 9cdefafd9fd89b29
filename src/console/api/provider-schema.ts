import { z } from 'zod';
import { OWNERSHIPS, PROVIDER_HOLD_KINDS, PROVIDER_STATUSES } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import { HeadlineSchema } from './fleet-schema.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

const HoldSchema = z.object({
  kind: z.enum(PROVIDER_HOLD_KINDS),
  key: text.describe('The kind of call that is throttled, or what there is no more of.'),
  untilMs: Milliseconds,
  level: z.int().describe('How many times in a row it was imposed, from 1.'),
  amount: z.int().nullable().describe('Of a quota: none from so many machines on.'),
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
      ambiguous: z.boolean().describe('Whether an attempt reached the provider is not known.'),
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
      .describe('Its machines are there anyway: they are taken in, and none is made.'),
    can: listOf(text).describe('What its driver can do.'),
    callsMax: z.int().describe('Calls at once.'),
    machinesMax: z.int().nullable().describe('Managed machines at most; null: no limit.'),
    mayEraseDisks: z.boolean().describe('Recovery may reinstall its machines.'),
    provisioner: z
      .object({ sessionId: text, isHere: z.boolean().describe('It is the daemon that answers.') })
      .nullable()
      .describe('Who provisions; null: no daemon does now.'),
    listing: z
      .object({ atMs: Milliseconds, complete: z.boolean(), entries: z.int(), unreadable: z.int() })
      .nullable()
      .describe('The last one; null: none since the daemon that answers was started.'),
    unlisted: z.object({ sinceMs: Milliseconds, cause: text }).nullable(),
    breaker: z
      .object({
        reason: text.nullable().describe('Null: its listing is believed.'),
        atMs: Milliseconds,
      })
      .nullable()
      .describe('Null: that was not judged yet.'),
    states: z.partialRecord(z.enum(STATES), z.int()).describe('Its machines, by state.'),
    headline: HeadlineSchema,
    classes: listOf(
      z.object({
        plan: text,
        location: text.nullable(),
        free: z.int(),
        used: z.int(),
        foreign: z.int(),
        unclear: z.int().describe('The provider cannot tell whether they are in use.'),
      }),
    ).describe('Its slots, by kind.'),
    holds: listOf(HoldSchema),
    shelf: z.int().describe('Slots that rest after a failed creation.'),
    unsettled: z.int().describe('Creations that were begun and not settled yet.'),
    calls: listOf(
      z.object({
        operation: text,
        calls: z.int(),
        failed: z.int(),
        p50Ms: z.int(),
        p95Ms: z.int(),
        lastAtMs: Milliseconds,
      }),
    ).describe('Of the daemon that answers; times are those of the latest 200 of a kind.'),
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

export const SlotSchema = named(
  'Slot',
  z.object({
    slot: text,
    plan: text.nullable().describe('Null: no listing has it.'),
    location: text.nullable(),
    use: z
      .enum(['free', 'used', 'unclear', 'unlisted'])
      .describe('As the listing has it. `unclear`: the provider cannot tell.'),
    ownership: z.enum(OWNERSHIPS).nullable().describe('Whose mark is on it.'),
    providerId: text.nullable().describe("The provider's id of the device."),
    status: z.enum(PROVIDER_STATUSES).nullable(),
    spot: z.boolean().describe('Paid by demand, and taken away at will.'),
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
  next: text.nullable().describe('Where the list goes on; null: this is its end.'),
});
