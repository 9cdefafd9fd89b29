import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import type { Mutation } from '../mutations/mutation.ts';
import { root } from './sources.ts';

/** The lists that `npm run mutate` goes through; here only that each can still be made. */
const files = globSync('test/mutations/*.ts', { cwd: root }).filter(
  (file) => basename(file) !== 'mutation.ts',
);
const lists = await Promise.all(
  files.map(async (file) => {
    const { mutations } = (await import(join(root, file))) as { mutations: readonly Mutation[] };
    return { file, mutations };
  }),
);

test('there are lists, and no two mutations of one name', () => {
  const ids = lists.flatMap(({ mutations }) => mutations.map(({ id }) => id));
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
});

describe.each(lists)('the mutations of $file', ({ mutations }) => {
  test.each(mutations.map((mutation) => [mutation.id, mutation] as const))(
    '%s',
    (_id, mutation) => {
      const { file, find, replace, tests } = mutation;
      const text = readFileSync(join(root, file), 'utf8');
      expect(text.split(find), 'the piece occurs once').toHaveLength(2);
      const mutated = text.replace(find, () => replace);
      expect(mutated).not.toBe(text);
      if (file.endsWith('.ts')) expect(parseSync(file, mutated).errors).toEqual([]);
      for (const path of tests) expect(existsSync(join(root, path)), path).toBe(true);
      expect(tests.length).toBeGreaterThan(0);
    },
  );
});
