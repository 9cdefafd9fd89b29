import { z } from 'zod';
import { FILTER_LENGTH_MAX, readFilter, type MachineFilter } from '../../domain/machine-filter.ts';
import type { MachineIndex } from '../index/machine-index.ts';
import { SORTS, type Sort } from '../index/row.ts';
import { createWalks, readPage } from '../index/walks.ts';
import type { FleetView } from '../port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { read, type Api } from './kit.ts';
import { machineRow } from './machine.ts';
import { malformed, Problem } from './problem.ts';
import { MachineRowSchema, Milliseconds, wholeNumber } from './schemas.ts';

/** Maximum machines per window of a page. */
export const WINDOW_MAX = 300;
/** Maximum machines per page of a program that follows `next`. */
export const PAGE_MAX = 1_000;

export const SORT_NAMES = SORTS.flatMap((sort) => [sort, `-${sort}`]) as [string, ...string[]];

/** Selects and sorts machines, in every URL that does. */
export const ListQuery = {
  filter: z
    .string()
    .max(FILTER_LENGTH_MAX)
    .default('')
    .describe(
      'Terms such as `state:silent location:fr2 since>2h`, and words that a machine must contain.',
    ),
  sort: z.enum(SORT_NAMES).default('slot').describe('Prefix `-`: descending.'),
};

const Query = z.strictObject({
  ...ListQuery,
  offset: wholeNumber(0, 10_000_000).optional().describe('Not together with `next`.'),
  limit: wholeNumber(1, PAGE_MAX)
    .default(100)
    .describe(`With \`offset\`, the maximum is ${WINDOW_MAX}.`),
  next: z.string().max(1_000).optional().describe('`next` of the previous page.'),
});

export const MachinesSchema = z.object({
  atMs: Milliseconds,
  total: z.int().describe('Number of machines that match.'),
  revision: z.int().describe('Changes when the set or the order of the machines changes.'),
  machines: z.array(MachineRowSchema).readonly(),
  next: z.string().nullable().describe('Position of the next page. Null: this is the last page.'),
});

export interface MachinesDeps {
  readonly fleet: FleetView;
  readonly index: MachineIndex;
  readonly clock: Clock;
}

/** `machines`: the fleet in pages, or a window of it. */
export function addMachines(api: Api, { fleet, index, clock }: MachinesDeps): void {
  const walks = createWalks(clock);
  api.get(
    '/machines',
    read('machines', 'A sorted list of the machines that match a filter', MachinesSchema, {
      querystring: Query,
    }),
    async ({ query: { filter, sort: name, offset, limit, next } }) => {
      const { sort, descending } = readSort(name);
      const listing = await index.listing(requireFilter(filter), sort);
      const wanted = { listing, sort, descending, limit };
      const page =
        offset === undefined
          ? walks.page(wanted, next ?? null)
          : window({ ...wanted, offset, next });
      if (!page) throw malformed('next', 'it is not the `next` of an earlier page');
      return {
        atMs: fleet.frame().atMs,
        total: listing.rows.size,
        revision: listing.revision,
        machines: page.rows.map(({ entry }) => machineRow(entry, fleet)),
        next: page.next,
      };
    },
  );
}

type MachineWindow = Parameters<ReturnType<typeof createWalks>['page']>[0];

function window({
  next,
  offset,
  ...wanted
}: MachineWindow & { offset: number; next: string | undefined }) {
  if (next !== undefined) throw malformed('offset', 'it cannot be given together with next');
  if (wanted.limit > WINDOW_MAX) {
    throw malformed('limit', `with an offset it may be at most ${WINDOW_MAX}`);
  }
  return { rows: readPage(wanted.listing.rows, { offset, ...wanted }), next: null };
}

/** Reads a sort from a URL. */
export const readSort = (name: string): { sort: Sort; descending: boolean } => ({
  sort: name.replace(/^-/, ''),
  descending: name.startsWith('-'),
});

/** @throws {Problem} the filter has a meaningless part. */
export function requireFilter(text: string): MachineFilter {
  const { filter, faults } = readFilter(text);
  if (filter) return filter;
  const errors = faults.map(({ part, detail }) => ({
    pointer: '#/query/filter',
    detail: `${part}: ${detail}`,
  }));
  throw new Problem('malformed', `filter: ${errors.map(({ detail }) => detail).join('; ')}`, {
    errors,
  });
}
