import { z } from 'zod';
import { OWNERSHIPS, PROVIDER_HOLD_KINDS, PROVIDER_STATUSES } from '../../domain/machine.ts';
import { headlineOf } from '../../domain/headline.ts';
import { STATES } from '../../domain/states.ts';
import type { Cell, MachineIndex } from '../index/machine-index.ts';
import { createWalks } from '../index/walks.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import type { ProvidersView, ProviderSummary } from '../providers.ts';
import { HeadlineSchema } from './fleet.ts';
import type { Api } from './kit.ts';
import { PAGE_MAX } from './machines.ts';
import { Problem } from './problem.ts';
import { Milliseconds, named, wholeNumber } from './schemas.ts';

const text = z.string();
const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).readonly();

/** So much of the shelf, and of unsettled creations, is told of each; `total` counts all. */
const TOLD_MAX = 300;

const HoldSchema = z.object({
  kind: z.enum(PROVIDER_HOLD_KINDS),
  key: text.describe('The kind of call that is throttled, or what there is no more of.'),
  untilMs: Milliseconds,
  level: z.int().describe('How many times in a row it was imposed, from 1.'),
  amount: z.int().nullable().describe('Of a quota: none from so many machines on.'),
  cause: text,
});
const ShelfSchema = z.object({
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
  shelf: ShelfSchema,
  unsettled: UnsettledSchema,
});
const HoldsSchema = z.object({ atMs: Milliseconds, holds: listOf(HoldSchema), shelf: ShelfSchema });

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
const SlotsSchema = z.object({
  atMs: Milliseconds,
  total: z.int(),
  slots: listOf(SlotSchema),
  next: text.nullable().describe('Where the list goes on; null: this is its end.'),
});
const SlotsQuery = z.strictObject({
  limit: wholeNumber(1, PAGE_MAX).default(100),
  next: text.max(1_000).optional().describe('As the page before told it.'),
});

export interface ProvidersDeps {
  readonly fleet: FleetView;
  readonly index: MachineIndex;
  readonly clock: Clock;
  readonly cells: () => readonly Cell[];
  readonly providers: ProvidersView;
}

/** `providers`, `providers/{name}`, with its holds and its slots. */
export function addProviders(api: Api, deps: ProvidersDeps): void {
  const { fleet, cells, providers } = deps;
  const about = { config: { right: 'see' as const } };
  const params = z.object({ provider: text });
  const atMs = () => Math.round(fleet.nowMs());
  const required = async (name: string): Promise<ProviderSummary> => {
    const found = await providers.summary(name);
    if (found === null) throw new Problem('not-found', `No provider is named ${name}`);
    return found;
  };
  api.get(
    '/providers',
    {
      ...about,
      schema: {
        tags: ['providers'],
        summary: 'Every configured provider',
        response: { 200: ProvidersSchema },
      },
    },
    async () => {
      const counted = cells();
      const all = await providers.summaries();
      return { atMs: atMs(), providers: all.map((each) => answer(each, counted)) };
    },
  );
  api.get(
    '/providers/:provider',
    {
      ...about,
      schema: {
        tags: ['providers'],
        summary: 'One provider, with its shelf and its unsettled creations',
        params,
        querystring: z.strictObject({
          shelfAfter: text.max(400).optional().describe('Only the shelf behind this slot id.'),
        }),
        response: { 200: ProviderInFullSchema },
      },
    },
    async ({ params: { provider }, query: { shelfAfter } }) => {
      const found = await required(provider);
      const told = { shelf: shelfOf(found, shelfAfter), unsettled: unsettledOf(found) };
      return { ...answer(found, cells()), atMs: atMs(), ...told };
    },
  );
  api.get(
    '/providers/:provider/holds',
    {
      ...about,
      schema: {
        tags: ['providers'],
        summary: 'What must not be asked of a provider, and slots on its shelf',
        params,
        response: { 200: HoldsSchema },
      },
    },
    async ({ params: { provider } }) => {
      const found = await required(provider);
      return { atMs: atMs(), holds: holdsOf(found), shelf: shelfOf(found) };
    },
  );
  addSlots(api, deps, required);
}

