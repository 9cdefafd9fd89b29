import { z } from 'zod';
import type { BalancerDriver } from '../../src/adapters/balancer/port.ts';
import * as leaf from '../../src/settings/leaves.ts';
import { driverTable } from '../../src/settings/driver-table.ts';
import { minimal } from './examples.ts';

const shelf: BalancerDriver<{ door: string }> = {
  name: 'shelf',
  settings: () => z.strictObject({ door: leaf.text('Where it is reached.') }),
  open: () => {
    throw new Error('not opened');
  },
  overlaps: (one, other) => (one.door === other.door ? 'door' : null),
};
export const shelves = driverTable([shelf as BalancerDriver]);

/** Two pools on one balancer, and one pool alone on another. */
export const pooled = () => ({
  ...minimal(),
  fleet: 'eu',
  balancers: { edge: { driver: 'shelf', door: 'a' }, inner: { driver: 'shelf', door: 'b' } },
  pools: {
    api: {
      balancers: ['edge'],
      addresses: ['192.0.2.10', '2001:DB8:0::10'],
      ports: { http: { external: 80, internal: 42037 }, https: { external: 443, internal: 37042 } },
      select: { providers: ['equinix'] },
    },
    web: {
      balancers: ['inner', 'edge'],
      addresses: ['192.0.2.10'],
      ports: { http: { external: 8080, internal: 8080, check: { http: '/healthz' } } },
      select: {},
    },
  },
});
