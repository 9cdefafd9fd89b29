import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  BY_DRIVER,
  ENGINE,
  HAPROXY,
  NOT_OF_THE_ENGINE,
  NUMBERS,
  ON_HAPROXY,
} from './vector-table.ts';
import { numbersOf, vectorsOf } from './vectors.ts';

const shownTo = (world: typeof ENGINE): ReadonlySet<number> =>
  new Set(vectorsOf(world).flatMap(numbersOf));

test('shows every vector on the emulator of the Engine, by a pool or the driver', () => {
  const shown = shownTo(ENGINE);
  const missing = NUMBERS.filter((each) => !shown.has(each) && !NOT_OF_THE_ENGINE.includes(each));
  expect(missing).toEqual(Object.keys(BY_DRIVER).map(Number));
  for (const each of missing) {
    expect(readFileSync(BY_DRIVER[each]!, 'utf8')).toMatch(new RegExp(`'${each}: `));
  }
});

test('shows the vectors of a real program on HAProxy with a running pool', () => {
  const shown = shownTo(HAPROXY);
  expect(ON_HAPROXY.filter((each) => !shown.has(each))).toEqual([]);
});
