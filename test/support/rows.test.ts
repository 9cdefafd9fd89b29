import { expect, test } from 'vitest';
import { checkRows, testRows } from './rows.ts';

test('names each failed row with the expected and the actual value', async () => {
  const rows = [
    ['one', 1, 1],
    ['two', 2, 3],
    ['three', 3, 3],
    ['four', { a: [4] }, { a: [5] }],
  ];
  const check = async (_: string, is: unknown, must: unknown) => expect(is).toEqual(must);
  const error = (await checkRows(rows, 'counts %s as %j', check).catch((e: unknown) => e)) as Error;
  expect(error.message.split('\n')).toEqual([
    'counts two as 2: expected 2 to deeply equal 3',
    '  expected 3',
    '  found 2',
    'counts four as {"a":[4]}: expected { a: [ 4 ] } to deeply equal { a: [ 5 ] }',
    '  expected { a: [ 5 ] }',
    '  found { a: [ 4 ] }',
  ]);
  expect(error).toMatchObject({ name: 'AssertionError', actual: 2, expected: 3 });
});

test('keeps the kind of an error that is not an assertion', async () => {
  const check = ({ of }: { of: { name: string } }) => expect(() => of.name.trim()).toThrow('no');
  const rows = [{ of: { name: 'x' } }];
  await expect(checkRows(rows, 'trims $of.name', check)).rejects.toThrow('trims x: expected');
  const broken = () => (null as unknown as Date).getTime();
  await expect(checkRows([1], 'reads %i', broken)).rejects.toThrow(TypeError);
});

testRows([
  [1, 2],
  [2, 4],
])('doubles %i to %i', (one, two) => {
  expect(2 * one).toBe(two);
});
