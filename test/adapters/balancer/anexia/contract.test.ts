import { describe } from 'vitest';
import { createAnexiaBalancer } from '../../../../src/adapters/balancer/anexia/anexia-balancer.ts';
import { createThrottle } from '../../../../src/adapters/balancer/anexia/throttle.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { startFakengine } from '../../../../src/simulator/fakengine/fakengine.ts';
import { balancerContract } from '../../../contracts/balancer.ts';

describe.each(['short', 'full'] as const)(
  'the driver of Anexia, at its emulator with %s rows',
  (rows) => {
    balancerContract(async () => {
      const fake = await startFakengine({
        listen: { host: '127.0.0.1', port: 0 },
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
          throttle: createThrottle(systemClock),
          context: {
            name: 'edge',
            clock: systemClock,
            random: systemRandom,
            log: silentLog,
            userAgent: 'shepherd/test',
            metrics: { request: () => undefined, inFlight: () => undefined },
          },
        },
      );
      return {
        ...{ balancer, clock: systemClock, readyMs: 60_000 },
        owner: { pool: 'api', uid: 'uid-1', suffix: 'api.eu' },
        stranger: { pool: 'web', uid: 'uid-2', suffix: 'web.eu' },
        bind: { address: '192.0.2.10', number: 80 },
        end: () => fake.close(),
      };
    });
  },
);
