import { describe } from 'vitest';
import { hasHaproxyFor } from '../../support/haproxy.ts';
import { haproxyWorld } from './haproxy-world.ts';
import { HAPROXY } from './vector-table.ts';
import { balancingVectors } from './vectors.ts';

describe.runIf(hasHaproxyFor('pools on HAProxy'))('pools on the real HAProxy', () => {
  balancingVectors((needs) => haproxyWorld(needs.includes('makeWell')), HAPROXY);
});
