import { expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { givingBackOf } from '../../src/config/giving-back.ts';
import { givingBackText } from '../../src/domain/filing/prospects.ts';

const config = {
  providers: { rack: { driver: 'static' }, metal: { driver: 'equinix' } },
} as unknown as Pick<Config, 'providers'>;
const of = (...names: string[]) => givingBackText(names, givingBackOf(config), false);

test('C3: the prompt says what really happens to machines of this provider', () => {
  expect(of('metal')).toContain('the device is deleted, with everything on its disks; ');
  expect(of('rack', 'rack')).toContain('its system and its disks stay as they are');
  expect(of('rack')).not.toContain('deleted');
  expect(of('rack', 'metal')).toMatch(/^at metal the device is deleted.*; at rack its agent is/);
  expect(of('unknown')).toContain('until its provider is configured');
});

test('the prompt says that the slot stays free until somebody ends the hold, or returns to the pool', () => {
  const kept =
    'Shepherd leaves its slot alone until an operator runs machine unhold --kind no-allocate';
  for (const name of ['rack', 'metal']) expect(of(name)).toMatch(new RegExp(`; ${kept}$`));
  expect(of('rack', 'metal')).toMatch(new RegExp(`; ${kept}$`));
  const returned = givingBackText(['metal'], givingBackOf(config), true);
  expect(returned).toMatch(/; Shepherd may use its slot again at once$/);
});
