import { complaintsAboutInventory, LETTING_GO } from '../../driver-kit/inventory/inventory.ts';
import type { Driver } from '../port.ts';
import { complaintsAboutInstaller } from './install/installer-files.ts';
import { parserFor } from './entries.ts';
import { createRedfishProvider } from './redfish-provider.ts';
import { settings, type Settings } from './settings.ts';

/** Machines of our own rack, reached through their BMCs. */
export const redfishDriver: Driver<Settings> = {
  name: 'redfish',
  settings,
  open: createRedfishProvider,
  check: async (own, { hostKeyPolicy }) => [
    ...complaintsAboutInstaller(own.install?.installer),
    ...(await complaintsAboutInventory(
      own.inventory,
      parserFor(own),
      // An installed system proves its new key with its secret.
      own.install ? 'tofu' : hostKeyPolicy,
    )),
  ],
  // The machines existed before us, and the inventory can give a key.
  hostKeyPolicy: 'strict',
  givingBack: ({ install }) =>
    install
      ? 'it is switched off, and Shepherd lets go of it; its disks stay as they are'
      : LETTING_GO,
  overlaps: (one, other) => (one.inventory === other.inventory ? 'inventory' : null),
};
