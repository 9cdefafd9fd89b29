import { describe } from 'vitest';
import { startAnexiaEmulator } from '../../../../emulators/anexia/emulator.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import { createSimulatedClock, driven } from '../../../doubles/simulated-clock.ts';
import { balancerContract } from '../../../contracts/balancer.ts';
import { engineDriver } from '../../../support/engine-driver.ts';

describe.each(['short', 'full'] as const)(
  'the driver of Anexia at its emulator with %s rows',
  (rows) => {
    balancerContract(async () => {
      const clock = createSimulatedClock();
      const network = createMemoryNetwork(clock);
      const fake = await startAnexiaEmulator({
        listen: { host: '127.0.0.1', port: 0, network },
        clock,
        knobs: { rows },
      });
      const balancer = engineDriver(fake, { clock, network }, 2);
      return {
        ...{ balancer: driven(clock, balancer), clock, readyMs: 60_000 },
        owner: { pool: 'api', uid: 'uid-1', suffix: 'api.eu' },
        stranger: { pool: 'web', uid: 'uid-2', suffix: 'web.eu' },
        bind: { address: '192.0.2.10', number: 80 },
        end: () => fake.close(),
      };
    });
  },
);
