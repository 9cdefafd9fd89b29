import type { Answer, Call, Core } from '../core.ts';
import { ApiError, badParameter } from './api-error.ts';

const SIZE = 'page[size]';
const SIZE_DEFAULT = 20;

/**
 * The filters that were asked for. @throws {ApiError} 400 for a parameter that the list does not
 * have: a filter that is not heeded would show more than was asked for.
 */
export function filtersOf({ query }: Call, names: readonly string[]): ReadonlyMap<string, string> {
  const others = [SIZE, 'page[number]', 'stats[total]', 'sort', 'extra_fields[servers]'];
  const found = new Map<string, string>();
  for (const [parameter, value] of query) {
    const name = /^filter\[(\w+)\]$/.exec(parameter)?.[1];
    if (name !== undefined && names.includes(name)) found.set(name, value);
    else if (!others.includes(parameter)) throw badParameter(parameter, 'is not supported');
  }
  return found;
}

/** The page that was asked for, with the total where that was asked for too. */
export function pageOf<T>(
  core: Core,
  call: Call,
  items: readonly T[],
  view: (item: T) => unknown,
): Answer {
  const { size, number } = pagingOf(core, call);
  const spoiled = call.strike('pages')?.does;
  const all = spoiled === 'shuffled' ? core.chance.shuffle(items) : items;
  const start = (number - 1) * size;
  const page = all.slice(start, start + size);
  if (spoiled === 'omitted') page.pop();
  if (spoiled === 'doubled' && page.length > 0) page.unshift(all[Math.max(0, start - 1)]!);
  const total = items.length + (spoiled === 'drifting' ? 1 + (call.seq % 7) : 0);
  const isCounted = call.query.get('stats[total]') === 'count' && !call.strike('statsMissing');
  const meta = isCounted ? { stats: { total: { count: total } } } : {};
  return { status: 200, body: { data: page.slice(0, size).map(view), meta } };
}

function pagingOf({ knobs }: Core, call: Call) {
  const numberIn = (parameter: string, usual: number) => {
    const text = call.query.get(parameter);
    if (text === undefined) return usual;
    if (!/^[1-9]\d{0,8}$/.test(text)) throw badParameter(parameter, 'must be a number from 1');
    return Number(text);
  };
  const size = numberIn(SIZE, SIZE_DEFAULT);
  const refused = call.strike('pageSizeRefused', ({ above }) => size > above);
  if (refused) throw tooLarge(refused.code ?? 400);
  if (size > knobs.pageSizeMax && knobs.pageSizeOver === 'refused') throw tooLarge(400);
  return { size: Math.min(size, knobs.pageSizeMax), number: numberIn('page[number]', 1) };
}

const tooLarge = (status: number) =>
  new ApiError(status, [
    { code: 'INVALID_PAGE_SIZE', detail: 'page size is too large', parameter: SIZE },
  ]);
