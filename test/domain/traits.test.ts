import { describe, expect, test } from 'vitest';
import {
  forTraits,
  NO_TRAITS,
  TRAIT_NAMES,
  traitMatcher,
  TRAITS,
  traitsOf,
  wantedTraits,
} from '../../src/domain/traits.ts';

describe('traits', () => {
  test('are named by one word, and have a column each', () => {
    for (const name of TRAIT_NAMES) expect(name).toMatch(/^[a-z]+$/);
    const columns = TRAIT_NAMES.map((name) => TRAITS[name].column);
    for (const column of columns) expect(column).toMatch(/^provider_[a-z_]+$/);
    expect(new Set(columns).size).toBe(columns.length);
  });

  test('are taken out of what has more, and what is not told is null', () => {
    expect(traitsOf({ location: 'fr2', ...{ plan: 'c3' } })).toEqual({
      ...NO_TRAITS,
      location: 'fr2',
    });
    expect(traitsOf({})).toEqual(forTraits(() => null));
  });

  test('choose the machines that have all of them', () => {
    const one = { ...NO_TRAITS, location: 'fr2' };
    expect(traitMatcher({})(NO_TRAITS)).toBe(true);
    expect(traitMatcher({ location: undefined })(one)).toBe(true);
    expect(traitMatcher({ location: 'fr2' })(one)).toBe(true);
    expect(traitMatcher({ location: 'fr' })(one)).toBe(false);
    expect(traitMatcher({ location: 'fr2' })(NO_TRAITS)).toBe(false);
    expect(wantedTraits({ location: 'fr2' })).toEqual([['location', 'fr2']]);
    expect(wantedTraits({ location: undefined })).toEqual([]);
  });
});
