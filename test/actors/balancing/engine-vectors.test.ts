import { describe } from 'vitest';
import { engineWorld } from './engine-world.ts';
import { ENGINE, ENGINE_WITH_SHORT_ROWS } from './vector-table.ts';
import { balancingVectors } from './vectors.ts';

describe.each([
  ['full', ENGINE],
  ['short', ENGINE_WITH_SHORT_ROWS],
] as const)(
  'pools on the Engine over HTTP, with slow objects and %s rows in lists',
  (rows, lacks) => {
    balancingVectors(() => engineWorld({ stateDelayMs: 3_000, knobs: { rows } }), lacks);
  },
);
