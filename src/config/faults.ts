import type { z } from 'zod';
import { UsageError } from '../domain/errors.ts';
import { noSource, type SourceText } from './source.ts';
import { childrenOf, schemaAt } from './walk.ts';

/** One mistake: its place, the fault, and what to do. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Translates zod's issues; one entry per key, in file order. */
export function faultsOf(error: z.ZodError, schema: z.ZodType, value: unknown): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, schema, value));
}

function faultsOfIssue(issue: z.core.$ZodIssue, schema: z.ZodType, value: unknown): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    const section = schemaAt(schema, issue.path, value);
    const known = section ? [...childrenOf(section).keys()].join(', ') : '';
    const message = known === '' ? 'is not known' : `is unknown; valid here: ${known}`;
    return issue.keys.map((key) => ({ path: [...issue.path, key], message }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path: issue.path, message: issue.issues[0]?.message ?? issue.message }];
  }
  return [{ path: issue.path, message: issue.message }];
}

/**
 * Checks an independent part of a configuration.
 * @param file name of the configuration in messages.
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

/** Texts that still contain a placeholder. Does not repeat the text. */
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
const PLACEHOLDER = 'still contains the placeholder FIXME; replace it with your own value';

/** Faults of `more` at paths without an earlier fault. */
export function alsoAt(faults: readonly Fault[], more: readonly Fault[]): Fault[] {
  const known = new Set(faults.map(({ path }) => nameOfPath(path)));
  return [...faults, ...more.filter(({ path }) => !known.has(nameOfPath(path)))];
}

/** Such as `providers.rack.sharedTags["a.b/c"]`: a key with special characters is quoted. */
export function nameOfPath(path: readonly PropertyKey[]): string {
  const parts = path.map((key) => {
    const text = String(key);
    return /^[\w-]+$/.test(text) ? `.${text}` : `[${JSON.stringify(text)}]`;
  });
  return parts.join('').replace(/^\./, '');
}

/** One line per fault: path, position in the file if known, fault, and what to do. */
export function describeFaults(faults: readonly Fault[], source: SourceText): string {
  const lines = faults.map(({ path, message }) => {
    const name = path.length === 0 ? 'the configuration' : nameOfPath(path);
    return `  ${name}${source.positionOf(path)} ${message}`;
  });
  const mistakes = faults.length === 1 ? '1 mistake' : `${faults.length} mistakes`;
  return [`${source.name} has ${mistakes}:`, ...new Set(lines)].join('\n');
}
