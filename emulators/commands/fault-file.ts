import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { z } from 'zod';
import { UsageError } from '../../src/domain/errors.ts';

/**
 * The list of fault rules in a file, YAML or JSON. What each rule may say is looked at when it is taken
 * into force. @throws {UsageError} the file cannot be read or holds no list.
 */
export function readFaultFile<Rule>(file: string): readonly Rule[] {
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const message = (error as Error).message.split('\n')[0] ?? '';
    throw new UsageError(`${file} cannot be read: ${message}`, { cause: error });
  }
  if (Array.isArray(content)) return content as Rule[];
  throw new UsageError(`${file} holds no list; write one fault rule per item`);
}

/** What is wrong with a rule, in one line. */
export const complaintsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'rule'}: ${message}`).join('; ');
