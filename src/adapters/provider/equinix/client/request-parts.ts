import { isUuid } from '../../../../domain/ids.ts';
import type { Call } from '../../../http/call.ts';

/** Goes on with an operation; or is the signal of a new one. */
export type Within = AbortSignal | Call;

/** What a read opens and shuts of a resource: names of relations, dotted for deeper ones. */
export interface Expansion {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** How a change is sent. */
export interface BeforeSending {
  /** Awaited just before each request that changes something; what it throws ends the operation. */
  readonly beforeSending?: (() => Promise<void>) | undefined;
}

/** How a listing is read. */
export interface ListOptions {
  /** An incomplete listing is a failure, `PartialListing`, that holds what was seen. */
  readonly insist?: boolean;
}

/** Query parameters of one page. */
export const pagingOf = ({ pageSize }: { readonly pageSize: number }, page: number) => ({
  page: String(page),
  per_page: String(pageSize),
});

/** An id as part of a path. @throws {ApiError} InvalidArgument: nothing is sent. */
export function checkedId(call: Call, id: string): string {
  if (!isUuid(id)) throw call.error('InvalidArgument', 'the id is no lower-case UUID');
  return id;
}

/** `include` and `exclude` of a query; `always` is included whatever else is. */
export function expansionOf(
  { include = [], exclude = [] }: Expansion,
  always: readonly string[] = [],
): Record<string, string> {
  const included = [...new Set([...always, ...include])];
  return {
    ...(included.length > 0 && { include: included.join(',') }),
    ...(exclude.length > 0 && { exclude: exclude.join(',') }),
  };
}

/** Only the fields that are given; `undefined` is as good as absent. */
export function givenOf<T extends object>(fields: T): Partial<T> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}
