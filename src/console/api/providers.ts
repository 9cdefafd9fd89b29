import { z } from 'zod';
import { headlineOf } from '../../domain/headline.ts';
import type { Cell, MachineIndex } from '../index/machine-index.ts';
import { scaledTo, type Scaled } from '../../domain/provisioning/scaling.ts';
import { createWalks } from '../index/walks.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { FleetView, MachineEntry } from '../port.ts';
import type { ProvidersView, ProviderSummary } from '../views.ts';
import { read, type Api } from './kit.ts';
import { PAGE_MAX } from './machines.ts';
import { malformed, Problem } from './problem.ts';
import {
  HoldsSchema,
  ProviderInFullSchema,
  ProvidersSchema,
  ScaleSchema,
  SlotsSchema,
  type SlotSchema,
} from './provider-schema.ts';
import { text, wholeNumber } from './schemas.ts';

/** Maximum cooldowns and unfinished creations listed per provider; `total` counts all. */
const TOLD_MAX = 300;

export interface ProvidersDeps {
  readonly fleet: FleetView;
  readonly index: MachineIndex;
  readonly clock: Clock;
  readonly cells: () => readonly Cell[];
  readonly providers: ProvidersView;
}

const params = z.object({ provider: text });

/** `providers`, `providers/{name}`, with its holds and its slots. */
export function addProviders(api: Api, deps: ProvidersDeps): void {
  const { fleet, index, clock, cells, providers } = deps;
  const walks = createWalks(clock);
  const required = async (name: string): Promise<ProviderSummary> => {
    const found = await providers.summary(name);
    if (found !== null) return found;
    const known = fleet.providers().join(', ') || 'none';
    throw new Problem('not-found', `No provider is named ${name}; there is ${known}`);
  };
  api.get(
    '/providers',
    read('providers', 'All configured providers', ProvidersSchema),
    async () => {
      const counted = cells();
      const all = await providers.summaries();
      return { atMs: fleet.nowMs(), providers: all.map((each) => answer(each, counted)) };
    },
  );
  api.get(
    '/providers/:provider',
    read(
      'providers',
      'One provider, with its slots in cooldown and its unfinished creations',
      ProviderInFullSchema,
      {
        params,
        querystring: z.strictObject({
          shelfAfter: text
            .max(400)
            .optional()
            .describe('Only slots in cooldown after this slot id.'),
        }),
      },
    ),
    async ({ params: { provider }, query: { shelfAfter } }) => {
      const found = await required(provider);
      const told = { shelf: cooldownsOf(found, shelfAfter), unsettled: unsettledOf(found) };
      return { ...answer(found, cells()), atMs: fleet.nowMs(), ...told };
    },
  );
  api.get(
    '/providers/:provider/holds',
    read('providers', 'Holds of a provider, and its slots in cooldown', HoldsSchema, { params }),
    async ({ params: { provider } }) => {
      const found = await required(provider);
      return { atMs: fleet.nowMs(), holds: found.holds, shelf: cooldownsOf(found) };
    },
  );
  api.get(
    '/providers/:provider/scale',
    read('providers', 'The least useful machines, so that a number of them stays', ScaleSchema, {
      params,
      querystring: z.strictObject({ machines: wholeNumber(0, 1_000_000) }),
    }),
    async ({ params: { provider }, query: { machines } }) => {
      const { target, can } = await required(provider);
      const adopts = can.includes('adopted');
      return { atMs: fleet.nowMs(), ...scaleOf(fleet, { provider, machines, target, adopts }) };
    },
  );
  api.get(
    '/providers/:provider/slots',
    read('providers', "A provider's slots, in the order of their ids", SlotsSchema, {
      params,
      querystring: z.strictObject({
        limit: wholeNumber(1, PAGE_MAX).default(100),
        next: text.max(1_000).optional().describe('`next` of the previous page.'),
      }),
    }),
    async ({ params: { provider }, query: { limit, next = null } }) => {
      await required(provider);
      const filter = { terms: [{ kind: 'provider', values: [provider] }] } as const;
      const listing = await index.listing(filter, 'slot');
      const page = walks.page({ listing, sort: 'slot', descending: false, limit }, next);
      if (!page) throw malformed('next', 'it is not the `next` of an earlier page');
      return {
        atMs: fleet.nowMs(),
        total: listing.rows.size,
        slots: page.rows.map(({ entry }) => slotOf(entry, fleet)),
        next: page.next,
      };
    },
  );
}

function scaleOf(
  fleet: Pick<FleetView, 'entries' | 'facts'>,
  {
    provider,
    machines,
    target,
    adopts,
  }: Pick<ProviderSummary, 'target'> & { provider: string; machines: number; adopts: boolean },
) {
  const all = [...fleet.entries.values()].flatMap(({ view, state, substate }): Scaled[] => {
    const row = view.provider === provider ? fleet.facts(view.slot)?.row : null;
    if (!row) return [];
    const isAdopted = adopts && row.provided?.reservationId === null;
    return [{ slot: view.slot, view: { ...view, state, substate }, row, isAdopted }];
  });
  const { count, ...found } = scaledTo(machines, all, target);
  if (found.refusal !== null) return { count, refusal: found.refusal, slots: [] };
  const slots = found.slots.map(({ slot, why }) => {
    const { state, substate } = fleet.entries.get(slot)!;
    return { slot, state, substate, why };
  });
  return { count, refusal: null, slots };
}

function answer({ shelf, unsettled, ...summary }: ProviderSummary, cells: readonly Cell[]) {
  const own = cells.filter(({ provider }) => provider === summary.provider);
  const states: Partial<Record<Cell['state'], number>> = {};
  for (const { state, machines } of own) states[state] = (states[state] ?? 0) + machines;
  return {
    ...summary,
    ...{ states, headline: headlineOf(own) },
    ...{ shelf: shelf.length, unsettled: unsettled.length },
  };
}

/** @param after only slots after this one, by id. */
const cooldownsOf = ({ shelf }: Pick<ProviderSummary, 'shelf'>, after = '') => ({
  total: shelf.length,
  slots: shelf
    .filter(({ slotId }) => slotId > after)
    .toSorted((a, b) => (a.slotId < b.slotId ? -1 : 1))
    .slice(0, TOLD_MAX)
    .map((each) => ({ ...each, slot: `${each.provider}/${each.slotId}` })),
});

const unsettledOf = ({ unsettled }: Pick<ProviderSummary, 'unsettled'>) => ({
  total: unsettled.length,
  creations: unsettled
    .slice(0, TOLD_MAX)
    .map((intent) => ({
      ...intent,
      slot: `${intent.provider}/${intent.slotId}`,
      startedAtMs: intent.createdAtMs,
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
    ...{ shelf: penalty, conflict },
  };
}
