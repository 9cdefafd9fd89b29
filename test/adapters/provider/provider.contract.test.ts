import { createSeededRandom } from '../../doubles/simulated-clock.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { providerContract } from '../../contracts/provider.ts';
import { createMemProvider } from '../../doubles/mem-provider.ts';
import { INSTANCE_SET_ID } from './driver-stand.ts';
import { equinixStand } from './contract-stands/equinix.ts';
import { loopbackStand } from './contract-stands/loopback.ts';
import { staticStand } from './contract-stands/static.ts';
import { standOn, stubStand } from './contract-stands/stub.ts';

providerContract('in memory', {
  without: ['hostKey'],
  start: async () => {
    const provider = createMemProvider(
      {
        devicePrefix: 'mem-',
        instanceSetId: INSTANCE_SET_ID,
        reservations: 4,
        provisioningMs: 20,
        latencyMs: 0,
      },
      { clock: systemClock, random: createSeededRandom(1) },
    );
    return standOn(provider.account, () => provider);
  },
});

providerContract('stub', stubStand({ without: ['hostKey'] }));
providerContract(
  'stub that can little',
  stubStand({
    without: [
      ...(['consistentList', 'deprovision', 'hostKey', 'power', 'reboot'] as const),
      ...(['reinstall', 'strangers', 'tags'] as const),
    ],
  }),
);
providerContract(
  'stub with an inventory',
  stubStand({ without: ['hostKey', 'making', 'strangers'], inventory: true }),
);
providerContract('equinix', equinixStand);
providerContract('static', staticStand);
providerContract('loopback', loopbackStand);
