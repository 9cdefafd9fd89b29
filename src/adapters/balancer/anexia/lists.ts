import { z } from 'zod';
import type { Call } from '../../driver-kit/call.ts';

/** One page of a list, in whichever of its three forms. */
interface Page<T> {
  readonly rows: readonly T[];
  readonly number: number | undefined;
  readonly total: number | undefined;
}

export function pageSchema<T>(row: z.ZodType<T>): z.ZodType<Page<T>> {
  const rows = z.array(row);
  const paged = z
    .object({
      data: rows,
      page: z.coerce.number().optional(),
      total_items: z.coerce.number().optional(),
    })
    .transform(({ data, page, total_items }) => ({ rows: data, number: page, total: total_items }));
  return z.union([
    rows.transform((data) => ({ rows: data, number: undefined, total: undefined })),
    paged,
    z.object({ data: paged }).transform(({ data }) => data),
  ]);
}

const WALKS_MAX = 3;
const PAGES_MAX = 10_000;

/**
 * Reads a list until an empty page. A list that says how many there are has to give as many: what is
 * taken away meanwhile pushes others over the edge of a page, so it is read again, three times at most.
 * @throws {ApiError} Protocol: it does not hold still, or its pages do not advance; or what a page
 *   was refused with. What was read until then is worth nothing.
 */
export async function readAll<T extends { readonly identifier: string }>(
  call: Call,
  fetchPage: (page: number) => Promise<Page<T>>,
): Promise<readonly T[]> {
  for (let walks = 1; walks <= WALKS_MAX; walks++) {
    const { rows, totals } = await walk(call, fetchPage);
    if ([...totals].every((total) => total === rows.length)) return rows;
  }
  throw call.error('Protocol', `the list does not hold still: read ${WALKS_MAX} times`);
}

async function walk<T extends { readonly identifier: string }>(
  call: Call,
  fetchPage: (page: number) => Promise<Page<T>>,
) {
  const seen = new Map<string, T>();
  const totals = new Set<number>();
  for (let number = 1; number <= PAGES_MAX; number++) {
    const page = await fetchPage(number);
    if (page.number !== undefined && page.number !== number) {
      throw call.error('Protocol', `page ${number} was asked for, and page ${page.number} came`);
    }
    if (page.total !== undefined) totals.add(page.total);
    if (page.rows.length === 0) return { rows: [...seen.values()], totals };
    const sizeBefore = seen.size;
    for (const row of page.rows) seen.set(row.identifier, row);
    if (seen.size === sizeBefore) {
      throw call.error('Protocol', `page ${number} holds nothing new: the pages do not advance`);
    }
  }
  throw call.error('Protocol', `the list has more than ${PAGES_MAX} pages`);
}
