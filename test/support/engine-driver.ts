import { silentMetrics } from '../../src/adapters/metrics/port.ts';
import { createAnexiaBalancer } from '../../src/adapters/balancer/anexia/driver.ts';
import { createThrottle } from '../../src/adapters/balancer/anexia/engine.ts';
import type { BalancerContext, LoadBalancer } from '../../src/adapters/balancer/port.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { AnexiaEmulator } from '../../emulators/anexia/emulator.ts';
import type { MemoryNetwork } from '../doubles/memory-network.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';

/** Opens the Engine's driver at its emulator, as a daemon without memory of other daemons does. */
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
        metrics: silentMetrics,
        ...context,
      },
    },
  );
}

/** A call of another Engine client that must succeed. @returns the id of the answer. */
export async function engineCall(
  { url, token }: Pick<AnexiaEmulator, 'url' | 'token'>,
  send: MemoryNetwork['fetch'],
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
): Promise<string> {
  const headers = {
    authorization: `Token ${token}`,
    'content-type': 'application/json',
    'user-agent': 'somebody else',
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await send(url + path, { method, headers, ...sent });
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`);
  const text = await response.text();
  return text === '' ? '' : String((JSON.parse(text) as { identifier?: string }).identifier);
}
