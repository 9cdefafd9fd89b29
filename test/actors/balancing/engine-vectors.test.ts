import { describe } from 'vitest';
import { engineWorld } from './engine-world.ts';
import { ENGINE, ENGINE_WITH_SHORT_ROWS } from './vector-table.ts';
import { balancingVectors } from './vectors.ts';

describe.each([
  ['full', ENGINE],
  ['short', ENGINE_WITH_SHORT_ROWS],
] as const)(
  'on the Engine, over HTTP, with objects that take their time and %s rows in lists',
  (rows, lacks) => {
    balancingVectors(() => engineWorld({ stateDelayMs: 3_000, knobs: { rows } }), lacks);
  },
);
