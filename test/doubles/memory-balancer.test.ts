import { describe } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { balancerContract } from '../contracts/balancer.ts';
import { createMemoryBalancer } from './memory-balancer.ts';

describe('the in-memory balancer', () => {
  balancerContract(async () => ({
    ...{ balancer: createMemoryBalancer({ clock: systemClock }).balancer, clock: systemClock },
    owner: { pool: 'api', uid: 'uid-1', suffix: 'api.eu' },
    stranger: { pool: 'web', uid: 'uid-2', suffix: 'web.eu' },
    bind: { address: '192.0.2.10', number: 80 },
    readyMs: 60_000,
    end: async () => undefined,
  }));
});
