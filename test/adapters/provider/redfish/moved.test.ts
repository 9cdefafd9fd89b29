import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { parseInventory } from '../../../../src/adapters/provider/redfish/entries.ts';
import { parseInventory as parseStatic } from '../../../../src/adapters/provider/static/entries.ts';
import { createStaticProvider } from '../../../../src/adapters/provider/static/static-provider.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { UsageError } from '../../../../src/domain/errors.ts';
import { callOf, driverContext } from '../driver-stand.ts';
import { startRack } from './stand.ts';

const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIL6uFrdinjM5XmlkkGNQn2lI7LS/9tWjwqoiargwCmfW';
const page = readFileSync(join(import.meta.dirname, '../../../../docs/redfish.md'), 'utf8');
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, text]) => text!);

test('a list of the driver static is taken as it is: the same machines, ids, keys and addresses', async () => {
  // What static takes and this driver does not do without: the certificate, for one that nobody signed.
  const rack = await startRack({
    entry: (_machine, bmc) => ({
      Location: 'rack 7',
      SshUser: 'admin',
      HostKey: `ssh-ed25519 ${KEY}`,
      Bmc: bmc.url,
      System: undefined,
      Serial: undefined,
      CertSha256: undefined,
    }),
  });
  expect(parseStatic(rack.page.text)).toHaveLength(1);
  const { inventory, network } = rack;
  const settings = { inventory, refreshMs: 60_000, sshUser: 'root', probePort: 22 };
  const probes = { timeoutMs: 1_000, intervalMs: 60_000, parallelism: 1, gapMs: 0, patienceMs: 0 };
  const before = createStaticProvider(
    { ...settings, sshPasswords: {}, probes },
    driverContext('rack', { network }),
  );
  const { machines } = await before.listMachines({}, callOf());
  await before.stop();
  const after = (await rack.list()).machines;
  const rowOf = (machine: (typeof machines)[number]) => {
    const { id, reservationId, availability, address, remoteUser, hostKey, location, tags } =
      machine;
    return { id, reservationId, availability, address, remoteUser, hostKey, location, tags };
  };
  expect(after.map(rowOf)).toEqual(machines.map(rowOf));
});

test('the configurations of the page are complete and valid', () => {
  const around = {
    env: { BMC_PASSWORD: 'x', OLD_BMC_PASSWORD: 'y' },
    baseDirectory: '/',
    checkFiles: false,
  };
  const configurations = blocks('yaml');
  expect(configurations.length).toBeGreaterThan(0);
  for (const text of configurations) {
    const { providers } = parse(text) as { providers: Record<string, unknown> };
    for (const provider of Object.values(providers)) {
      expect(providerSchema(around).parse(provider)).toMatchObject({ driver: 'redfish' });
    }
  }
});

test('the inventory of the page is one', () => {
  const [text] = blocks('json');
  const named = { credentials: new Set(['default', 'old']), passwords: new Set<string>() };
  expect(parseInventory(text!, named).map(({ id }) => id)).toEqual(['srv-1', 'blade-3']);
  expect(() => parseInventory(text!, { ...named, credentials: new Set(['default']) })).toThrow(
    UsageError,
  );
});
