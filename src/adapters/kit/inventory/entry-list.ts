import { z } from 'zod';
import { UsageError } from '../../../domain/errors.ts';
import { show } from '../../../settings/leaves.ts';

const FAULTS_SHOWN = 20;

/** How a list of machines is read. */
export interface ListForm<Told, Entry> {
  /** Of one entry as it is written. */
  readonly schema: z.ZodType<Told>;
  toEntry(told: Told): Entry;
  /** What is wrong with entries that are good each by itself. */
  faultsAmong(entries: readonly Entry[]): readonly string[];
}

/**
 * Reads an inventory: a JSON array and nothing after it.
 * @throws {UsageError} naming every entry with a fault; the whole inventory is then refused.
 */
export function readEntries<Told, Entry>(
  content: string,
  { schema, toEntry, faultsAmong }: ListForm<Told, Entry>,
): readonly Entry[] {
  const list = z.array(z.unknown()).safeParse(parseJson(content));
  if (!list.success) throw new UsageError('the inventory is no JSON array');
  const entries: Entry[] = [];
  const faults = list.data.flatMap((value, index) => {
    const result = schema.safeParse(value);
    if (result.success) entries.push(toEntry(result.data));
    return result.success ? [] : faultsOf(result.error, nameOf(value, index));
  });
  faults.push(...faultsAmong(entries));
  if (faults.length === 0) return entries;
  const shown = faults.slice(0, FAULTS_SHOWN);
  const more = faults.length > shown.length ? [`and ${faults.length - shown.length} more`] : [];
  throw new UsageError(`the inventory is refused: ${[...shown, ...more].join('; ')}`);
}

function parseJson(content: string): unknown {
  const value = asJson(content);
  const [key] = repeatedKeys(content);
  if (key === undefined) return value;
  throw new UsageError(`the inventory is refused: an object has the key ${show(key)} twice`);
}

function asJson(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw new UsageError('the inventory is not JSON', { cause });
  }
}

const nameOf = (value: unknown, index: number): string => {
  const id = (value as { ID?: unknown } | null)?.ID;
  return `entry ${index + 1}${typeof id === 'string' ? ` (${show(id)})` : ''}`;
};

function faultsOf(error: z.ZodError, name: string): string[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${name}: ${show(key)} is not known`);
    }
    return `${name}: ${[...issue.path, issue.message].join(' ')}`;
  });
}

/** What more than one entry has; null: an entry has none of it. */
export function repeated<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  what: string,
  of: (entry: Entry) => string | null,
): string[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const value = of(entry);
    if (value === null) return [];
    const other = first.get(value);
    if (!other) first.set(value, entry);
    return other ? [`entry ${show(entry.id)}: ${what} is that of ${show(other.id)} too`] : [];
  });
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]/g;

/**
 * Keys that stand twice in one object of a JSON text, of which `JSON.parse` silently keeps the last.
 * Not built on a parser: those that tell are a hundred times slower, and a list may be 10 MB.
 * @param json a text that `JSON.parse` takes.
 */
function repeatedKeys(json: string): string[] {
  const repeated: string[] = [];
  const open: Set<string>[] = [];
  let last = '';
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (token === ':') {
      const key = JSON.parse(last) as string;
      if (open.at(-1)?.has(key)) repeated.push(key);
      open.at(-1)?.add(key);
    }
    last = token;
  }
  return repeated;
}
