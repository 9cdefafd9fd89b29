import type { z } from 'zod';
import type { Call } from '../../../http/call.ts';
import { readPages, type Page, type Unread, type Walked } from '../../../http/pages.ts';
import { refusedFor } from './answers.ts';
import { type ListPage, pageOf } from './schema.ts';

/** A list of the API. */
export interface Listed<T> {
  /** Name of the route, for metrics. */
  readonly endpoint: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly schema: z.ZodType<T>;
}

/** How lists are read; the size of a page is what the API was found to take. */
export interface Lists {
  /** All of a list, by walks that are proved to be whole. @throws {ApiError} a page failed. */
  read<T extends { readonly id: string }>(call: Call, list: Listed<T>): Promise<Walked<T>>;
}

const PAGES_MAX = 10_000;

export function createLists(pageSize: number): Lists {
  let size = pageSize;

  async function fetch<T>(call: Call, list: Listed<T>, number: number): Promise<ListPage<T>> {
    const { path, schema } = list;
    const paging = { 'page[size]': String(size), 'page[number]': String(number) };
    const query = { ...list.query, ...paging, 'stats[total]': 'count' };
    return call.send({ method: 'GET', path, query, schema: pageOf(schema), bulk: true });
  }

  /**
   * A page that is shorter than it was asked to be need not be the last one: the API may have a limit of
   * its own and say nothing of it. So a walk goes on until it has what the total promises.
   */
  async function walks<T extends { readonly id: string }>(
    call: Call,
    list: Listed<T>,
  ): Promise<Walked<T>> {
    let seen = 0;
    const fetchPage = async (number: number): Promise<Page<T>> => {
      if (number === 1) seen = 0;
      const { items, unread, total } = await fetch(call, list, number);
      if (total === null) throw new Untold();
      const count = items.length + unread.length;
      seen += count;
      return { items, unread, total, number, isLast: count === 0 || seen >= total };
    };
    try {
      return await readPages(call, { endpoint: list.endpoint, fetchPage });
    } catch (error) {
      if (!(error instanceof Untold)) throw error;
      return withoutTotals(call, list);
    }
  }

  /** Where no total is told, two walks that saw the same ids prove each other. */
  async function withoutTotals<T extends { readonly id: string }>(
    call: Call,
    list: Listed<T>,
  ): Promise<Walked<T>> {
    const union = new Map<string, T>();
    const unread = new Map<string, Unread>();
    let before: string | null = null;
    for (let walked = 0; walked < WALKS_MAX; walked++) {
      const ids: string[] = [];
      for (let number = 1; ; number++) {
        const page = await fetch(call, list, number);
        if (page.items.length + page.unread.length === 0) break;
        if (number > PAGES_MAX) throw call.error('Protocol', `more than ${PAGES_MAX} pages`);
        for (const item of page.items) union.set(item.id, item);
        for (const entry of page.unread) unread.set(entry.id ?? '', entry);
        ids.push(...[...page.items, ...page.unread].map(({ id }) => id ?? ''));
      }
      const seen = ids.toSorted().join(' ');
      const isOnce = new Set(ids).size === ids.length;
      const isWhole = isOnce && seen === before && !unread.has('');
      call.observer.walk(list.endpoint, isOnce && (before === null || isWhole));
      if (isWhole) return result(true);
      before = isOnce ? seen : null;
    }
    return result(false);

    function result(complete: boolean): Walked<T> {
      const left = [...unread.values()].filter(({ id }) => id !== null && !union.has(id));
      return { items: [...union.values()], unread: left, complete };
    }
  }

  return {
    async read(call, list) {
      for (;;) {
        try {
          return await walks(call, list);
        } catch (error) {
          if (refusedFor(error) !== 'page' || size <= 1) throw error;
          size = Math.ceil(size / 2);
        }
      }
    },
  };
}

const WALKS_MAX = 3;

/** The list does not tell how long it is. */
class Untold extends Error {}
