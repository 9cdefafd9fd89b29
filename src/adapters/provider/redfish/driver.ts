import { readFileSync } from 'node:fs';
import { complaintsAboutInventory } from '../../driver-kit/inventory/inventory.ts';
import type { Driver } from '../port.ts';
import { type Named, parseInventory } from './entries.ts';
import { createRedfishProvider } from './redfish-provider.ts';
import { settings, type Settings } from './settings.ts';

const namedIn = ({ credentials, sshPasswords, install }: Settings): Named => ({
  credentials: new Set(Object.keys(credentials)),
  passwords: new Set(Object.keys(sshPasswords)),
  install: install && { needsMac: install.method !== 'vmedia' },
});

/** Machines of an own rack, reached through their BMCs. */
export const redfishDriver: Driver<Settings> = {
  name: 'redfish',
  settings,
  open: (own, context) =>
    createRedfishProvider(
      {
        inventory: own.inventory,
        parse: (content) => parseInventory(content, namedIn(own)),
        refreshMs: own.refresh,
        sshUser: own.sshUser,
        sshPasswords: own.sshPasswords,
        probePort: own.probePort,
        probeTimeoutMs: own.probeTimeout,
        rack: {
          auth: own.auth,
          authPauseMs: own.authPause,
          credentials: Object.fromEntries(
            Object.entries(own.credentials).map(([name, { username, password }]) => [
              name,
              { username, password: () => password.read() },
            ]),
          ),
          ca: own.caFile === undefined ? null : readFileSync(own.caFile, 'utf8'),
          limits: { connectTimeoutMs: own.connectTimeout, timeoutMs: own.readTimeout },
          gapMs: own.bmcGap,
          parallelism: own.bmcParallelism,
        },
        powerPollMs: own.powerPoll,
        ownerMark: own.ownerMark,
        allowFullPowerCycle: own.allowFullPowerCycle,
        bmcReset: own.bmcReset,
        ...(own.install && { install: own.install }),
      },
      context,
    ),
  check: (own, { hostKeyPolicy }) =>
    complaintsAboutInventory(
      own.inventory,
      (content) => parseInventory(content, namedIn(own)),
      // What is installed shows its new key with its secret.
      own.install ? 'tofu' : hostKeyPolicy,
    ),
  // Its machines were there before us, and the list is where a key can be said.
  hostKeyPolicy: 'strict',
  givingBack:
    'its agent is stopped and Shepherd lets go of it. Where machines are installed (install), it is switched ' +
    'off; its disks stay as they are. Elsewhere its system, its disks and its power stay as they are',
  overlaps: (one, other) => (one.inventory === other.inventory ? 'inventory' : null),
};
