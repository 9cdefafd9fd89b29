import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { redfishDriver } from '../../../../src/adapters/provider/redfish/driver.ts';
import { parseInventory } from '../../../../src/adapters/provider/redfish/entries.ts';
import type { Settings } from '../../../../src/adapters/provider/redfish/settings.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { UsageError } from '../../../../src/domain/errors.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { driverContext } from '../driver-stand.ts';

const env = {
  ...{ BMC_PASSWORD: 'x', OLD_BMC_PASSWORD: 'y', WEAK: 'calvin', SEED_KEY: 's'.repeat(43) },
};
const around = { env, baseDirectory: '/', checkFiles: false };
const blocksOf = (name: string, language: string) => {
  const page = readFileSync(`docs/${name}.md`, 'utf8');
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(
    ([, text]) => text!,
  );
};
type Section = Readonly<Record<string, unknown>>;
const sectionsOf = (name: string) =>
  blocksOf(name, 'yaml').flatMap((text) =>
    Object.values((parse(text) as { providers: Record<string, Section> }).providers),
  );

test.each(['redfish', 'redfish-installing'])(
  'the configurations of %s.md are complete and valid',
  (name) => {
    const sections = sectionsOf(name);
    expect(sections.length).toBeGreaterThan(0);
    for (const section of sections) {
      expect(providerSchema(around).parse(section)).toMatchObject({ driver: 'redfish' });
    }
  },
);

test('the inventory of the page is one', () => {
  const [text] = blocksOf('redfish', 'json');
  const named = { credentials: new Set(['default', 'old']), passwords: new Set<string>() };
  expect(parseInventory(text!, named).map(({ id }) => id)).toEqual(['srv-1', 'blade-3']);
  expect(() => parseInventory(text!, { ...named, credentials: new Set(['default']) })).toThrow(
    UsageError,
  );
});

/** Of the page, with its installation changed. */
function installing(change: Section = {}) {
  const [{ driver: _, instanceSetId: _id, ...own } = {}] = sectionsOf('redfish-installing');
  return { ...own, install: { ...(own['install'] as object), ...change } };
}

test.each([
  [{ iso: undefined }, /^install\.iso is missing; vmedia needs it/],
  [{ method: 'uefihttp' }, /^install\.bootUri is missing; uefihttp needs it/],
  [{ iso: 'http://images.test/a.iso?token={token}' }, /^install\.iso .*without credentials/],
  [{ seedKey: undefined }, /^install\.seedKey is missing/],
  [{ seedKey: '${WEAK}' }, /^install\.seedKey is shorter than 32.*openssl rand/],
  [{ method: 'floppy' }, /^install\.method .*vmedia, uefihttp, pxe/],
])('%j is refused, and said where', (change, complaint) => {
  const { error } = redfishDriver.settings(around).safeParse(installing(change));
  const told = error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  expect(told).toEqual([expect.stringMatching(complaint)]);
});

test('a driver that is only opened, as for a check of the configuration, waits for nothing', async () => {
  const clock = createSimulatedClock();
  const settings = redfishDriver.settings(around).parse(installing()) as Settings;
  const provider = redfishDriver.open(settings, driverContext('rack', { clock }));
  expect(clock.pending).toBe(0);
  await provider.stop();
});

test('an inventory without serial numbers installs nothing', () => {
  const list = JSON.stringify([{ ID: 'a1', Bmc: 'https://bmc.test', Addr: '192.0.2.1' }]);
  const named = { credentials: new Set(['default']), passwords: new Set<string>() };
  expect(() => parseInventory(list, { ...named, install: { needsMac: true } })).toThrow(
    /"a1": Serial or Uuid is missing.*"a1": Mac is missing/,
  );
  expect(parseInventory(list, named)).toHaveLength(1);
});
