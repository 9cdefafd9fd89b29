import type { EquinixConfig } from '../settings.ts';
import type { Call } from './call.ts';
import type { EquinixDeps } from './transport.ts';
import { type Page, PageOrderError, type Walked, walkPages } from './pages.ts';

/** How a listing is read. */
export interface ListOptions {
  /** Another project than the configured one. */
  readonly projectId?: string;
  /** An incomplete listing is a failure, `PartialListing`, that holds what was seen. */
  readonly insist?: boolean;
}

/** Query parameters of one page. */
export type Paging = Readonly<Record<string, string>>;

export interface Source<T> {
  /** Name of the route, for metrics. */
  readonly endpoint: string;
  readonly fetchPage: (paging: Paging) => Promise<Page<T>>;
}

/** Reads a listing by verified walks. @throws {EquinixError} Protocol, PartialListing. */
export type List = <T extends { readonly id: string }>(
  call: Call,
  source: Source<T>,
  options?: ListOptions,
) => Promise<Walked<T>>;

export function createList(
  config: Pick<EquinixConfig, 'pageSize'>,
  { metrics }: Pick<EquinixDeps, 'metrics'>,
): List {
  const size = { per_page: String(config.pageSize) };
  return async (call, { endpoint, fetchPage }, { insist = false } = {}) => {
    const onWalk = (consistent: boolean) => metrics.equinixWalk(endpoint, consistent);
    const page = (number: number) => fetchPage({ page: String(number), ...size });
    const walked = await walkPages(page, onWalk).catch((error: unknown) => {
      throw error instanceof PageOrderError ? call.error('Protocol', error.message) : error;
    });
    if (walked.complete || !insist) return walked;
    const { items } = walked;
    throw call.error('PartialListing', `only ${items.length} are certain`, { items });
  };
}
