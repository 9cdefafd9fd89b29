import { z } from 'zod';
import { STATES } from '../../domain/states.ts';
import { TRAIT_NAMES, TRAITS } from '../../domain/traits.ts';
import type { Cell } from '../index/cells.ts';
import type { FleetView } from '../port.ts';
import { BudgetSchema, GuardSchema } from './guard.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named, NeedHuman } from './schemas.ts';

export const FrameSchema = named(
  'Frame',
  z.object({
    atMs: Milliseconds,
    total: z.int(),
    counts: z.record(z.enum(STATES), z.int()),
    needHuman: NeedHuman,
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
        machines: z.int(),
      }),
    )
    .readonly()
    .describe('Machines by provider, location and state; none where there are none.'),
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
  const { atMs, counts, needHuman, guard, unlisted } = fleet.frame();
  return {
    atMs,
    total: fleet.entries.size,
    counts,
    needHuman,
    guard,
    budget: fleet.budget(),
    unlisted,
  };
}
