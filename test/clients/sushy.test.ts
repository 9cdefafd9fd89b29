import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startRedfishEmulator } from '../../emulators/redfish/emulator.ts';
import { VENDOR_NAMES, VENDORS } from '../../emulators/redfish/vendors.ts';
import { requireFile, runProgram } from './debian-client.ts';

/** OpenStack's library for Redfish, from Debian. */
const PYTHON = '/usr/bin/python3';
const LIBRARY = '/usr/lib/python3/dist-packages/sushy/main.py';
const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), 'sushy/rack.py');
const IMAGE = 'https://images.test/installer.iso';

/** PEM. */
async function certificateOf(url: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  const lines = raw.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

test('lets a sushy program switch, boot and equip a machine of every vendor', async () => {
  requireFile(LIBRARY, 'python3-sushy');
  const directory = mkdtempSync(join(tmpdir(), 'emulator-sushy-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const rack = await Promise.all(
    VENDOR_NAMES.map(async (vendor) => {
      const at = { listen: { host: '127.0.0.1', port: 0 }, vendor } as const;
      const fake = await startRedfishEmulator({ ...at, profile: 'fast' });
      onTestFinished(() => fake.close());
      const [bmc] = fake.bmcs();
      const ca = join(directory, `${vendor}.pem`);
      writeFileSync(ca, await certificateOf(bmc!.url));
      return { vendor, fake, bmc: bmc!, ca };
    }),
  );
  const passwords = rack.map(
    ({ vendor, fake }) => [`BMC_PASSWORD_${vendor}`, fake.credentials.password] as const,
  );
  const told = rack.map(({ vendor, bmc, ca }) => ({
    name: vendor,
    url: bmc.url,
    ca,
    // The library knows the vendor's quirk, and leaves it to its caller.
    ...(vendor === 'dgx' && { media: { username: 'none', password: 'none' } }),
  }));
  const printed = await runProgram(
    PYTHON,
    [PROGRAM, JSON.stringify(told)],
    Object.fromEntries(passwords),
  );
  const seen = JSON.parse(printed) as Record<string, Record<string, unknown>>;
  for (const { vendor, fake, bmc } of rack) {
    const [{ serial, uuid, path } = { serial: '', uuid: '', path: '' }] = bmc.systems;
    const isAtManager = VENDORS[vendor].mediaAt === 'Managers';
    expect([vendor, seen[vendor]]).toMatchObject([
      vendor,
      {
        ...{ path, serial, uuid, sessions: 1, tasks: 0 },
        ...{ manager: ['BMC'], boot: ['Once', 'Pxe', 'UEFI'] },
        ...{ on: 'On', again: 405, off: 'Off' },
        media: isAtManager
          ? [
              [true, IMAGE],
              [false, null],
            ]
          : null,
      },
    ]);
    expect(fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1, requestsMost: 1 });
  }
  expect(seen['idrac9']!['resets']).toEqual([...VENDORS.idrac9.resets].toSorted());
});
