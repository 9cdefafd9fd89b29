import type { z } from 'zod';
import { UsageError } from '../domain/errors.ts';
import { noSource, type SourceText } from './source.ts';
import { childrenOf, schemaAt } from './walk.ts';

/** One mistake: where, and what is wrong together with what to do about it. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Translates what zod found; one entry per key, in the order of the file's sections. */
export function faultsOf(error: z.ZodError, schema: z.ZodType, value: unknown): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, schema, value));
}

function faultsOfIssue(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    const section = schemaAt(schema, issue.path, value);
    const known = section ? [...childrenOf(section).keys()].join(', ') : '';
    const message = known === '' ? 'is not known' : `is not known; known here: ${known}`;
    return issue.keys.map((key) => ({ path: [...issue.path, key], message }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path: issue.path, message: issue.issues[0]?.message ?? issue.message }];
  }
  return [{ path: issue.path, message: issue.message }];
}

/**
 * A part of a configuration that stands for itself, checked.
 * @param file what to call the configuration.
 * @throws {UsageError} listing every mistake.
 */
export function checkedPart<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  file: string,
): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const faults = faultsOf(read.error, schema, value);
  throw new UsageError(describeFaults(faults, { ...noSource, name: file }));
}

/** Texts in which a placeholder was left, wherever they stand. The text itself is not repeated. */
export function placeholdersIn(value: unknown, path: readonly PropertyKey[] = []): Fault[] {
  if (typeof value === 'string')
    return isPlaceholder(value) ? [{ path, message: PLACEHOLDER }] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [
    ...(isPlaceholder(key) ? [{ path: [...path, key], message: PLACEHOLDER }] : []),
    ...placeholdersIn(child, [...path, key]),
  ]);
}
const isPlaceholder = (text: string) => /fixme/i.test(text);
const PLACEHOLDER = 'still holds the placeholder FIXME; replace it by a value of your own';

/** All of `more` that speak of a path where nothing is wrong yet. */
export function alsoAt(faults: readonly Fault[], more: readonly Fault[]): Fault[] {
  const known = new Set(faults.map(({ path }) => nameOfPath(path)));
  return [...faults, ...more.filter(({ path }) => !known.has(nameOfPath(path)))];
}

/** Such as `providers.rack.sharedTags["a.b/c"]`: a key that would be taken for several is quoted. */
export function nameOfPath(path: readonly PropertyKey[]): string {
  const parts = path.map((key) => {
    const text = String(key);
    return /^[\w-]+$/.test(text) ? `.${text}` : `[${JSON.stringify(text)}]`;
  });
  return parts.join('').replace(/^\./, '');
}

/** One line per fault: path, position in the file where there is one, what, what to do. */
export function describeFaults(faults: readonly Fault[], source: SourceText): string {
  const lines = faults.map(({ path, message }) => {
    const name = path.length === 0 ? 'the configuration' : nameOfPath(path);
    return `  ${name}${source.positionOf(path)} ${message}`;
  });
  const mistakes = faults.length === 1 ? '1 mistake' : `${faults.length} mistakes`;
  return [`${source.name} has ${mistakes}:`, ...new Set(lines)].join('\n');
}
