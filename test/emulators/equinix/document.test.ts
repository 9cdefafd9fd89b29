import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseWorld } from '../../../emulators/equinix/world.ts';
import { judgedChild } from '../../published/children.ts';
import { testEmulatorDocument } from '../emulator-document.ts';
import { differences } from './document.ts';

const blocks = testEmulatorDocument({
  path: 'docs/fakequinix.md',
  module: 'equinix/emulator.ts',
  shell: { env: judgedChild, mayComplain: /^\{"level.*\n/gm },
});

test('the world that is shown can be used', () => {
  const [example] = blocks.filter(({ language }) => language === 'yaml');
  expect(parseWorld(parse(example!.text)).devices).toHaveLength(1);
});

test('a difference from what is shown is found', () => {
  const shown = { a: 'x…', list: [{ b: 1 }], none: [] };
  const same = { a: 'xyz', list: [{ b: 1, c: 2 }, 3], none: [], more: 1 };
  expect(differences(same, shown)).toEqual([]);
  expect(differences({ a: 'yx', list: [{ b: 2 }], none: [1] }, shown)).toEqual([
    '$.a: "yx"',
    '$.list[0].b: 2',
    '$.none: is not empty',
  ]);
});
