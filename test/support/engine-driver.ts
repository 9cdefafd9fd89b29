import { createAnexiaBalancer } from '../../src/adapters/balancer/anexia/anexia-balancer.ts';
import { createThrottle } from '../../src/adapters/balancer/anexia/throttle.ts';
import type { BalancerContext, LoadBalancer } from '../../src/adapters/balancer/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { AnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';

/** The Engine's driver at its emulator, as one daemon opens it: it remembers nothing of others. */
export function engineDriver(
  { url, token, loadBalancers }: Pick<AnexiaEmulator, 'url' | 'token' | 'loadBalancers'>,
  context: Pick<BalancerContext, 'clock'> & Partial<BalancerContext>,
  pageSize = 100,
): LoadBalancer {
  return createAnexiaBalancer(
    {
      baseUrl: url,
      token: { reference: '${TOKEN}', read: () => token, toJSON: () => '${TOKEN}' },
      loadBalancer: loadBalancers[0]!,
      pageSize,
      allowInsecureHttp: false,
    },
    {
      throttle: createThrottle(context.clock),
      context: {
        name: 'edge',
        random: createSeededRandom(1),
        log: silentLog,
        userAgent: 'shepherd/test',
        metrics: { request: () => undefined, inFlight: () => undefined },
        ...context,
      },
    },
  );
}
