import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { Driver } from '../port.ts';
import {
  complaintsAboutInventory,
  inventorySettings,
  LETTING_GO,
} from '../../driver-kit/inventory/inventory.ts';
import { complaintsAboutInstaller } from '../redfish/install/installer-files.ts';
import { selfInstallSettings } from '../redfish/settings.ts';
import { parserFor } from './entries.ts';
import { complaintsAboutResets, resetsSettings } from './resets/settings.ts';
import { createStaticProvider } from './static-provider.ts';

const LISTING_PATIENCE_MS = 5_000;
/** Probes ten thousand machines in ten seconds instead of one burst. */
const PROBE_GAP_MS = 1;

function settings(around: Surroundings) {
  return z.strictObject({
    ...inventorySettings(around),
    probeInterval: leaf.duration('Interval of probing each machine.', 1_000).prefault('1m'),
    probeParallelism: leaf.count('Tries at once.', 1, 1_000).prefault(32),
    resets: resetsSettings(around),
    install: selfInstallSettings(around).optional(),
  });
}

/** Machines in a list: a file, or a web page. */
export const staticDriver: Driver<z.output<ReturnType<typeof settings>>> = {
  name: 'static',
  settings,
  open: (own, context) =>
    createStaticProvider(
      {
        inventory: own.inventory,
        refreshMs: own.refresh,
        sshUser: own.sshUser,
        sshPasswords: own.sshPasswords,
        probePort: own.probePort,
        resets: own.resets,
        install: own.install,
        probes: {
          timeoutMs: own.probeTimeout,
          intervalMs: own.probeInterval,
          parallelism: own.probeParallelism,
          gapMs: PROBE_GAP_MS,
          patienceMs: LISTING_PATIENCE_MS,
        },
      },
      context,
    ),
  check: async (own, { hostKeyPolicy }) => [
    ...complaintsAboutResets(own.resets),
    ...complaintsAboutInstaller(own.install?.installer),
    ...(await complaintsAboutInventory(own.inventory, parserFor(own), hostKeyPolicy)),
  ],
  // The machines may be anywhere, and the list can give a key.
  hostKeyPolicy: 'strict',
  givingBack: () => LETTING_GO,
  overlaps: (one, other) => (one.inventory === other.inventory ? 'inventory' : null),
};
