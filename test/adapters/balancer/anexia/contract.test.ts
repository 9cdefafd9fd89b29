import { describe } from 'vitest';
import { createAnexiaBalancer } from '../../../../src/adapters/balancer/anexia/anexia-balancer.ts';
import { createThrottle } from '../../../../src/adapters/balancer/anexia/throttle.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { startFakengine } from '../../../../src/simulator/fakengine/fakengine.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  driven,
} from '../../../doubles/simulated-clock.ts';
import { balancerContract } from '../../../contracts/balancer.ts';

describe.each(['short', 'full'] as const)(
  'the driver of Anexia, at its emulator with %s rows',
  (rows) => {
    balancerContract(async () => {
      const clock = createSimulatedClock();
      const network = createMemoryNetwork(clock);
      const fake = await startFakengine({
        listen: { host: '127.0.0.1', port: 0, network },
        clock,
        knobs: { rows },
      });
      const balancer = createAnexiaBalancer(
        {
          baseUrl: fake.url,
          token: { reference: '${TOKEN}', read: () => fake.tokens.api, toJSON: () => '${TOKEN}' },
          loadBalancer: fake.loadBalancers[0]!,
          pageSize: 2,
          allowInsecureHttp: false,
        },
        {
          throttle: createThrottle(clock),
          context: {
            name: 'edge',
            clock,
            network,
            random: createSeededRandom(1),
            log: silentLog,
            userAgent: 'shepherd/test',
            metrics: { request: () => undefined, inFlight: () => undefined },
          },
        },
      );
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
