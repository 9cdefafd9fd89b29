import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { latitudeDriver } from '../../../../src/adapters/provider/latitude/driver.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/latitude.md'), 'utf8');
const [, example = ''] = /```yaml\n([^]*?)```/.exec(page) ?? [];

test('the configuration of the document is complete, and is taken as it stands', () => {
  const { providers } = parse(example) as { providers: { latitude: Record<string, unknown> } };
  const { driver, instanceSetId, ...own } = providers.latitude;
  expect(driver).toBe(latitudeDriver.name);
  expect(instanceSetId).toMatch(/^[a-z0-9]{5}-[a-z0-9]{5}-[a-z0-9]{15}$/);
  const around = { env: { LATITUDE_TOKEN: 'a-token' }, baseDirectory: '/', checkFiles: false };
  const schema = latitudeDriver.settings(around);
  expect(schema.safeParse(own).error?.issues).toBeUndefined();
  const required = Object.entries(schema.shape).filter(
    ([, leaf]) =>
      !(leaf as { safeParse(value: unknown): { success: boolean } }).safeParse(undefined).success,
  );
  for (const [key] of required) expect(Object.keys(own)).toContain(key);
});
