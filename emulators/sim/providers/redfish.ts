import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { machineIdOf } from '../../../src/adapters/provider/redfish/install/claims.ts';
import type { ProviderRecord } from '../../../src/domain/provisioning/records.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { MACHINES, type SimDevice, type SimKind, type SimProviderOptions } from './provider.ts';
import { rackProvider, type RedfishProvider, startRack } from './redfish-rack.ts';

/** A rack of one's own with empty disks: each machine is installed from a virtual CD. */
export const redfishKind: SimKind<RedfishProvider> = {
  onePort: false,
  isKept: false,
  async start(options: SimProviderOptions) {
    const rack = await startRack(options, { systems: options.machines ?? MACHINES, isUsed: false });
    const provider = rackProvider(rack);
    const seeds = `127.0.0.1:${await takeFreePort(new Set())}`;
    return {
      ...provider,
      secrets: { ...provider.secrets, SEED_KEY: `seed-${randomBytes(32).toString('base64url')}` },
      section: (refer) => ({
        ...provider.section(refer),
        recoveryMayEraseDisks: true,
        install: {
          method: 'vmedia',
          iso: `http://${seeds}/{token}/installer.iso`,
          seedListen: seeds,
          seedKey: refer('SEED_KEY'),
          window: '1m',
        },
      }),
      devices(records) {
        const claims = new Map(claimsOn(records).map((claim) => [claim.entryId, claim]));
        return rack.systems
          .filter(({ name }) => rack.machines.installs(name) > 0)
          .map(({ serial }) => deviceOf(serial, claims.get(serial)));
      },
      claims: (records) => claimsOn(records).map((claim) => deviceOf(claim.entryId, claim)),
    };
  },
};

interface Claim {
  readonly entryId: string;
  /** Absent: nobody can read it. */
  readonly witness?: string | undefined;
}

const claimsOn = (records: readonly ProviderRecord[]): Claim[] =>
  records.map(({ key, value }) => ({
    entryId: key,
    witness: claimed.safeParse(value).data?.witness,
  }));

const claimed = z.object({ witness: z.string() });

function deviceOf(entryId: string, claim: Claim | undefined): SimDevice {
  const witness = claim?.witness;
  return {
    id: witness === undefined ? entryId : machineIdOf({ entryId, witness }),
    isOf: (other) => other === witness,
  };
}
