import { Option } from 'commander';
import type { EmulatorCommand } from '../kit/command.ts';
import { VENDOR_NAMES, type VendorName } from './vendors.ts';

interface RedfishFlags {
  readonly vendor: VendorName;
  readonly systems: number;
  readonly bmcs?: number;
}

export const redfish: EmulatorCommand = {
  name: 'redfish',
  description: 'Emulate BMCs that speak Redfish, each on its own port',
  addOptions: (command, { wholeNumber }) =>
    command
      .addOption(
        new Option('--vendor <name>', 'Vendor of the BMCs')
          .choices(VENDOR_NAMES)
          .default('generic'),
      )
      .option('--systems <n>', 'Number of machines', wholeNumber(1, 5_000), 1)
      .option(
        '--bmcs <n>',
        'Number of BMCs that the machines share (default: one each)',
        wholeNumber(1, 5_000),
      ),
  mendable: [RangeError],
  async start(common, own) {
    const { vendor, systems, bmcs } = own as unknown as RedfishFlags;
    const { startRedfishEmulator } = await import('./emulator.ts');
    const { credentials, adminUrl, adminToken, ...fake } = await startRedfishEmulator({
      ...{ ...common, vendor, systems },
      ...(bmcs !== undefined && { bmcs }),
    });
    const shown = fake
      .bmcs()
      .map(({ name, url, certSha256, systems: own }) => ({
        ...{ name, url, certSha256 },
        systems: own.map((one) => ({
          ...{ name: one.name, path: one.path, serial: one.serial, uuid: one.uuid, mac: one.mac },
        })),
      }));
    return { line: { bmcs: shown, credentials, adminUrl, adminToken }, close: fake.close };
  },
};
