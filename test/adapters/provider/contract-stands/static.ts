import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStaticProvider } from '../../../../src/adapters/provider/static/static-provider.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import type { ContractOptions } from '../../../contracts/provider.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { driverContext, INSTANCE_SET_ID } from '../driver-stand.ts';

const MACHINES = [
  { ID: 'rack1-unit7', Addr: '127.0.0.1', Location: 'rack 1', SshPort: 1 },
  { ID: 'rack1-unit8', Addr: '127.0.0.1', Location: 'rack 1', SshPort: 2 },
];

/** A list in a file. What it knows of host keys is its own; there is nothing else that it can. */
export const staticStand: ContractOptions = {
  without: [
    ...(['power', 'reboot', 'reinstall', 'tags'] as const),
    ...(['making', 'strangers', 'hanging'] as const),
  ],
  start: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'contract-static-'));
    const inventory = join(dir, 'machines.json');
    await writeFile(inventory, JSON.stringify(MACHINES));
    const opened: FleetProvider[] = [];
    const open = () => {
      const driven = createStaticProvider(
        {
          inventory,
          refreshMs: 60_000,
          sshPasswords: {},
          sshUser: 'root',
          probePort: 22,
          probes: {
            timeoutMs: 1_000,
            intervalMs: 60_000,
            parallelism: 4,
            gapMs: 0,
            patienceMs: 1_000,
          },
        },
        driverContext('static', { clock: systemClock }),
      );
      const provider = inFleet(
        driven,
        { instanceSetId: INSTANCE_SET_ID, type: 'static' },
        systemClock,
      );
      opened.push(provider);
      return provider;
    };
    return {
      provider: open(),
      instanceSetId: INSTANCE_SET_ID,
      deviceCount: () => MACHINES.length,
      reopen: open,
      async close() {
        await Promise.all(opened.map((provider) => provider.stop()));
        await rm(dir, { recursive: true });
      },
    };
  },
};