function addSlots(
  api: Api,
  { fleet, index, clock }: ProvidersDeps,
  required: (name: string) => Promise<unknown>,
): void {
  const walks = createWalks(clock);
  api.get(
    '/providers/:provider/slots',
    {
      config: { right: 'see' },
      schema: {
        tags: ['providers'],
        summary: "A provider's slots, in the order of their ids",
        params: z.object({ provider: text }),
        querystring: SlotsQuery,
        response: { 200: SlotsSchema },
      },
    },
    async ({ params: { provider }, query: { limit, next = null } }) => {
      await required(provider);
      const filter = { terms: [{ kind: 'provider', values: [provider] }] } as const;
      const listing = await index.listing(filter, 'slot');
      const page = walks.page({ listing, sort: 'slot', descending: false, limit }, next);
      if (!page) {
        const errors = [
          { pointer: '#/query/next', detail: 'it is not one that a page before told' },
        ];
        throw new Problem('malformed', 'next: it is not one that a page before told', { errors });
      }
      return {
        atMs: Math.round(fleet.nowMs()),
        total: listing.rows.size,
        slots: page.rows.map(({ entry }) => slotOf(entry, fleet)),
        next: page.next,
      };
    },
  );
}

function statesOf(cells: readonly Cell[]) {
  const states: Partial<Record<Cell['state'], number>> = {};
  for (const { state, machines } of cells) states[state] = (states[state] ?? 0) + machines;
  return states;
}

function answer(
  { holds, shelf, unsettled, ...summary }: ProviderSummary,
  cells: readonly Cell[],
): z.output<typeof ProviderSchema> {
  const { listing, unlisted, breaker } = summary;
  const own = cells.filter(({ provider }) => provider === summary.provider);
  return {
    ...summary,
    listing: listing && { ...listing, atMs: Math.round(listing.atMs) },
    unlisted: unlisted && { ...unlisted, sinceMs: Math.round(unlisted.sinceMs) },
    breaker: breaker && { ...breaker, atMs: Math.round(breaker.atMs) },
    states: statesOf(own),
    headline: headlineOf(own),
    holds: holdsOf({ holds }),
    shelf: shelf.length,
    unsettled: unsettled.length,
  };
}

const holdsOf = ({ holds }: Pick<ProviderSummary, 'holds'>) =>
  holds.map(({ kind, key, untilMs, level, amount, cause }) => ({
    ...{ kind, key, level, amount, cause },
    untilMs: Math.round(untilMs),
  }));

/** @param after only slots behind this one, in the order of their ids. */
const shelfOf = ({ shelf }: Pick<ProviderSummary, 'shelf'>, after = '') => ({
  total: shelf.length,
  slots: shelf
    .filter(({ slotId }) => slotId > after)
    .toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1))
    .slice(0, TOLD_MAX)
    .map(({ provider, slotId, untilMs, cause }) => ({
      slot: `${provider}/${slotId}`,
      untilMs: Math.round(untilMs),
      cause,
    })),
});

const unsettledOf = ({ unsettled }: Pick<ProviderSummary, 'unsettled'>) => ({
  total: unsettled.length,
  creations: unsettled
    .slice(0, TOLD_MAX)
    .map((intent) => ({
      slot: `${intent.provider}/${intent.slotId}`,
      machineId: intent.machineId,
      hostname: intent.hostname,
      state: intent.state,
      ambiguous: intent.ambiguous,
      attempts: intent.attempts,
      sessionId: intent.sessionId,
      sessionAlive: intent.sessionAlive,
      startedAtMs: Math.round(intent.createdAtMs),
      lastError: intent.lastError,
    })),
});

const USES = { KnownUnused: 'free', KnownUsed: 'used', PossiblyUsed: 'unclear' } as const;

function slotOf(
  { view, state, substate }: MachineEntry,
  fleet: Pick<FleetView, 'facts'>,
): z.output<typeof SlotSchema> {
  const facts = fleet.facts(view.slot);
  const { listed = null, penalty = null, conflict = null } = facts ?? {};
  return {
    slot: view.slot,
    plan: listed?.plan ?? null,
    location: view.location,
    use: listed ? USES[listed.availability] : 'unlisted',
    ownership: listed?.ownership ?? null,
    providerId: view.providerId ?? listed?.id ?? null,
    status: facts?.row?.provided?.status ?? listed?.status ?? null,
    spot: listed?.spot === true,
    machineId: view.machineId,
    ...{ state, substate },
    shelf: penalty && { untilMs: Math.round(penalty.untilMs), cause: penalty.cause },
    conflict,
  };
}
