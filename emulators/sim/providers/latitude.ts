import { claimOf } from '../../../src/adapters/provider/latitude/records.ts';
import { startLatitudeEmulator } from '../../latitude/emulator.ts';
import {
  deviceOf,
  LOOPBACK,
  MACHINES,
  SIM_SET,
  type SimKind,
  type SimProviderOptions,
} from './provider.ts';

const PLAN = 'c3-small-x86';
const SITE = 'ASH';
const PREFIX = 'shepherd-sim-';

/** Servers in a project of the Latitude.sh emulator. */
export const latitudeKind: SimKind = {
  onePort: true,
  isKept: false,
  async start({ machines = MACHINES, hosts, log }: SimProviderOptions) {
    const fake = await startLatitudeEmulator({
      listen: LOOPBACK,
      stock: { [PLAN]: { [SITE]: machines } },
      profile: 'fast',
      hooks: hosts,
      log: log.child({ component: 'latitude' }),
    });
    const ours = () => fake.servers().filter(({ hostname }) => hostname.startsWith(PREFIX));
    const recordOf = (id: string | null) => fake.userData().find((record) => record.id === id);
    return {
      name: 'latitude',
      machines,
      secrets: { TOKEN: fake.token },
      section: (refer) => ({
        driver: 'latitude',
        baseUrl: fake.url,
        token: refer('TOKEN'),
        project: fake.project,
        slots: [{ plan: PLAN, site: SITE, count: machines }],
        namePrefix: PREFIX,
        sshKeyName: 'shepherd-sim',
        instanceSetId: SIM_SET,
        callsPerSecond: 0,
        recoveryMayEraseDisks: true,
        readsPerMinute: 600,
        writesPerMinute: 200,
        settle: '2s',
        staleOn: '2s',
      }),
      devices: () =>
        ours().map(({ id, userData }) => ({
          id,
          isOf: (witness) => recordOf(userData)?.description.includes(witness) ?? false,
        })),
      // Its creation key is recorded before the request, and is part of the server.
      claims: () =>
        fake
          .userData()
          .filter(({ id }) => !fake.servers().some(({ userData }) => userData === id))
          .flatMap(({ id, description }) => {
            const claim = claimOf(description);
            return claim === null ? [] : [deviceOf(id, claim.witness)];
          }),
      installs: () => hosts.list().map(({ seen }) => 1 + seen.installs),
      requests: () => fake.requests(),
      slotOf: (deviceId) => fake.servers().find(({ id }) => id === deviceId)?.hostname ?? deviceId,
      close: () => fake.close(),
    };
  },
};
