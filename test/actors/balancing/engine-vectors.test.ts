import { describe } from 'vitest';
import { engineWorld } from './engine-world.ts';
import { balancingVectors } from './vectors.ts';

describe.each(['short', 'full'] as const)(
  'on the Engine, over HTTP, with objects that take their time and %s rows in lists',
  (rows) => {
    const open = () => engineWorld({ stateDelayMs: 3_000, knobs: { rows } });
    balancingVectors(open, { means: ['sessions', 'isOpen'] });
  },
);
