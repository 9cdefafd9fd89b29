import { z } from 'zod';
import {
  fleetStatus,
  hasNext,
  NEED_KINDS,
  nextOfMachine,
  type NextEvent,
} from '../../domain/fleet-status.ts';
import { SHARE_WORDS, TONES } from '../../domain/headline.ts';
import { FLEET } from '../../domain/recovery/guard-judgement.ts';
import { STATES } from '../../domain/states.ts';
import { TRAIT_NAMES, TRAITS } from '../../domain/traits.ts';
import type { Cell } from '../index/machine-index.ts';
import type { FleetView, GuardSummary } from '../port.ts';
import { BudgetSchema, GuardSchema } from './guard.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named, NeedHuman } from './schemas.ts';

const ShareSchema = z.object({
  word: z.enum(SHARE_WORDS),
  machines: z.int(),
  tone: z.enum(TONES).describe('`warn` is shown in amber, `bad` in red.'),
  filter: z.string().describe('Lists exactly these machines.'),
});

/** How machines are, at a glance. */
export const HeadlineSchema = named(
  'Headline',
  z.object({
    total: z.int().describe('Slots that are gone from their provider are left out.'),
    tone: ShareSchema.shape.tone.describe('The gravest of its shares.'),
    shares: z.array(ShareSchema).readonly(),
  }),
);

const StatusSchema = named(
  'FleetStatus',
  z.object({
    needs: z
      .array(
        z.object({
          kind: z.enum(NEED_KINDS),
          title: z.string(),
          text: z.string().describe('Why, and what ends it.'),
          sinceMs: Milliseconds.nullable(),
          scope: z.string().nullable().describe('`fleet`, or a provider.'),
        }),
      )
      .readonly()
      .describe('What needs a person, the gravest first.'),
    doing: z.array(ShareSchema).readonly().describe('What is being done.'),
    next: z
      .object({ atMs: Milliseconds, text: z.string() })
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
    budget: z.array(BudgetSchema).readonly(),
    unlisted: z
      .array(z.object({ provider: z.string(), sinceMs: Milliseconds, cause: z.string() }))
      .readonly()
      .describe('Providers that cannot be listed: what is shown of their slots is as it was then.'),
  }),
);
export type Frame = z.output<typeof FrameSchema>;

export const CellsSchema = named(
  'Cells',
  z
    .array(
      z.object({
        provider: z.string(),
        location: z.string().nullable(),
        state: z.enum(STATES),
        word: z
          .enum(SHARE_WORDS)
          .nullable()
          .describe('Under which word the headline has them; null: their slots are gone.'),
        machines: z.int(),
      }),
    )
    .readonly()
    .describe(
      'Machines by provider, location, state and word of the headline; none where there are none.',
    ),
);

export const FleetSchema = FrameSchema.extend({
  cells: CellsSchema,
  providers: z.array(z.string()).readonly(),
  mayEraseDisks: z.array(z.string()).readonly(),
  traits: z
    .array(z.object({ name: z.string(), label: z.string() }))
    .readonly()
    .describe('What each machine has a column for.'),
  inspectorUrl: z.string().nullable().describe("The relay to Stately's inspector."),
  inspector: z.boolean().describe('Whether admins can look at actors here.'),
});

/** What the page shows around everything, apart from machines. */
export interface FleetDeps {
  readonly fleet: FleetView;
  readonly frame: () => Frame;
  readonly cells: () => readonly Cell[];
  readonly mayEraseDisks: readonly string[];
  readonly inspectorUrl: string | null;
  readonly inspector: object | null;
}

/** `fleet`: the frame of every page. */
export function addFleet(api: Api, deps: FleetDeps): void {
  const { fleet, frame, cells, mayEraseDisks, inspectorUrl, inspector } = deps;
  const traits = TRAIT_NAMES.map((name) => ({ name, label: TRAITS[name].label }));
  api.get(
    '/fleet',
    {
      config: { right: 'see' },
      schema: { tags: ['fleet'], summary: 'The fleet as a whole', response: { 200: FleetSchema } },
    },
    async () => ({
      ...frame(),
      cells: cells(),
      providers: fleet.providers(),
      mayEraseDisks,
      traits,
      inspectorUrl,
      inspector: inspector !== null,
    }),
  );
}

/** The frame as it is now. */
export function frameOf(fleet: FleetView): Frame {
  const { atMs, counts, headline, needHuman, guard, unlisted } = fleet.frame();
  return {
    atMs,
    total: fleet.entries.size,
    counts,
    headline,
    needHuman,
    status: fleetStatus({
      ...{ nowMs: atMs, headline, needHuman, unlisted },
      scopes: guard.scopes,
      machines: nextOfMachines(fleet, guard),
    }),
    guard,
    budget: fleet.budget(),
    unlisted,
  };
}

/** Machines that are healthy wait for nothing. */
function* nextOfMachines(fleet: FleetView, guard: GuardSummary): Generator<NextEvent> {
  const nowMs = fleet.nowMs();
  const barred = new Set(
    guard.scopes.filter(({ state }) => state !== 'watching').map(({ scope }) => scope),
  );
  for (const { view, state, substate } of fleet.entries.values()) {
    if (!hasNext({ state, substate })) continue;
    const { slot, provider, needsHuman } = view;
    const row = fleet.facts(slot)?.row;
    if (!row) continue;
    const isBarred = barred.has(FLEET) || barred.has(provider);
    const told = { slot, state, substate, needsHuman, row, isBarred };
    const next = nextOfMachine(told, { nowMs, loss: fleet.loss });
    if (next) yield { ...next, atMs: Math.ceil(next.atMs) };
  }
}
