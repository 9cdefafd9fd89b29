import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { redfishDriver } from '../../../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../../../src/adapters/provider/redfish/settings.ts';
import { createSimulatedClock } from '../../../../doubles/simulated-clock.ts';
import { driverContext } from '../../driver-stand.ts';

const PAGE = readFileSync('docs/redfish-installing.md', 'utf8');
const around = {
  env: { BMC_PASSWORD: 'x', SEED_KEY: 's'.repeat(43), WEAK: 'calvin' },
  baseDirectory: '/',
  checkFiles: false,
};

function section(change: Readonly<Record<string, unknown>> = {}) {
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(PAGE) ?? [];
  const { providers } = parse(yaml) as { providers: { rack: Record<string, unknown> } };
  const { driver, instanceSetId, ...own } = providers.rack;
  expect([driver, typeof instanceSetId]).toEqual(['redfish', 'string']);
  return { ...own, install: { ...(own['install'] as object), ...change } };
}
const faultsOf = (value: object) =>
  redfishDriver
    .settings(around)
    .safeParse(value)
    .error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`);

test('the configuration of the page is one', () => {
  expect(faultsOf(section())).toBe(undefined);
});

test('a driver that is only opened, as for a check of the configuration, waits for nothing', async () => {
  const clock = createSimulatedClock();
  const settings = redfishDriver.settings(around).parse(section()) as Settings;
  const provider = redfishDriver.open(settings, driverContext('rack', { clock }));
  expect(clock.pending).toBe(0);
  await provider.stop();
});

test.each([
  [{ iso: undefined }, /^install\.iso is missing; vmedia needs it/],
  [{ method: 'uefihttp' }, /^install\.bootUri is missing; uefihttp needs it/],
  [{ iso: 'http://images.test/a.iso?token={token}' }, /^install\.iso .*without credentials/],
  [{ seedKey: undefined }, /^install\.seedKey is missing/],
  [{ seedKey: '${WEAK}' }, /^install\.seedKey is shorter than 32.*openssl rand/],
  [{ method: 'floppy' }, /^install\.method .*vmedia, uefihttp, pxe/],
])('%j is refused, and said where', (change, complaint) => {
  expect(faultsOf(section(change))).toEqual([expect.stringMatching(complaint)]);
});

test('an inventory without serial numbers installs nothing', async () => {
  const { parseInventory } =
    await import('../../../../../src/adapters/provider/redfish/entries.ts');
  const list = JSON.stringify([{ ID: 'a1', Bmc: 'https://bmc.test', Addr: '192.0.2.1' }]);
  const named = { credentials: new Set(['default']), passwords: new Set<string>() };
  expect(() => parseInventory(list, { ...named, install: { needsMac: true } })).toThrow(
    /"a1": Serial or Uuid is missing.*"a1": Mac is missing/,
  );
  expect(parseInventory(list, named)).toHaveLength(1);
});
