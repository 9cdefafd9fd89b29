import { z } from 'zod';

/** How the service behaves where nobody has seen it behave, or where it was seen to behave in several ways. */
export const knobsSchema = z.strictObject({
  /** In which of its forms a list comes. */
  listForm: z.enum(['paged', 'wrapped', 'array']).optional(),
  /** Whether the rows of a list of one kind hold only identifier and name, or everything. */
  rows: z.enum(['short', 'full']).optional(),
  /** In which form an object shows its state: `text` is older; `bare` is the id alone. */
  stateForm: z.enum(['title', 'text', 'bare']).optional(),
  /** Most entries of a page, whatever is asked for. */
  limitMax: z.int().min(1).optional(),
  /** The answer when an object is destroyed that others refer to; 0 lets it happen. */
  blockedStatus: z.int().min(0).max(599).optional(),
  /** How long the tagging of a resource takes; another one meanwhile is a conflict. */
  taggingMs: z.number().min(0).optional(),
});

/** All of them, with what counts where nothing was said. */
export interface Knobs {
  listForm: 'paged' | 'wrapped' | 'array';
  rows: 'short' | 'full';
  stateForm: 'title' | 'text' | 'bare';
  limitMax: number;
  blockedStatus: number;
  taggingMs: number;
}
export type GivenKnobs = z.input<typeof knobsSchema>;

/** Changes those that are given. @throws {z.ZodError} */
export function changeKnobs(knobs: Knobs, changes: GivenKnobs): Knobs {
  const given = Object.entries(knobsSchema.parse(changes)).filter(
    ([, value]) => value !== undefined,
  );
  return Object.assign(knobs, Object.fromEntries(given));
}

export const DEFAULT_KNOBS: Knobs = {
  listForm: 'paged',
  rows: 'short',
  stateForm: 'title',
  limitMax: 1000,
  blockedStatus: 422,
  taggingMs: 1,
};
