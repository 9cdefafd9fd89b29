import { describe, expect, test } from 'vitest';
import { stubSettings } from '../../../../src/adapters/provider/stub/settings.ts';
import { faultsOf, placeholdersIn } from '../../../../src/config/faults.ts';

describe('provider vector 1: a configuration with mistakes opens nothing, and names each', () => {
  const mistakes = (given: object) => {
    const schema = stubSettings();
    const { error } = schema.safeParse(given);
    const found = [...(error ? faultsOf(error, schema, given) : []), ...placeholdersIn(given)];
    return new Set(found.map(({ path }) => `/${path.join('/')}`));
  };
  test.each<[object, string]>([
    [{ colour: 'red' }, '/colour'],
    [{ devicePrefix: 'FIXME-' }, '/devicePrefix'],
    [{ faults: [{ fault: 'hangs', who: 'me' }] }, '/faults/0/who'],
  ])('%j', (given, pointer) => {
    expect([...mistakes(given)]).toEqual([pointer]);
  });
});
