import type { ApiAnswer } from '../kit/api.ts';
import type { LatitudeCall } from './api.ts';
import { badParameter, refusal } from './errors.ts';

const SIZE = 'page[size]';
const NUMBER = 'page[number]';
const SIZE_DEFAULT = 20;
const SIZE_MAX = 100;

export type Filters = ReadonlyMap<string, string>;

/**
 * A request's filters. @throws {ApiRefusal} 400 for an unknown parameter, because an ignored filter
 * would show more than the client expects.
 */
export function filtersOf({ query }: LatitudeCall, names: readonly string[]): Filters {
  const found = new Map<string, string>();
  for (const [parameter, value] of query) {
    const name = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
    if (name !== undefined && names.includes(name)) found.set(name, value);
    else if (![SIZE, NUMBER, 'stats[total]'].includes(parameter)) {
      throw badParameter(parameter, 'is not supported');
    }
  }
  return found;
}

/** The requested page, with the total on request. */
export function pageOf<T>(
  call: LatitudeCall,
  items: readonly T[],
  view: (item: T) => object,
): ApiAnswer {
  const { size, number } = pagingOf(call);
  const spoiled = call.strike('pages')?.does;
  const page = items.slice((number - 1) * size, number * size);
  if (spoiled === 'omitted') page.pop();
  const total = items.length + (spoiled === 'drifting' ? 1 + (call.seq % 7) : 0);
  const isCounted = call.query.get('stats[total]') === 'count';
  const meta = isCounted ? { stats: { total: { count: total } } } : {};
  return { status: 200, body: { data: page.map(view), meta } };
}

function pagingOf(call: LatitudeCall) {
  const numberIn = (parameter: string, usual: number) => {
    const text = call.query.get(parameter);
    if (text === undefined) return usual;
    if (!/^[1-9]\d{0,8}$/.test(text)) throw badParameter(parameter, 'must be a number from 1');
    return Number(text);
  };
  const size = numberIn(SIZE, SIZE_DEFAULT);
  const limit = call.strike('pageSize', ({ max }) => size > max) ?? { max: SIZE_MAX, code: 400 };
  if (size > limit.max) {
    const problem = { code: 'INVALID_PAGE_SIZE', detail: 'page size is too large' };
    throw refusal(limit.code, { ...problem, parameter: SIZE });
  }
  return { size, number: numberIn(NUMBER, 1) };
}
