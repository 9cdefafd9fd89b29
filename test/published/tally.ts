import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type { Tally } from './equinix/judge.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The file in which every test file leaves a line with what it judged. */
    publishedTallies: string;
  }
}

const asLists = (_name: string, value: unknown) => (value instanceof Set ? [...value] : value);
export const textOfTally = (tally: Tally): string => JSON.stringify(tally, asLists);

type Line = { readonly [K in keyof Tally]: Tally[K] extends number ? number : readonly string[] };

/** One line about all of them. */
export function summaryOf(lines: readonly Line[]): string {
  const sum = (of: (line: Line) => number) => lines.reduce((total, line) => total + of(line), 0);
  const count = (of: (line: Line) => readonly string[]) => new Set(lines.flatMap(of)).size;
  const resources = count(({ fields }) => fields.map((field) => field.split('.')[0]!));
  return [
    `Equinix API as published: ${sum(({ replies }) => replies)} replies`,
    `(and ${sum(({ injected }) => injected)} made by faults, not judged)`,
    `of ${count(({ operations }) => operations)} operations,`,
    `${sum(({ values }) => values)} values of ${count(({ fields }) => fields)} fields`,
    `of ${resources} resources, ${sum(({ requests }) => requests)} requests of our client,`,
    `in ${lines.length} test files`,
  ].join(' ');
}

/** Before and after all test files: says in one line what they judged. */
export function setup(project: TestProject): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'published-'));
  const file = join(dir, 'tallies');
  project.provide('publishedTallies', file);
  return () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    rmSync(dir, { recursive: true });
    const lines = text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as Line);
    if (lines.length > 0) console.log(summaryOf(lines));
  };
}
