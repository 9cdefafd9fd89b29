import { describe } from 'vitest';
import { hasHaproxyFor } from '../../support/haproxy.ts';
import { haproxyWorld } from './haproxy-world.ts';
import { strikes } from './kills.ts';

describe.runIf(hasHaproxyFor('daemons that are killed'))(
  'a killed daemon on the real HAProxy',
  () => {
    const lacks = ['fail', 'holdBack'];
    strikes({ open: () => haproxyWorld(true), lacks, isReal: true });
  },
);
