import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import type { Mutation } from '../mutations/mutation.ts';
import { root } from './sources.ts';

/** The lists of `npm run mutate`; this test only checks that each mutation can still be made. */
const files = globSync('test/mutations/*.ts', { cwd: root }).filter(
  (file) => basename(file) !== 'mutation.ts',
);
const lists = await Promise.all(
  files.map(async (file) => {
    const { mutations } = (await import(join(root, file))) as { mutations: readonly Mutation[] };
    return { file, mutations };
  }),
);

test('has lists of mutations, without two of one name', () => {
  const ids = lists.flatMap(({ mutations }) => mutations.map(({ id }) => id));
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

const sources = new Map<string, string>();
const sourceOf = (file: string) =>
  sources.get(file) ?? sources.set(file, readFileSync(join(root, file), 'utf8')).get(file)!;

function* complaintsAbout({ file, find, replace, tests }: Mutation): Generator<string> {
  if (!existsSync(join(root, file))) return yield `${file} does not exist`;
  const text = sourceOf(file);
  const count = text.split(find).length - 1;
  if (count !== 1) return yield `${file} has the piece ${count} times: ${find}`;
  const mutated = text.replace(find, () => replace);
  if (mutated === text) yield `the piece is not changed: ${find}`;
  const errors = file.endsWith('.ts') ? parseSync(file, mutated).errors : [];
  for (const { message } of errors) yield `${file} cannot be parsed: ${message}, with ${replace}`;
  for (const path of tests) if (!existsSync(join(root, path))) yield `${path} does not exist`;
  if (tests.join('') === '') yield 'no test is named';
}

test('every mutation of the lists still applies, and its tests exist', () => {
  const complaints = lists.flatMap(({ file, mutations }) =>
    mutations.flatMap((mutation) =>
      [...complaintsAbout(mutation)].map((text) => `${file} ${mutation.id}: ${text}`),
    ),
  );
  expect(complaints).toEqual([]);
});
