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
  test('have one word as name and one column each', () => {
    for (const name of TRAIT_NAMES) expect(name).toMatch(/^[a-z]+$/);
    const columns = TRAIT_NAMES.map((name) => TRAITS[name].column);
    for (const column of columns) expect(column).toMatch(/^provider_[a-z_]+$/);
    expect(new Set(columns).size).toBe(columns.length);
  });

  test('are extracted from larger rows, and missing ones are null', () => {
    expect(traitsOf({ location: 'fr2', ...{ plan: 'c3' } })).toEqual({
      ...NO_TRAITS,
      location: 'fr2',
    });
    expect(traitsOf({})).toEqual(forTraits(() => null));
  });

  test('select the machines that match all of them', () => {
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
