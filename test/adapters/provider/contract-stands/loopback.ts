import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLoopbackProvider } from '../../../../src/adapters/provider/loopback/loopback-provider.ts';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import type { ContractOptions } from '../../../contracts/provider.ts';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { inFleet } from '../../../support/in-fleet.ts';
import { newLogin } from '../stub/ssh-to.ts';
import { driverContext, INSTANCE_SET_ID } from '../driver-stand.ts';

/** This host as a machine, in a directory of its own. */
export const loopbackStand: ContractOptions = {
  without: ['strangers', 'hanging'],
  start: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'contract-loopback-'));
    const { publicKey } = newLogin();
    const opened: FleetProvider[] = [];
    const open = () => {
      const driven = createLoopbackProvider(
        dir,
        driverContext('loopback', { clock: systemClock, publicKey }),
      );
      const options = { instanceSetId: INSTANCE_SET_ID, type: 'loopback', publicKey };
      const provider = inFleet(driven, options, systemClock);
      opened.push(provider);
      return provider;
    };
    const state = join(dir, 'machine.json');
    const isThere = () => existsSync(state) && readFileSync(state, 'utf8').trim() !== 'null';
    return {
      provider: open(),
      instanceSetId: INSTANCE_SET_ID,
      deviceCount: () => (isThere() ? 1 : 0),
      reopen: open,
      async close() {
        await Promise.all(opened.map((provider) => provider.stop()));
        await rm(dir, { recursive: true });
      },
    };
  },
};
