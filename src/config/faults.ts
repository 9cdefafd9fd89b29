import type { z } from 'zod';
import type { SourceText } from './source.ts';
import { childrenOf, schemaAt } from './walk.ts';

/** One mistake: where, and what is wrong together with what to do about it. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Translates what zod found; one entry per key, in the order of the file's sections. */
export function faultsOf(error: z.ZodError, schema: z.ZodType): Fault[] {
  return error.issues.flatMap((issue) => faultsOfIssue(issue, schema));
}

function faultsOfIssue(issue: z.core.$ZodIssue, schema: z.ZodType): Fault[] {
  if (issue.code === 'unrecognized_keys') {
    const section = schemaAt(schema, issue.path);
    const known = section ? [...childrenOf(section).keys()].join(', ') : '';
    const message = `is not known; known here: ${known}`;
    return issue.keys.map((key) => ({ path: [...issue.path, key], message }));
  }
  if (issue.code === 'invalid_key') {
    return [{ path: issue.path, message: issue.issues[0]?.message ?? issue.message }];
  }
  return [{ path: issue.path, message: issue.message }];
}

/** One line per fault: path, position in the file where there is one, what, what to do. */
export function describeFaults(faults: readonly Fault[], source: SourceText): string {
  const lines = faults.map(({ path, message }) => {
    const name = path.length === 0 ? 'the configuration' : path.map(String).join('.');
    return `  ${name}${source.positionOf(path)} ${message}`;
  });
  const mistakes = faults.length === 1 ? '1 mistake' : `${faults.length} mistakes`;
  return [`${source.name} has ${mistakes}:`, ...new Set(lines)].join('\n');
}
