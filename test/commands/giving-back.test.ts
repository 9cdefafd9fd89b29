import { expect, test } from 'vitest';
import type { Config } from '../../src/config.ts';
import { givingBackOf } from '../../src/config/giving-back.ts';
import { givingBackText } from '../../src/domain/filing/loss.ts';

const config = {
  providers: { rack: { driver: 'static' }, metal: { driver: 'equinix' } },
} as unknown as Pick<Config, 'providers'>;
const of = (...names: string[]) => givingBackText(names, givingBackOf(config));

test('C3: the prompt says what really happens to machines of this provider', () => {
  expect(of('metal')).toBe('the device is deleted, with everything on its disks');
  expect(of('rack', 'rack')).toContain('its system and its disks stay as they are');
  expect(of('rack')).not.toContain('deleted');
  expect(of('rack')).toContain('machine unhold --kind no-allocate');
  expect(of('rack', 'metal')).toMatch(/^at metal the device is deleted.*; at rack its agent is/);
  expect(of('unknown')).toContain('until its provider is configured');
});
