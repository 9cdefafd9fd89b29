import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { holdsOthers, MACHINES, type SimKind, type SimProviderOptions } from './provider.ts';
import { INVENTORY, rackProvider, type RedfishProvider, startRack } from './redfish-rack.ts';

/** A rack of one's own whose machines run a system already: the fleet takes them in as they are. */
export const usedRedfishKind: SimKind<RedfishProvider> = {
  onePort: false,
  isKept: true,
  async start(options: SimProviderOptions) {
    const { dir, machines: wanted } = options;
    const file = join(dir, INVENTORY);
    const held = existsSync(file) ? entries.parse(JSON.parse(readFileSync(file, 'utf8'))) : null;
    if (held && wanted !== undefined && held.length !== wanted) {
      throw holdsOthers(dir, held.length, wanted);
    }
    const rack = await startRack(options, {
      systems: held?.length ?? wanted ?? MACHINES,
      isUsed: true,
    });
    return {
      ...rackProvider(rack),
      // They were there before the fleet: what was installed since is all that it made.
      devices: () =>
        rack.systems
          .filter(({ name }) => rack.machines.installs(name) > 1)
          .map(({ serial }) => ({ id: serial, isOf: () => false })),
      // Nobody claims a machine by taking it in.
      claims: (records) => records.map(({ key }) => ({ id: `record ${key}`, isOf: () => false })),
    };
  },
};

const entries = z.array(z.unknown());
