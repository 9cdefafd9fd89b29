import { describe } from 'vitest';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { startHaproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { balancerContract } from '../../../contracts/balancer.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { balancerOf, freePort, OTHER, OWNER } from './stand.ts';

describe.runIf(hasHaproxyFor('the driver of HAProxy'))('the driver of HAProxy', () => {
  balancerContract(async () => {
    const haproxy = await startHaproxy();
    return {
      balancer: balancerOf(haproxy),
      ...{ owner: OWNER, stranger: OTHER, clock: systemClock, readyMs: 60_000 },
      bind: { address: '127.0.0.1', number: await freePort() },
      end: () => haproxy.stop(),
    };
  });
});
