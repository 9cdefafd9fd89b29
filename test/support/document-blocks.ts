import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** A fenced block of the document, and the line it begins on. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly line: number;
}

/** The fenced blocks of a document, in order. */
export function blocksOf(path: string): Block[] {
  const document = readFileSync(join(ROOT, path), 'utf8');
  return [...document.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(
    ({ 1: language, 2: text, index }) => ({
      language: language!,
      text: text!,
      line: document.slice(0, index).split('\n').length,
    }),
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a text is as the document shows it, where `…` stands for anything. */
export function looksLike(actual: string, shown: string): boolean {
  const parts = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`).test(actual);
}

/**
 * Where an answer differs from what the document shows of it, as paths. The document may leave
 * fields and the rest of a list out; an empty list is empty.
 */
export function differences(actual: unknown, shown: unknown, at = '$'): string[] {
  if (typeof shown === 'string' && typeof actual === 'string') {
    return looksLike(actual, shown) ? [] : [`${at}: ${JSON.stringify(actual)}`];
  }
  if (Array.isArray(shown) && Array.isArray(actual)) {
    if (shown.length === 0 && actual.length > 0) return [`${at}: is not empty`];
    return shown.flatMap((item, i) => differences(actual[i], item, `${at}[${i}]`));
  }
  if (isRecord(shown) && isRecord(actual)) {
    return Object.keys(shown).flatMap((name) =>
      differences(actual[name], shown[name], `${at}.${name}`),
    );
  }
  return actual === shown ? [] : [`${at}: ${JSON.stringify(actual)}`];
}
